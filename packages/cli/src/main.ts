#!/usr/bin/env node
/** The posthorn command: finds the role, runs it, and says in one line why it could not. */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { explain } from "./Explain.ts"
import { loggingLive } from "./Logging.ts"
import { commandFirst } from "./remote/Arguments.ts"
import { announceStop } from "./Stopping.ts"
import { complain, say } from "./Terminal.ts"
import { VERSION } from "./Version.ts"

const HELP = `posthorn ${VERSION}: delivers a platform's webhooks: signed, retried, evidenced, replayable.

Usage: posthorn <command>

Run it; everything is configured through the environment, see docs/operate.md:
  dev         everything in one process, with an embedded PostgreSQL and a demo
  serve       REST, MCP, the console and the reference
  work        the delivery worker; run as many as you like
  migrate     bring the database up to date
  re-encrypt  seal every signing secret with the newest ENCRYPTION_KEY
  doctor      look at everything it stands on, and say what to mend
  config      print the settings in force, secrets hidden

Use it; POSTHORN_URL says which one, POSTHORN_TOKEN who is asking, see docs/cli.md:
  send TYPE PAYLOAD | --file F | -     publish an event
  deliveries [--status S] [--event-type T] [--endpoint ID] [--watch]
  attempts ID    trace ID              what happened to a delivery; to anything an id is known of
  replay ID                            send one delivery again
  recover ID --since 2h [--include-missed] [--dry-run] [--yes]
                                       send again all that an endpoint did not receive
  endpoints list | create URL --event-types a,b | enable ID | disable ID | rotate ID
  diagnose ID                          what is wrong with an endpoint, and what to do
  listen URL [--endpoint ID]           deliveries on this machine, without a tunnel
  verify --secret S                    is a request on standard input genuine
  mcp                                  MCP over standard input and output
  console-link WORKSPACE [--role viewer|developer|admin | --member mem_…]
                                       a link that opens the console once

--json prints the REST answer and nothing else. posthorn COMMAND --help says more; posthorn --completions bash, zsh or
fish prints a completion script.`

/**
 * Loads a command when it is run. A worker that never reads the server's code is a process of 87 MB instead of 150,
 * and every command but `serve` and `dev` starts in about half the time. So nothing here may import a command directly.
 */
const loaded = <A, E>(load: () => Promise<Effect.Effect<A, E>>) => Effect.flatten(Effect.promise(load))

/** Reads its arguments itself: unlike the remote ones it reads the settings too. */
const consoleLink = (args: ReadonlyArray<string>) =>
  loaded(async () => (await import("./ConsoleLink.ts")).consoleLink(args))

const commands = {
  dev: loaded(async () => (await import("./Dev.ts")).dev),
  serve: loaded(async () => (await import("./Serve.ts")).serve),
  work: loaded(async () => (await import("./Work.ts")).work),
  migrate: loaded(async () => (await import("./Migrate.ts")).migrate),
  mcp: loaded(async () => (await import("./Mcp.ts")).mcp),
  "re-encrypt": loaded(async () => (await import("./ReEncrypt.ts")).reEncrypt),
  doctor: loaded(async () => (await import("./Doctor.ts")).doctor),
  config: loaded(async () => (await import("./ShowConfig.ts")).showConfig)
} as const

/** Those that ask a running Posthorn: their arguments are read where they are declared. */
const REMOTE: ReadonlySet<string> = new Set([
  "send",
  "deliveries",
  "attempts",
  "trace",
  "replay",
  "recover",
  "endpoints",
  "diagnose",
  "listen",
  "verify",
  "--completions"
])

const remote = (words: ReadonlyArray<string>) =>
  loaded(async () => (await import("./remote/Commands.ts")).run(words))

const LASTING: ReadonlySet<string> = new Set(["dev", "serve", "work"])

const isCommand = (name: string | undefined): name is keyof typeof commands =>
  name !== undefined && Object.hasOwn(commands, name)

/** Loaded with the settings, which every command but `mcp` reads. */
const warnOfVariables = loaded(async () => {
  const [{ knownVariables }, { oddNodeEnv, unknownVariables }] = await Promise.all([
    import("./Settings.ts"),
    import("./UnknownVariables.ts")
  ])
  const lines = [
    ...unknownVariables(Object.keys(process.env), knownVariables),
    ...oddNodeEnv(process.env.NODE_ENV)
  ]
  return Effect.forEach(lines, (line) => complain(`posthorn: Warning: ${line}`), { discard: true })
})

const ABOUT_ITSELF: ReadonlySet<string> = new Set(["--version", "-v", "--help", "-h", "--completions"])

/** `posthorn --json deliveries` as `posthorn deliveries --json`. */
const inOrder = (words: ReadonlyArray<string>) =>
  words[0]?.startsWith("-") === true && !ABOUT_ITSELF.has(words[0]) ? commandFirst(words) : words

const [name, ...rest] = inOrder(process.argv.slice(2))

const asksForHelp = (words: ReadonlyArray<string>) => words.length === 1 && /^(--help|-h)$/.test(words[0]!)

/** The command that was meant by a word a letter or two off. */
const guessed = (word: string) =>
  Effect.promise(async () =>
    (await import("./Guess.ts")).guess(word, [...Object.keys(commands), ...REMOTE, "console-link"])
  )

const misused = (name: string) =>
  Effect.gen(function* () {
    process.exitCode = 2
    if (isCommand(name))
      return yield* complain(
        `posthorn ${name} takes no arguments: it is set by variables, such as PORT=9000; see posthorn help`
      )
    const near = yield* guessed(name)
    const hint = near === undefined ? "see posthorn help" : `did you mean ${near}?`
    yield* complain(`posthorn knows no command ${name}: ${hint}`)
  })

const program = Effect.gen(function* () {
  if (name === "--version" || name === "-v") return yield* say(VERSION)
  if (name === "help" && rest.length === 1 && REMOTE.has(rest[0]!)) return yield* remote([rest[0]!, "--help"])
  if (name === undefined || name === "help" || name === "--help" || name === "-h") return yield* say(HELP)
  if (isCommand(name) && asksForHelp(rest)) return yield* say(HELP)
  if (name === "console-link") return yield* consoleLink(rest)
  if (REMOTE.has(name)) return yield* remote([name, ...rest])
  if (!isCommand(name) || rest.length > 0) return yield* misused(name)
  if (LASTING.has(name)) yield* announceStop
  if (name !== "mcp") yield* warnOfVariables
  return yield* commands[name]
})

/** Whoever reads what we print has gone (`| head`): there is nobody left to tell, and nothing to complain of. */
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
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

runMain(Effect.provide(explained, loggingLive), {
  disablePrettyLogger: true,
  disableErrorReporting: false
})
