/**
 * `posthorn console-link <workspace>`: a link that opens the console once, printed and nothing else.
 *
 * Asks a running `serve` or `dev`. Which one: POSTHORN_URL, or what BASE_URL, HOST and PORT say. As whom:
 * POSTHORN_TOKEN, or the operator's token from the environment or from `dev`'s folder. Source: decision §9.
 */
import { parseArgs } from "node:util"
import { Config, Data, Effect, Option, Redacted } from "effect"
import * as LocalSecrets from "./LocalSecrets.ts"
import { baseUrlOf } from "./Resolved.ts"
import { type Settings, settings } from "./Settings.ts"
import { complain, say } from "./Terminal.ts"

const USAGE = "posthorn console-link <workspace> [--role viewer|developer|admin | --member mem_…]"

/** The message is the one line the user sees: what is wrong and what to do. */
export class ConsoleLinkRefused extends Data.TaggedError("ConsoleLinkRefused")<{
  readonly message: string
}> {}

const refuse = (message: string) => Effect.fail(new ConsoleLinkRefused({ message }))

interface Wish {
  readonly slug: string
  readonly body: { readonly role?: string; readonly memberId?: string }
}

const wishOf = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: (): Wish | undefined => {
      const { positionals, values } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: { role: { type: "string" }, member: { type: "string" } }
      })
      const [slug, ...more] = positionals
      if (slug === undefined || more.length > 0) return undefined
      const { member, role } = values
      return {
        slug,
        body: {
          ...(role === undefined ? {} : { role }),
          ...(member === undefined ? {} : { memberId: member })
        }
      }
    },
    catch: () => undefined
  }).pipe(
    Effect.orElseSucceed(() => undefined),
    Effect.flatMap((wish) => (wish === undefined ? refuse(`Use it as ${USAGE}.`) : Effect.succeed(wish)))
  )

const given = (name: string) =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>()),
    Option.filter((text) => text.trim() !== "")
  )

const operatorOf = ({ dataDir, operatorToken }: Settings) =>
  Option.isSome(operatorToken)
    ? Effect.succeed(Redacted.value(operatorToken.value))
    : Effect.flatMap(LocalSecrets.find(dataDir), (kept) =>
        kept === undefined
          ? refuse(
              "No token is known here: set POSTHORN_TOKEN or OPERATOR_TOKEN, or DATA_DIR to dev's folder."
            )
          : Effect.succeed(kept.operatorToken)
      )

/** Where to ask, and as whom. */
const upstream = Effect.gen(function* () {
  const read = yield* settings
  const url = Option.getOrElse(yield* given("POSTHORN_URL"), () =>
    baseUrlOf({ settings: read, port: read.port } as never)
  )
  const token = Option.getOrUndefined(yield* given("POSTHORN_TOKEN")) ?? (yield* operatorOf(read))
  return { url: url.trim().replace(/\/+$/, ""), token: token.trim() }
})

interface Answer {
  readonly url?: string
  readonly detail?: string
}

const ask = (url: string, token: string, { body, slug }: Wish) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${url}/workspaces/${encodeURIComponent(slug)}/console-links`, {
        method: "POST",
        signal,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
      return (await response.json()) as Answer
    },
    catch: () =>
      new ConsoleLinkRefused({
        message: `Nothing answers at ${url}. Start posthorn serve or dev, or set POSTHORN_URL to where it is.`
      })
  })

export const consoleLink = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const wish = yield* wishOf(args)
    const { token, url } = yield* upstream
    const answer = yield* ask(url, token, wish)
    if (answer.url === undefined) return yield* refuse(answer.detail ?? `${url} is not Posthorn.`)
    yield* say(answer.url)
    yield* complain("It opens the console once, within 10 minutes.")
  })
