/**
 * `posthorn mcp`: MCP over standard input and output, for clients that start a command instead of calling a URL.
 *
 * POSTHORN_URL is Posthorn's address, POSTHORN_TOKEN the caller's token. Logs and errors go to standard error.
 * Source: spec §4.7.
 */
import { Config, Effect, Either, Redacted } from "effect"
import { complain } from "../command/Terminal.ts"
import { readEnvironment, required } from "../settings/Environment.ts"
import { callerVariables } from "../settings/Variables.ts"
import { proxy } from "./McpProxy.ts"

/** With or without `/mcp` and a slash at the end. */
const baseOf = (text: string): Either.Either<string, string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? Either.right(`${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/mcp$/, "")}`)
    : Either.left("must be an http or https address")
}

const upstream = Config.all({
  url: required("POSTHORN_URL", callerVariables.POSTHORN_URL, baseOf),
  token: required("POSTHORN_TOKEN", callerVariables.POSTHORN_TOKEN, (text) =>
    Either.right(Redacted.make(text))
  )
})

/** The command. */
export const mcp = Effect.gen(function* () {
  const found = yield* readEnvironment(upstream)
  // A client that closed its end of the pipe has gone, so an error would reach nobody.
  process.stdout.on("error", () => process.exit(0))
  yield* Effect.promise(() =>
    proxy(found, {
      input: process.stdin,
      output: process.stdout,
      complain: (line) => Effect.runSync(complain(line))
    })
  )
})
