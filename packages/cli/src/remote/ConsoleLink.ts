/**
 * `posthorn console-link <workspace>`: prints a link that opens the console once, and nothing else.
 *
 * It calls a running `serve` or `dev`, at POSTHORN_URL or the address of BASE_URL, HOST and PORT, with POSTHORN_TOKEN, or the
 * operator's token from the environment or from `dev`'s folder. Source: spec §11.
 */
import { Config, Data, Effect, Option, Redacted } from "effect"
import { complain, say } from "../command/Terminal.ts"
import * as LocalSecrets from "../dev/LocalSecrets.ts"
import { baseUrlOf } from "../roles/RoleSettings.ts"
import { type Settings, settings } from "../settings/Settings.ts"
import { unreachable } from "./Unreachable.ts"

/** The message is the one line the user sees: what is wrong and what to do. */
export class ConsoleLinkRefused extends Data.TaggedError("ConsoleLinkRefused")<{
  readonly message: string
}> {}

const refuse = (message: string) => Effect.fail(new ConsoleLinkRefused({ message }))

interface Wish {
  readonly workspace: string
  readonly role: Option.Option<string>
  readonly member: Option.Option<string>
}

const given = (name: string) =>
  Effect.map(
    Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>()),
    Option.filter((text) => text.trim() !== "")
  )

const operatorOf = ({ dataDir, operatorTokens }: Settings) =>
  Option.isSome(operatorTokens)
    ? Effect.succeed(Redacted.value(operatorTokens.value[0]!.token))
    : Effect.flatMap(LocalSecrets.find(dataDir), (kept) =>
        kept === undefined
          ? refuse(
              "No token is known here: set POSTHORN_TOKEN or OPERATOR_TOKEN, or DATA_DIR to dev's folder."
            )
          : Effect.succeed(kept.operatorToken)
      )

/** The address and the token. */
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

const ask = (url: string, token: string, { member, role, workspace }: Wish) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${url}/workspaces/${encodeURIComponent(workspace)}/console-links`, {
        method: "POST",
        signal,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ role: Option.getOrUndefined(role), memberId: Option.getOrUndefined(member) })
      })
      return (await response.json()) as Answer
    },
    catch: (error) => new ConsoleLinkRefused({ message: unreachable(url, error) })
  })

export const consoleLink = (wish: Wish) =>
  Effect.gen(function* () {
    const { token, url } = yield* upstream
    const answer = yield* ask(url, token, wish)
    if (answer.url === undefined) return yield* refuse(answer.detail ?? `${url} is not Posthorn.`)
    yield* say(answer.url)
    yield* complain("It opens the console once, within 10 minutes.")
  })
