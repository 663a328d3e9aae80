/**
 * `posthorn mcp`: MCP over standard input and output, for clients that start a command instead of calling a URL.
 *
 * POSTHORN_URL says where Posthorn is, POSTHORN_TOKEN who is calling. Logs and complaints go to standard error.
 * Source: decision §4 (MCP).
 */
import { Config, Effect, Either, Option, Redacted } from "effect"
import { proxy, type Upstream } from "./internal/McpProxy.ts"
import { InvalidEnvironment } from "./Settings.ts"
import { complain } from "./Terminal.ts"

const example = { POSTHORN_URL: "https://hooks.example.com", POSTHORN_TOKEN: "phk_…" } as const

const required = (name: keyof typeof example) =>
  Effect.flatMap(Config.option(Config.redacted(name)), (value) =>
    Option.isSome(value) && Redacted.value(value.value).trim() !== ""
      ? Effect.succeed(value.value)
      : Effect.fail(`${name} is not set, for example ${name}=${example[name]}`)
  ).pipe(Effect.mapError(String))

/** With or without `/mcp` and a slash at the end. */
const baseOf = (text: string): Either.Either<string, string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? Either.right(`${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/mcp$/, "")}`)
    : Either.left(
        "POSTHORN_URL must be an http or https address, for example POSTHORN_URL=https://hooks.example.com"
      )
}

const upstreamFromEnvironment = Effect.gen(function* () {
  const url = Effect.flatMap(required("POSTHORN_URL"), (text) => baseOf(Redacted.value(text).trim()))
  const token = Effect.map(required("POSTHORN_TOKEN"), (text) => Redacted.make(Redacted.value(text).trim()))
  const [foundUrl, foundToken] = yield* Effect.all([Effect.either(url), Effect.either(token)])
  const lines = [Either.getLeft(foundUrl), Either.getLeft(foundToken)].flatMap(Option.toArray)
  if (Either.isLeft(foundUrl) || Either.isLeft(foundToken)) return yield* new InvalidEnvironment({ lines })
  return { url: foundUrl.right, token: foundToken.right } satisfies Upstream
})

/** The command. */
export const mcp = Effect.gen(function* () {
  const upstream = yield* upstreamFromEnvironment
  // A client that closed its end of the pipe has gone: there is nobody left to tell.
  process.stdout.on("error", () => process.exit(0))
  yield* Effect.promise(() =>
    proxy(upstream, {
      input: process.stdin,
      output: process.stdout,
      complain: (line) => Effect.runSync(complain(line))
    })
  )
})
