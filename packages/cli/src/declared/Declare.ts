/**
 * `posthorn plan`, `apply` and `export`: a workspace's endpoints and settings, and the installation's event types, as a file.
 *
 * A plan reads everything that the file names, and changes nothing. `apply` makes the changes one after the other: an endpoint or event
 * type that is there only if nobody changed it meanwhile, by its `ETag`. Settings, and what is made, have none. Where Posthorn refuses a
 * change, `apply` stops and says what was done.
 * Source: spec §13.
 */
import { Effect } from "effect"
import { stringify } from "yaml"
import { CommandFailed, refuse } from "../command/CommandFailed.ts"
import { counted } from "../command/Counted.ts"
import { textOf } from "../remote/JsonInput.ts"
import { agreed, isTerminal, print, talk } from "../remote/Output.ts"
import { Posthorn } from "../remote/Posthorn.ts"
import { type Declared, fileOf, type Members, readDeclared, unsetIn, withSecrets } from "./DeclaredFile.ts"
import { type Change, type Present, planOf, told } from "./Plan.ts"

/** The exit code of a plan with a difference. */
const DIFFERS = 2

export interface Options {
  readonly file: string
  readonly prune: boolean
  readonly secrets: boolean
}

interface Page {
  readonly items: ReadonlyArray<Members>
  readonly nextCursor: string | null
}

const allOf = (path: string) =>
  Effect.gen(function* () {
    const { exchange } = yield* Posthorn
    const all: Array<Members> = []
    for (let cursor: string | null = ""; cursor !== null; ) {
      const at: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const page = JSON.parse((yield* exchange("GET", `${path}?limit=200${at}`)).text) as Page
      all.push(...page.items)
      cursor = page.nextCursor
    }
    return all
  })

const read = (path: string) =>
  Effect.flatMap(Posthorn, ({ exchange }) =>
    Effect.map(exchange("GET", path), ({ etag, text }) => ({ etag, value: JSON.parse(text) as Members }))
  )

const workspacePath = Effect.map(Posthorn, ({ slug }) => `/workspaces/${encodeURIComponent(slug)}`)
const typePath = (name: string) => `/event-types/${encodeURIComponent(name)}`

const present = (declared: Partial<Declared>) =>
  Effect.gen(function* () {
    const workspace = yield* workspacePath
    return {
      eventTypes: declared.eventTypes === undefined ? [] : yield* allOf("/event-types"),
      endpoints: declared.endpoints === undefined ? [] : yield* allOf(`${workspace}/webhooks`),
      settings: declared.settings === undefined ? {} : (yield* read(`${workspace}/settings`)).value
    } satisfies Present
  })

/** The file, what is there, and the changes between them. */
const planned = ({ file, ...options }: Options) =>
  Effect.gen(function* () {
    const read = readDeclared(yield* textOf(file))
    if (read._tag === "Left")
      return yield* refuse(`${file} is refused, and nothing was changed:\n${read.left.join("\n")}`)
    const declared = read.right
    const changes = planOf(declared, yield* present(declared), options)
    const unset = changes.flatMap(({ members, sendsSecrets }) =>
      sendsSecrets ? unsetIn(members, process.env) : []
    )
    if (unset.length > 0)
      return yield* refuse(`Not set: ${[...new Set(unset)].join(", ")}. Nothing was changed.`)
    return { changes, declared }
  })

/** The exit code is 2 where something would change. */
export const plan = (options: Options & { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { changes } = yield* planned(options)
    const shown = changes.map(({ action, differences, name, of }) => ({ action, of, name, differences }))
    yield* print(options.json, JSON.stringify(shown), () => told(changes))
    if (changes.length === 0) return yield* talk("All is as the file says.")
    yield* talk(`${counted(changes.length, "change")}: posthorn apply makes them.`)
    process.exitCode = DIFFERS
  })

/** The `ETag` of what changes. */
const etagOf = ({ action, id, of }: Change) =>
  Effect.gen(function* () {
    if (action === "create" || of === "settings") return undefined
    return (yield* read(of === "endpoint" ? `${yield* workspacePath}/webhooks/${id}` : typePath(id))).etag
  })

const make = ({ action, id, members, of }: Change, etag: string | undefined) =>
  Effect.gen(function* () {
    const { exchange } = yield* Posthorn
    const workspace = yield* workspacePath
    const body = JSON.stringify(of === "event type" ? members : withSecrets(members, process.env))
    const path =
      of === "settings"
        ? `${workspace}/settings`
        : of === "event type"
          ? typePath(id)
          : `${workspace}/webhooks${action === "create" ? "" : `/${id}`}`
    const method =
      action === "delete" ? "DELETE" : of === "event type" ? "PUT" : action === "create" ? "POST" : "PATCH"
    yield* exchange(method, path, action === "delete" ? undefined : body, etag)
  })

/** The changes with the `ETag`s of what they change: what is read after those must differ in the same way. */
const prepared = (options: Options) =>
  Effect.gen(function* () {
    const { changes, declared } = yield* planned(options)
    const etags = yield* Effect.forEach(changes, etagOf)
    const now = changes.length === 0 ? changes : planOf(declared, yield* present(declared), options)
    if (JSON.stringify(now) !== JSON.stringify(changes))
      return yield* refuse("Somebody changed it while it was read. Nothing was changed: run it again.")
    return now.map((change, index) => ({ change, etag: etags[index] }))
  })

/** What was made before a change failed, and whether that one may have been made. */
const stoppedAt = (
  done: ReadonlyArray<Change>,
  { isUnanswered = false, line }: CommandFailed,
  at: Change
) => {
  const before =
    done.length === 0 ? "" : `\nDone before:\n${told(done.map((one) => ({ ...one, differences: [] })))}`
  const unknown = isUnanswered ? "\nThis one may have been made: posthorn plan says." : ""
  const nothing = before === "" && unknown === "" ? "\nNothing was changed." : ""
  return new CommandFailed({
    line: `${[at.of, at.name].join(" ").trim()}: ${line}${unknown}${nothing}${before}`,
    code: 1
  })
}

export const apply = (options: Options & { readonly yes: boolean }) =>
  Effect.gen(function* () {
    const all = yield* prepared(options)
    const changes = all.map(({ change }) => change)
    if (changes.length === 0) return yield* talk("All is as the file says.")
    yield* print(false, "", () => told(changes))
    if (!options.yes && !isTerminal())
      return yield* refuse("Nothing was changed: say --yes, or call it in a terminal.")
    const gone = changes.filter(({ action, of }) => action === "delete" && of === "endpoint").length
    const loss = gone === 0 ? "" : `, ${counted(gone, "endpoint")} deleted with all deliveries`
    if (!options.yes && !(yield* agreed(`Make ${counted(changes.length, "change")}${loss}?`)))
      return yield* refuse("Nothing was changed.")
    for (const [index, { change, etag }] of all.entries())
      yield* Effect.mapError(make(change, etag), (error) => stoppedAt(changes.slice(0, index), error, change))
    yield* talk(`${counted(changes.length, "change")} made.`)
  })

/** As YAML, or with `--json` as JSON. */
export const exported = ({ eventTypes, json }: { readonly eventTypes: boolean; readonly json: boolean }) =>
  Effect.gen(function* () {
    const there = yield* present({ endpoints: [], settings: {}, ...(eventTypes && { eventTypes: [] }) })
    const file = fileOf(eventTypes ? there : { endpoints: there.endpoints, settings: there.settings })
    yield* print(json, JSON.stringify(file), () => stringify(file, { lineWidth: 0 }).trimEnd())
    const nameless = there.endpoints.filter(({ externalId }) => typeof externalId !== "string").length
    if (nameless > 0)
      yield* talk(
        `Left out: ${counted(nameless, "endpoint")} without external id. posthorn endpoints update ID --external-id NAME gives one.`
      )
  })
