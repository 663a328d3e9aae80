#!/usr/bin/env node
/** The posthorn command: runs a command (Commands.ts), or says in one line why it could not. */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { isRole, roles } from "./command/BareCommands.ts"
import { explain } from "./command/StartFailures.ts"
import { complain, say, writeAsLog } from "./command/Terminal.ts"
import { loggingLive, logsJson } from "./roles/Logging.ts"
import { VERSION } from "./Version.ts"

const HELP = `posthorn ${VERSION}: delivers a platform's webhooks: signed, retried, evidenced, replayable.

Usage: posthorn <command>

Run it; everything is configured through the environment, see docs/settings.md:
  dev         everything in one process, with an embedded PostgreSQL and a demo
  serve       REST, MCP, the console and the reference
  work        the delivery worker; run as many as you like
  run         both in one process, for a small installation
  migrate     bring the database up to date
  re-encrypt  seal every signing secret with the newest ENCRYPTION_KEY
  doctor      look at everything it stands on, and say what to mend
  config      print the settings in force, secrets hidden

Use it; POSTHORN_URL says which one, POSTHORN_TOKEN who is asking, see docs/cli.md:
  send TYPE PAYLOAD | --file F | -     publish an event
  deliveries [--status S] [--event-type T] [--endpoint ID] [--watch]
  events [--event-type T] [--idempotency-key K] [--payload-path P --payload-value V]
  find WORD [--since 1d]               an id, a key, a value in a payload
  attempts ID    trace ID              what happened to a delivery; to anything an id is known of
  replay ID                            send one delivery again
  recover ID --since 2h [--include-missed] [--dry-run] [--yes]
                                       send again all that an endpoint did not receive
  endpoints list | create URL --event-types a,b | update ID | test ID | delete ID
            enable ID | disable ID | rotate ID
  audit [--action A] [--actor W] [--target ID]    tokens    members    notifications
  workspaces                           all of them, for the operator
  workspace ensure SLUG [--token NAME] make or find a workspace, and a token in it
  diagnose ID                          what is wrong with an endpoint, and what to do
  listen URL [--endpoint ID]           deliveries on this machine, without a tunnel
  verify [--secret S | --endpoint ID]  is a request on standard input genuine
  mcp                                  MCP over standard input and output
  console-link WORKSPACE [--role viewer|developer|admin | --member mem_…]
                                       a link that opens the console once

--json prints the REST answer and nothing else. posthorn COMMAND --help says more; posthorn --completions bash, zsh or
fish prints a completion script.`

const [name, ...rest] = process.argv.slice(2)

/** What runs until it is stopped, and is looked after by its log. */
const SERVICES: ReadonlyArray<string | undefined> = ["serve", "work", "run"]

if (SERVICES.includes(name) && rest.length === 0 && logsJson()) writeAsLog()

const program =
  name === "--version" || name === "-v"
    ? say(VERSION)
    : name === undefined || name === "--help" || name === "-h" || (name === "help" && rest.length === 0)
      ? say(HELP)
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
