#!/usr/bin/env node
/** The posthorn command: finds the role, runs it, and says in one line why it could not. */
import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { migrate, serve, work } from "./Commands.ts"
import { dev } from "./Dev.ts"
import { explain } from "./Explain.ts"
import { loggingLive } from "./Logging.ts"
import { mcp } from "./Mcp.ts"
import { reEncrypt } from "./ReEncrypt.ts"
import { announceStop } from "./Stopping.ts"
import { complain, say } from "./Terminal.ts"
import { VERSION } from "./Version.ts"

const HELP = `posthorn ${VERSION}: delivers a platform's webhooks: signed, retried, evidenced, replayable.

Usage: posthorn <command>

  dev         everything in one process, with an embedded PostgreSQL and a demo
  serve       REST, MCP and the reference
  work        the delivery worker; run as many as you like
  migrate     bring the database up to date
  mcp         MCP over standard input and output, for POSTHORN_URL with POSTHORN_TOKEN
  re-encrypt  seal every signing secret with the newest ENCRYPTION_KEY

Everything is configured through the environment: see docs/operate.md.`

const commands = { dev, serve, work, migrate, mcp, "re-encrypt": reEncrypt } as const

const LASTING: ReadonlySet<string> = new Set(["dev", "serve", "work"])

const isCommand = (name: string | undefined): name is keyof typeof commands =>
  name !== undefined && Object.hasOwn(commands, name)

const [name, ...rest] = process.argv.slice(2)

const program = Effect.gen(function* () {
  if (name === "--version" || name === "-v") return yield* say(VERSION)
  if (name === undefined || name === "help" || name === "--help" || name === "-h") return yield* say(HELP)
  if (!isCommand(name) || rest.length > 0) {
    yield* complain(
      isCommand(name)
        ? `posthorn ${name} takes no arguments: see posthorn help`
        : `posthorn knows no command ${name}: see posthorn help`
    )
    return yield* Effect.sync(() => (process.exitCode = 2))
  }
  if (LASTING.has(name)) yield* announceStop
  return yield* commands[name]
})

const explained = Effect.catchAllCause(program, (cause) =>
  Effect.flatMap(explain(cause), (lines) =>
    lines === undefined
      ? Effect.failCause(cause)
      : Effect.zipRight(
          Effect.forEach(lines, (line) => complain(`posthorn: ${line}`)),
          Effect.sync(() => (process.exitCode = 1))
        )
  )
)

NodeRuntime.runMain(Effect.provide(explained, loggingLive), {
  disablePrettyLogger: true,
  disableErrorReporting: false
})
