/**
 * What `endpoints create`, `endpoints update` and `settings` set besides URL and subscriptions.
 *
 * Secrets are read from files, because every process of a machine can see a command line. No message repeats one.
 */
import { readFileSync } from "node:fs"
import { SentRequestProfile } from "@posthorn/domain/RequestProfile"
import { Effect, Option, ParseResult, Redacted, Schema } from "effect"
import { misused } from "../command/CommandFailed.ts"
import { withoutMark } from "./JsonInput.ts"
import { members, print } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

export interface Configured {
  readonly policy: Option.Option<string>
  readonly externalId: Option.Option<string>
  readonly metadata: Option.Option<string>
  /** JSON, or a file. */
  readonly filter: Option.Option<string>
  /** A file. */
  readonly request: Option.Option<string>
}

export interface TakenOver {
  readonly signingSecretFile: Option.Option<string>
  readonly signingSecretEncoding: Option.Option<"text">
}

const STANDARD_INPUT = "-"

const fileOf = (option: string, path: string) =>
  Effect.try(() => withoutMark(readFileSync(path === STANDARD_INPUT ? process.stdin.fd : path, "utf8"))).pipe(
    Effect.catchAll(() => misused(`--${option}: the file ${path} cannot be read`))
  )

const readRequest = Schema.decodeUnknownEither(Schema.parseJson(Schema.NullOr(SentRequestProfile)), {
  errors: "all"
})

/** Names what is wrong by its place: the texts beside it may be secrets. */
const requestOf = (file: Option.Option<string>) =>
  Option.match(file, {
    onNone: () => Effect.succeed({}),
    onSome: (path) =>
      Effect.gen(function* () {
        const read = readRequest(yield* fileOf("request", path))
        if (read._tag === "Right") return { request: read.right }
        const places = ParseResult.ArrayFormatter.formatErrorSync(read.left).map(
          (issue) => `/${issue.path.join("/")}`
        )
        const wrong = [...new Set(places)].join(", ")
        return yield* misused(`--request: ${path} is no JSON of a request; look at ${wrong}`)
      })
  })

/** The signing secret that the endpoint's receiver knows already; a line break at the end of its file is not part of it. */
export const takenOver = ({ signingSecretEncoding, signingSecretFile }: TakenOver) =>
  Option.match(signingSecretFile, {
    onNone: () => Effect.succeed({}),
    onSome: (path) =>
      Effect.map(fileOf("signing-secret-file", path), (text) => ({
        signingSecret: Redacted.make(text.replace(/\r?\n$/, "")),
        ...(Option.isSome(signingSecretEncoding) && { signingSecretEncoding: signingSecretEncoding.value })
      }))
  })

/** `never`, because the contract judges it, before anything is sent. */
const jsonOf = <const Name extends string>(name: Name, text: Option.Option<string>) =>
  Option.match(text, {
    onNone: () => Effect.succeed<{ readonly [K in Name]?: never }>({}),
    onSome: (text) =>
      Effect.try(() => ({ [name]: JSON.parse(text) }) as { readonly [K in Name]?: never }).pipe(
        Effect.catchAll(() => misused(`--${name} is "${text}", but must be JSON`))
      )
  })

const filterOf = (given: Option.Option<string>) =>
  Option.match(given, {
    onNone: () => jsonOf("filter", given),
    onSome: (text) =>
      Effect.flatMap(/^\s*(\{|null\s*$)/.test(text) ? Effect.succeed(text) : fileOf("filter", text), (json) =>
        jsonOf("filter", Option.some(json))
      )
  })

/** The members of a request; an empty external id takes it away, `null` a policy or a filter. */
export const configured = ({ externalId, filter, metadata, policy, request }: Configured) =>
  Effect.map(
    Effect.all([
      jsonOf("policy", policy),
      jsonOf("metadata", metadata),
      requestOf(request),
      filterOf(filter)
    ]),
    ([policy, metadata, request, filter]) => ({
      ...policy,
      ...metadata,
      ...request,
      ...filter,
      ...(Option.isSome(externalId) && { externalId: externalId.value || null })
    })
  )

/** Shows the workspace's settings, changed first where something is given. */
export const settings = (policy: Option.Option<string>, json: boolean) =>
  Effect.gen(function* () {
    const payload = yield* jsonOf("policy", policy)
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ workspaceSettings }) =>
      Option.isNone(policy)
        ? workspaceSettings.getWorkspaceSettings({ path: { slug }, withResponse: true })
        : workspaceSettings.updateWorkspaceSettings({ path: { slug }, payload, withResponse: true })
    )
    yield* print(json, text, () => members(value))
  })
