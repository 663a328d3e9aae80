#!/usr/bin/env node
/** The posthorn command: runs a command (Commands.ts), or says in one line why it could not. */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { isRole, roles } from "./command/BareCommands.ts"
import { explain } from "./command/StartFailures.ts"
import { complain, say, writeAsLog } from "./command/Terminal.ts"
import { loggingLive, logsJson } from "./roles/Logging.ts"
import { VERSION } from "./Version.ts"

const [name, ...rest] = process.argv.slice(2)

/** What runs until it is stopped, and is looked after by its log. */
const SERVICES: ReadonlyArray<string | undefined> = ["serve", "work", "run"]

if (SERVICES.includes(name) && rest.length === 0 && logsJson()) writeAsLog()

const program =
  name === "--version" || name === "-v"
    ? say(VERSION)
    : name === undefined || name === "--help" || name === "-h" || (name === "help" && rest.length === 0)
      ? Effect.flatMap(
          Effect.promise(() => import("./command/Commands.ts")),
          ({ help }) => say(help())
        )
      : isRole(name) && rest.length === 0
        ? roles[name].run
        : Effect.flatten(
            Effect.promise(async () => {
              const { run } = await import("./command/Commands.ts")
              return run(name === "help" ? [...rest, "--help"] : [name, ...rest])
            })
          )

/** The reader of our output has gone (`| head`), so an error would reach nobody, and is none. */
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
  })

const explained = Effect.catchAllCause(program, (cause) =>
  Effect.flatMap(explain(cause), (lines) =>
    lines === undefined
      ? Effect.failCause(cause)
      : Effect.zipRight(
          Effect.forEach(lines, (line) => complain(`posthorn: ${line}`, "error")),
          Effect.sync(() => (process.exitCode = 1))
        )
  )
)

runMain(Effect.provide(explained, loggingLive), {
  disablePrettyLogger: true,
  disableErrorReporting: false
})
