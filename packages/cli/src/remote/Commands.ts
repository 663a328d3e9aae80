/**
 * The commands that ask a running Posthorn, as a tree: their arguments, options and one-line descriptions.
 *
 * Every one takes `--url`, `--token` and `--workspace`, and those that print take `--json`. Wrong arguments are exit code 2,
 * a refusal is 1. `--completions bash|zsh|fish` prints the completion script.
 */
import { Args, CliConfig, Command, Options, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { type Console, Effect, Layer, Option } from "effect"
import { complain, say } from "../Terminal.ts"
import { VERSION } from "../Version.ts"
import { ordered } from "./Arguments.ts"
import * as Endpoints from "./EndpointCommands.ts"
import { plainly, tidy } from "./Help.ts"
import { listen } from "./Listen.ts"
import { attempts, deliveries, trace } from "./Look.ts"
import { CommandFailed, misused, type Posthorn, layer as posthorn, type Where } from "./Posthorn.ts"
import { mayAsk, recover, replay } from "./Replaying.ts"
import { send } from "./Send.ts"
import { verify } from "./Verify.ts"

const text = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description))
const maybe = (name: string, description: string) => Options.optional(text(name, description))
const flag = (name: string, description: string) =>
  Options.boolean(name).pipe(Options.withDescription(description))
const id = (name: string, description: string) => Args.text({ name }).pipe(Args.withDescription(description))

const json = flag("json", "The REST answer and nothing else.")

const where = {
  url: maybe("url", "Which Posthorn; default POSTHORN_URL."),
  token: Options.optional(
    Options.redacted("token").pipe(Options.withDescription("Who is asking; default POSTHORN_TOKEN."))
  ),
  workspace: maybe("workspace", "Slug; needed with the operator's token only, default POSTHORN_WORKSPACE.")
}

/** A command that asks Posthorn. */
const asking = <const Name extends string, const Config extends Command.Command.Config>(
  name: Name,
  description: string,
  config: Config,
  run: (given: Command.Command.ParseConfig<Config>) => Effect.Effect<unknown, CommandFailed, Posthorn>,
  /** Before anybody is asked anything. */
  first: (given: Command.Command.ParseConfig<Config>) => Effect.Effect<void, CommandFailed> = () =>
    Effect.void
) =>
  Command.make(name, { ...config, ...where }, (given) =>
    Effect.zipRight(
      first(given as unknown as Command.Command.ParseConfig<Config>),
      Effect.asVoid(
        Effect.provide(
          run(given as unknown as Command.Command.ParseConfig<Config>),
          posthorn(given as unknown as Where)
        )
      )
    )
  ).pipe(Command.withDescription(description))

const endpointId = id("endpoint", "Id of the endpoint.")
const deliveryId = id("delivery", "Id of the delivery.")

const sendCommand = asking(
  "send",
  "Publishes an event.",
  {
    type: id("type", "Such as invoice.paid."),
    payload: Args.optional(id("payload", "JSON, or - for standard input.")),
    file: maybe("file", "Reads the payload from a file."),
    key: maybe("idempotency-key", "Publishing again under it within 24 hours creates nothing."),
    json
  },
  send
)

const deliveriesCommand = asking(
  "deliveries",
  "Lists deliveries, newest first.",
  {
    status: maybe("status", "pending, delivered, failed, failed_permanent or dead_lettered."),
    eventType: maybe("event-type", "Of this event type only."),
    endpoint: maybe("endpoint", "Of this endpoint only."),
    limit: Options.integer("limit").pipe(
      Options.withDefault(50),
      Options.withDescription("How many at most.")
    ),
    watch: flag("watch", "Goes on, with a line for each new delivery and each change."),
    json
  },
  deliveries
)

const attemptsCommand = asking(
  "attempts",
  "Shows the attempts of a delivery.",
  { deliveryId, json },
  (given) => attempts(given.deliveryId, given.json)
)

const traceCommand = asking(
  "trace",
  "Tells all that became of an event, by a trace id, webhook-id or event id.",
  { id: id("id", "x-trace-id, webhook-id or event id."), json },
  (given) => trace(given.id, given.json)
)

const replayCommand = asking("replay", "Sends a stopped delivery again.", { deliveryId, json }, (given) =>
  replay(given.deliveryId, given.json)
)

const recoverCommand = asking(
  "recover",
  "Sends again all that an endpoint did not receive: counts, asks, starts the job, shows its progress.",
  {
    endpointId,
    since: text("since", "2h, 30m, 1d, or a time."),
    until: maybe("until", "The same; default now."),
    includeMissed: flag("include-missed", "Also events that it missed while it was disabled."),
    dryRun: flag("dry-run", "Only counts."),
    yes: flag("yes", "Does not ask."),
    json
  },
  recover,
  mayAsk
)

const diagnoseCommand = asking(
  "diagnose",
  "Says what is wrong with an endpoint, and what to do.",
  { endpointId, json },
  (given) => Endpoints.diagnose(given.endpointId, given.json)
)

const listenCommand = asking(
  "listen",
  "Brings deliveries to this machine, without a tunnel.",
  {
    target: id("url", "Where to send them, such as http://localhost:3000/webhooks."),
    endpoint: maybe(
      "endpoint",
      "Copies of what this endpoint is sent; default: a temporary endpoint for every event."
    )
  },
  (given) => listen(given.target, Option.getOrUndefined(given.endpoint))
)

const endpointsCommand = Command.make("endpoints").pipe(
  Command.withDescription("Lists, makes and changes endpoints."),
  Command.withSubcommands([
    asking("list", "Lists the endpoints.", { json }, (given) => Endpoints.list(given.json)),
    asking(
      "create",
      "Registers an endpoint; prints its id.",
      {
        address: Args.text({ name: "url" }).pipe(Args.withDescription("Public https URL.")),
        eventTypes: text("event-types", "Separated by commas; prefix.* and * too."),
        description: maybe("description", "For people."),
        json
      },
      (given) =>
        Endpoints.create(
          given.address,
          given.eventTypes.split(",").map((type) => type.trim()),
          given.description,
          given.json
        )
    ),
    asking("enable", "Lets deliveries go on.", { endpointId, json }, (given) =>
      Endpoints.setEnabled(given.endpointId, true, given.json)
    ),
    asking("disable", "Stops deliveries and keeps their history.", { endpointId, json }, (given) =>
      Endpoints.setEnabled(given.endpointId, false, given.json)
    ),
    asking("rotate", "Makes a new signing secret and prints it, this once.", { endpointId, json }, (given) =>
      Endpoints.rotate(given.endpointId, given.json)
    )
  ])
)

const verifyCommand = Command.make(
  "verify",
  { secret: Options.redacted("secret").pipe(Options.withDescription("whsec_…")) },
  (given) => verify(given.secret)
).pipe(
  Command.withDescription(
    "Says whether a request is genuine: headers, an empty line and the body on standard input."
  )
)

/** Those within `endpoints`, for what is said when it is none of them. */
const WITHIN = ["list", "create", "enable", "disable", "rotate"]
const SHELLS = ["bash", "zsh", "fish"]

/** Those that `main` runs by itself, here for completion only. */
const ROLES = ["dev", "serve", "work", "migrate", "mcp", "re-encrypt", "console-link", "help"] as const
const roles = ROLES.map((name) => Command.make(name))

const tree = Command.make("posthorn").pipe(
  Command.withSubcommands([
    sendCommand,
    deliveriesCommand,
    attemptsCommand,
    traceCommand,
    replayCommand,
    recoverCommand,
    endpointsCommand,
    diagnoseCommand,
    listenCommand,
    verifyCommand,
    ...roles
  ])
)

const ANSI = /\u001b\[[0-9;]*m/g
const USAGE = /^USAGE$/m

/** What the library has to say, without colour but on a terminal; its complaints on standard error. */
const consoleOf = (original: Console.Console, group: string): Console.Console => {
  const plainFor = (stream: NodeJS.WriteStream, lines: ReadonlyArray<unknown>) =>
    (stream.isTTY ? lines.join(" ") : lines.join(" ").replace(ANSI, "")).trimEnd()
  const page = (lines: ReadonlyArray<unknown>) => {
    const text = lines.join(" ").replace(ANSI, "")
    return USAGE.test(text) ? tidy(text, group) : plainFor(process.stdout, lines)
  }
  return {
    ...original,
    log: (...lines) => say(page(lines)),
    error: (...lines) => complain(`posthorn: ${plainly(plainFor(process.stderr, lines))}`)
  }
}

const listOf = (words: ReadonlyArray<string>) => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** What the library would answer with a list of everything there is. */
const notKnown = ([name, word]: ReadonlyArray<string>): string | undefined => {
  if (name === "--completions" && !SHELLS.includes(word ?? ""))
    return `posthorn --completions takes ${listOf(SHELLS)}`
  if (name === "endpoints" && word !== undefined && !word.startsWith("-") && !WITHIN.includes(word))
    return `posthorn endpoints knows no command ${word}: use ${listOf(WITHIN)}`
  return undefined
}

const parsed = (words: ReadonlyArray<string>) =>
  Command.run(tree, { name: "posthorn", version: VERSION })(["node", "posthorn", ...words])

/** Runs the command of these words; what went wrong is told, and its exit code set. */
export const run = (given: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const words = ordered(given)
    const refused = notKnown(words)
    return refused === undefined ? parsed(words) : misused(refused)
  }).pipe(
    Effect.catchAll((error) => {
      const failed = error instanceof CommandFailed ? error : undefined
      const told = failed === undefined ? Effect.void : complain(failed.line)
      // What the library refuses it has told already.
      const code = failed?.code ?? (ValidationError.isValidationError(error) ? 2 : 1)
      return Effect.zipRight(
        told,
        Effect.sync(() => (process.exitCode = code))
      )
    }),
    Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer({ showBuiltIns: false }))),
    (effect) =>
      Effect.flatMap(Effect.console, (original) =>
        Effect.withConsole(effect, consoleOf(original, given[0] === "endpoints" ? "endpoints" : ""))
      )
  )
