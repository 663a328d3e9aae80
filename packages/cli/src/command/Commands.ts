/**
 * Every command, as a tree: arguments, options and one-line descriptions.
 *
 * A command's code is loaded when it is run; see Roles.ts.
 *
 * Commands that call a running Posthorn take `--url`, `--token` and `--workspace`, and those that print take `--json`. Wrong
 * arguments give exit code 2, a refusal 1. `--completions bash|zsh|fish` prints the completion script.
 */
import { Args, CliConfig, Command, HelpDoc, Options, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { nearest } from "@posthorn/domain/Spelling"
import { type Console, Effect, HashMap, HashSet, Layer, Option } from "effect"
import type { Posthorn, Where } from "../remote/Posthorn.ts"
import { VERSION } from "../Version.ts"
import { ordered } from "./Arguments.ts"
import { isRole, loaded, roles } from "./BareCommands.ts"
import { CommandFailed, misused } from "./CommandFailed.ts"
import { plainly, tidy } from "./Help.ts"
import { complain, say } from "./Terminal.ts"

/** Commands without arguments: `main` runs them without loading this file. */
const roleCommands = Object.entries(roles).map(([name, { about, run }]) =>
  Command.make(name, {}, () => run).pipe(Command.withDescription(about))
)

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

const consoleLinkCommand = Command.make(
  "console-link",
  {
    workspace: id("workspace", "Slug of the workspace."),
    role: Options.optional(
      Options.choice("role", ["viewer", "developer", "admin"]).pipe(
        Options.withDescription("What the session may do; default: what the token may.")
      )
    ),
    member: maybe("member", "Id of the member (mem_…) that the session is of, instead of a role.")
  },
  (given) => loaded(async () => (await import("../remote/ConsoleLink.ts")).consoleLink(given))
).pipe(Command.withDescription("Prints a link that opens the console once."))

const doctorCommand = Command.make(
  "doctor",
  { json: flag("json", "One JSON document: verdict, exitCode and findings.") },
  (given) => loaded(async () => (await import("../doctor/Doctor.ts")).doctor(given.json))
).pipe(
  Command.withDescription(
    "Looks at everything it stands on, and says what to mend: exit code 0, 3 (warnings) or 1. It reads the variables of serve and work."
  )
)

/** A command that calls a running Posthorn. */
const asking = <const Name extends string, const Config extends Command.Command.Config>(
  name: Name,
  description: string,
  config: Config,
  run: (
    given: Command.Command.ParseConfig<Config>
  ) => Promise<Effect.Effect<unknown, CommandFailed, Posthorn>>,
  /** `--url` is left out where it means something else. */
  asked: Omit<typeof where, "url"> & Partial<typeof where> = where,
  /** Checked before any request is made. */
  first: (given: Command.Command.ParseConfig<Config>) => Promise<Effect.Effect<void, CommandFailed>> = () =>
    Promise.resolve(Effect.void)
) =>
  Command.make(name, { ...config, ...asked }, (parsed) => {
    const given = parsed as unknown as Command.Command.ParseConfig<Config> & Where
    return Effect.zipRight(
      loaded(() => first(given)),
      loaded(async () => {
        const { layer } = await import("../remote/Posthorn.ts")
        return Effect.provide(await run(given), layer({ ...given, url: given.url ?? Option.none() }))
      })
    )
  }).pipe(Command.withDescription(description))

/** Options of every list. */
const paging = {
  limit: Options.integer("limit").pipe(
    Options.withDefault(50),
    Options.withDescription("How many at most, up to 200; default 50.")
  ),
  cursor: maybe("cursor", "Goes on where a list ended."),
  all: flag("all", "Every page, whatever the limit."),
  json
}
const between = {
  since: maybe("since", "2h, 30m, 1d, or a time."),
  until: maybe("until", "The same.")
}

const lists = () => import("../remote/Lists.ts")
const look = () => import("../remote/DeliveryCommands.ts")
const replaying = () => import("../remote/Replaying.ts")
const endpoints = () => import("../remote/EndpointCommands.ts")

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
    endpoints: text("endpoint", "Goes to this endpoint, whatever it wants; may be repeated.").pipe(
      Options.repeated
    ),
    once: flag("no-retry", "One attempt for each delivery."),
    json
  },
  async (given) => (await import("../remote/Send.ts")).send(given)
)

const deliveriesCommand = asking(
  "deliveries",
  "Lists deliveries, newest first.",
  {
    status: maybe("status", "pending, delivered, failed, failed_permanent or dead_lettered."),
    eventType: maybe("event-type", "Of this event type only."),
    endpoint: maybe("endpoint", "Of this endpoint only."),
    ...between,
    ...paging,
    watch: flag("watch", "Goes on, with a line for each new delivery and each change.")
  },
  async (given) => (await look()).deliveries(given)
)

const eventsCommand = asking(
  "events",
  "Lists events, newest first.",
  {
    eventType: maybe("event-type", "Of this type only."),
    idempotencyKey: maybe("idempotency-key", "Published under this key within 24 hours."),
    payloadPath: maybe("payload-path", "With --payload-value: a JSON Pointer, such as /order/id."),
    payloadValue: maybe("payload-value", "What stands there."),
    ...between,
    ...paging
  },
  async (given) => (await lists()).events(given)
)

const auditCommand = asking(
  "audit",
  "Lists who changed what, newest first.",
  {
    action: maybe("action", "Such as webhook.endpoint_updated."),
    actor: maybe("actor", "By this id, or this operator."),
    target: maybe("target", "Of this id."),
    ...between,
    ...paging
  },
  async (given) => (await lists()).audit(given)
)

const tokensCommand = asking("tokens", "Lists API tokens, newest first.", paging, async (given) =>
  (await lists()).tokens(given)
)

const membersCommand = asking("members", "Lists members.", paging, async (given) =>
  (await lists()).members(given)
)

const notificationsCommand = asking(
  "notifications",
  "Lists notifications, newest first.",
  paging,
  async (given) => (await lists()).notifications(given)
)

const findCommand = asking(
  "find",
  "Looks for a word: an id, an idempotency key, a value in a payload.",
  {
    word: id("word", "Such as 4711."),
    since: text("since", "How far back payloads are read; default 1d.").pipe(Options.withDefault("1d")),
    json: flag("json", "One document: events, deliveries, endpoints, examined, truncated.")
  },
  async (given) => (await import("../remote/FindCommand.ts")).find(given)
)

const attemptsCommand = asking(
  "attempts",
  "Shows the attempts of a delivery.",
  { deliveryId, json },
  async (given) => (await look()).attempts(given.deliveryId, given.json)
)

const traceCommand = asking(
  "trace",
  "Tells all that became of an event, by a trace id, webhook-id or event id.",
  { id: id("id", "x-trace-id, webhook-id or event id."), json },
  async (given) => (await look()).trace(given.id, given.json)
)

const whyCommand = asking(
  "why",
  "Says which endpoints got an event, and why the others did not.",
  {
    eventId: id("event", "Id of the event."),
    endpointId: Args.optional(id("endpoint", "Id of an endpoint: only this one.")),
    ...paging
  },
  async (given) => (await import("../remote/Why.ts")).why(given)
)

const replayCommand = asking(
  "replay",
  "Sends a delivery that failed again.",
  { deliveryId, json },
  async (given) => (await replaying()).replay(given.deliveryId, given.json)
)

const resendCommand = asking(
  "resend",
  "Sends a delivery that has ended again, a delivered one too.",
  { deliveryId, json },
  async (given) => (await replaying()).resend(given.deliveryId, given.json)
)

const recoverCommand = asking(
  "recover",
  "Sends again all that an endpoint did not receive: counts, asks, starts the job, shows its progress.",
  {
    endpointId,
    since: text("since", "2h, 30m, 1d, or a time."),
    until: maybe("until", "The same; default now."),
    includeMissed: flag("include-missed", "Also events that it missed while it was disabled."),
    includeUnsent: flag("include-unsent", "Also events from before it was made or changed."),
    includeRecovered: flag("include-recovered", "Also deliveries that a later replay recovered."),
    includeTests: flag("include-tests", "Also failed test events."),
    dryRun: flag("dry-run", "Only counts."),
    yes: flag("yes", "Does not ask."),
    json
  },
  async (given) => (await replaying()).recover(given),
  where,
  async (given) => (await replaying()).mayAsk(given)
)

const diagnoseCommand = asking(
  "diagnose",
  "Says what is wrong with an endpoint, and what to do.",
  { endpointId, json },
  async (given) => (await endpoints()).diagnose(given.endpointId, given.json)
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
  async (given) =>
    (await import("../remote/Listen.ts")).listen(given.target, Option.getOrUndefined(given.endpoint))
)

const policy = maybe(
  "policy",
  'Delivery policy as JSON, such as {"retries":{"kind":"patient"}}; null for none.'
)

/** Of an endpoint, besides URL and subscriptions. */
const configured = {
  description: maybe("description", "For people."),
  policy,
  request: maybe("request", "File with what its requests look like, as JSON; - for standard input."),
  filter: maybe("filter", "Which payloads it wants: a filter as JSON, or a file with one; null for all."),
  externalId: maybe("external-id", "Your own name for it; empty for none."),
  metadata: maybe("metadata", "Your notes on it: a JSON object of texts, which replaces those before.")
}

const settingsCommand = asking(
  "settings",
  "Shows what holds for all endpoints that say nothing else; changes it first, if given.",
  { policy, json },
  async (given) => (await import("../remote/Configured.ts")).settings(given.policy, given.json)
)

const endpointsCommand = Command.make("endpoints").pipe(
  Command.withDescription("Lists, makes and changes endpoints."),
  Command.withSubcommands([
    asking(
      "list",
      "Lists the endpoints.",
      {
        search: maybe("search", "Only with this text in URL, description or external id."),
        state: maybe("state", "enabled, disabled or failing."),
        order: maybe("order", "id, or recent: newest first."),
        ...paging
      },
      async (given) => (await endpoints()).list(given)
    ),
    asking(
      "show",
      "Shows an endpoint, with the delivery policy that holds.",
      { endpointId, json },
      async (given) => (await endpoints()).show(given.endpointId, given.json)
    ),
    asking(
      "create",
      "Registers an endpoint; prints its id.",
      {
        address: Args.text({ name: "url" }).pipe(Args.withDescription("Public https URL.")),
        eventTypes: text("event-types", "Separated by commas; prefix.* and * too."),
        ...configured,
        signingSecretFile: maybe(
          "signing-secret-file",
          "File with the secret that its receiver knows already; without it, Posthorn makes one."
        ),
        signingSecretEncoding: Options.optional(
          Options.choice("signing-secret-encoding", ["text"] as const).pipe(
            Options.withDescription("The key is the whole text, also after whsec_.")
          )
        ),
        revealSecret: flag("reveal-secret", "Prints the signing secret on a second line, this once."),
        json
      },
      async (given) => (await endpoints()).create(given)
    ),
    asking(
      "update",
      "Changes an endpoint; POSTHORN_URL says which Posthorn.",
      {
        endpointId,
        newUrl: maybe("url", "Its new URL."),
        eventTypes: maybe("event-types", "Separated by commas; prefix.* and * too."),
        ...configured,
        json
      },
      async (given) => (await endpoints()).update(given),
      { token: where.token, workspace: where.workspace }
    ),
    asking("test", "Sends a test event, and waits for its outcome.", { endpointId, json }, async (given) =>
      (await endpoints()).test(given.endpointId, given.json)
    ),
    asking(
      "delete",
      "Deletes an endpoint with its deliveries.",
      { endpointId, yes: flag("yes", "Does not ask.") },
      async (given) => (await endpoints()).remove(given.endpointId, given.yes)
    ),
    asking("enable", "Lets deliveries go on.", { endpointId, json }, async (given) =>
      (await endpoints()).setEnabled(given.endpointId, true, given.json)
    ),
    asking("disable", "Stops deliveries and keeps their history.", { endpointId, json }, async (given) =>
      (await endpoints()).setEnabled(given.endpointId, false, given.json)
    ),
    asking(
      "rotate",
      "Makes a new signing secret and prints it, this once.",
      { endpointId, json },
      async (given) => (await endpoints()).rotate(given.endpointId, given.json)
    )
  ])
)

const verifyCommand = Command.make(
  "verify",
  {
    secret: Options.optional(
      Options.redacted("secret").pipe(Options.withDescription("whsec_…; without it, Posthorn is asked."))
    ),
    endpoint: maybe("endpoint", "Whose request it is; default: found by webhook-id."),
    ...where
  },
  (given) =>
    loaded(async () => {
      const { verify, verifyRemotely } = await import("../remote/Verify.ts")
      if (Option.isSome(given.secret)) return verify(given.secret.value)
      const { layer } = await import("../remote/Posthorn.ts")
      return Effect.provide(verifyRemotely(given.endpoint), layer(given))
    })
).pipe(
  Command.withDescription(
    "Says whether a request is genuine: headers, an empty line and the body on standard input."
  )
)

const workspaceCommand = Command.make("workspace").pipe(
  Command.withDescription("Makes or finds a workspace, for set-up scripts."),
  Command.withSubcommands([
    Command.make(
      "ensure",
      {
        slug: id("slug", "Slug of the workspace."),
        name: maybe("name", "Its name, if it is made; default: the slug."),
        tokenName: maybe("token", "Also a token of this name; its text is shown when it is made."),
        scopes: maybe(
          "scopes",
          "What that token may do, separated by commas; default: admin, if it is made."
        ),
        url: where.url
      },
      (given) =>
        loaded(async () => {
          const { ensure, operatorsToken } = await import("../remote/WorkspaceCommands.ts")
          const { layer } = await import("../remote/Posthorn.ts")
          return Effect.flatMap(operatorsToken, (token) =>
            Effect.provide(
              ensure(given),
              layer({ url: given.url, token, workspace: Option.some(given.slug) })
            )
          )
        })
    ).pipe(
      Command.withDescription(
        "Prints one JSON object; may be repeated. Asks with OPERATOR_TOKEN, or POSTHORN_TOKEN."
      )
    )
  ])
)

/** For commands of the operator, in no workspace. */
const operating = <const Name extends string, const Config extends Command.Command.Config>(
  name: Name,
  description: string,
  config: Config,
  run: (
    given: Command.Command.ParseConfig<Config>
  ) => Promise<Effect.Effect<unknown, CommandFailed, Posthorn>>
) =>
  Command.make(name, { ...config, url: where.url }, (parsed) =>
    loaded(async () => {
      const given = parsed as unknown as Command.Command.ParseConfig<Config> & Pick<Where, "url">
      const { operatorsToken } = await import("../remote/WorkspaceCommands.ts")
      const { layer } = await import("../remote/Posthorn.ts")
      const effect = await run(given)
      return Effect.flatMap(operatorsToken, (token) =>
        // In no workspace, so none has to be named.
        Effect.provide(effect, layer({ url: given.url, token, workspace: Option.some("-") }))
      )
    })
  ).pipe(Command.withDescription(description))

const workspacesCommand = operating(
  "workspaces",
  "Lists workspaces. Asks with OPERATOR_TOKEN, or POSTHORN_TOKEN.",
  paging,
  async (given) => (await lists()).workspaces(given)
)

const eventTypes = () => import("../remote/EventTypeCommands.ts")
const eventType = id("type", "Such as invoice.paid.")

const eventTypesCommand = Command.make("event-types").pipe(
  Command.withDescription(
    "Describes event types for all workspaces. Asks with OPERATOR_TOKEN, or POSTHORN_TOKEN."
  ),
  Command.withSubcommands([
    operating("list", "Lists the described ones, with payloads that did not fit.", paging, async (given) =>
      (await eventTypes()).list(given)
    ),
    operating("show", "Shows one.", { eventType, json }, async (given) =>
      (await eventTypes()).show(given.eventType, given.json)
    ),
    operating(
      "put",
      "Describes one: what the file leaves out is reset.",
      { eventType, file: id("file", "JSON, sent as it is; - for standard input."), json },
      async (given) => (await eventTypes()).put(given.eventType, given.file, given.json)
    ),
    operating(
      "delete",
      "Removes what is said of one.",
      { eventType, yes: flag("yes", "Does not ask.") },
      async (given) => (await eventTypes()).remove(given.eventType, given.yes)
    ),
    operating(
      "draft",
      "Prints a schema that the newest events fit.",
      {
        eventType,
        events: Options.integer("events").pipe(
          Options.withDefault(200),
          Options.withDescription("From how many, up to 1,000; default 200.")
        ),
        json
      },
      async (given) => (await eventTypes()).draft(given.eventType, given.events, given.json)
    ),
    operating(
      "check",
      "Tries a schema on the newest events, and says what it changes.",
      { eventType, file: id("file", "The schema; - for standard input."), json },
      async (given) => (await eventTypes()).check(given.eventType, given.file, given.json)
    ),
    operating(
      "import",
      "Describes the webhooks of an OpenAPI document.",
      {
        file: id("file", "JSON or YAML; - for standard input."),
        dryRun: flag("dry-run", "Only says what would be done.")
      },
      async (given) => (await eventTypes()).importFile(given.file, given.dryRun)
    )
  ])
)

const typesCommand = asking(
  "types",
  "Prints code with the types of all described events.",
  {
    language: Options.choice("language", ["typescript", "python", "go"] as const).pipe(
      Options.withDescription("typescript, python (3.11) or go.")
    )
  },
  async (given) => (await import("../remote/Types.ts")).types(given.language)
)

const declare = () => import("../declared/Declare.ts")
const declared = {
  file: id("file", "YAML or JSON with endpoints, settings, eventTypes; - for standard input."),
  prune: flag("prune", "Also deletes what the file does not name."),
  secrets: flag("secrets", "Also sends the secrets of requests again.")
}

const planCommand = asking(
  "plan",
  "Says what would change for a workspace to be as a file declares it: exit code 0 (nothing), 2 or 1.",
  { ...declared, json: flag("json", "The changes as a JSON list.") },
  async (given) => (await declare()).plan(given)
)

const applyCommand = asking(
  "apply",
  "Makes a workspace as a file declares it: shows the plan, asks, changes.",
  { ...declared, yes: flag("yes", "Does not ask.") },
  async (given) => (await declare()).apply(given)
)

const exportCommand = asking(
  "export",
  "Prints such a file of what is there.",
  {
    eventTypes: flag("event-types", "Also the installation's; needs the operator's token."),
    json: flag("json", "As JSON.")
  },
  async (given) => (await declare()).exported(given)
)

/** Most edits of a mistyped command, and at most half of its letters. */
const MOST_EDITS = 2
const SHELLS = ["bash", "zsh", "fish"]

const commands = [
  consoleLinkCommand,
  ...roleCommands,
  doctorCommand,
  sendCommand,
  deliveriesCommand,
  eventsCommand,
  findCommand,
  attemptsCommand,
  traceCommand,
  whyCommand,
  replayCommand,
  resendCommand,
  recoverCommand,
  endpointsCommand,
  settingsCommand,
  auditCommand,
  tokensCommand,
  membersCommand,
  notificationsCommand,
  workspacesCommand,
  workspaceCommand,
  eventTypesCommand,
  typesCommand,
  planCommand,
  applyCommand,
  exportCommand,
  diagnoseCommand,
  listenCommand,
  verifyCommand
] as const

const NAMES = commands.flatMap((command) => [...Command.getNames(command as never)])

/** Options of the command and its subcommands. The library would treat an unknown option as an argument. */
const optionsOf = (name: string): ReadonlyArray<string> => {
  const command = commands.find((one) => HashSet.has(Command.getNames(one as never), name))!
  const help = HelpDoc.toAnsiText(Command.getHelp(command as never, CliConfig.defaultConfig))
  return ["--help", ...(help.replace(ANSI, "").match(/--[a-z][a-z-]*/g) ?? [])]
}

/** The first sentence of its description. */
const aboutOf = (command: (typeof commands)[number]) => {
  const page = HelpDoc.toAnsiText(Command.getHelp(command as never, CliConfig.defaultConfig))
  const [, about = ""] = tidy(page.replace(ANSI, "")).split("\n\n")
  return about.replaceAll("\n", " ").split(/(?<=\.) /)[0]!
}

/** The subcommands of the commands that have some. A command without any counts as one of its own. */
const WITHIN: Readonly<Record<string, ReadonlyArray<string>>> = Object.fromEntries(
  commands.flatMap((command) =>
    [...Command.getNames(command as never)].flatMap((name) => {
      const within = [...HashMap.keys(Command.getSubcommands(command as never))].sort()
      return within.includes(name) ? [] : [[name, within] as const]
    })
  )
)

const lineOf = (command: (typeof commands)[number]): ReadonlyArray<string> =>
  [...Command.getNames(command as never)].map((name) => {
    const about = aboutOf(command)
    return `  ${name.padEnd(15)}${name in WITHIN ? about.replace(/\.$/, `: ${WITHIN[name]!.join(", ")}.`) : about}`
  })

const runs = (command: (typeof commands)[number]) =>
  command === doctorCommand || roleCommands.includes(command as never)

/** Commands that share a line of `posthorn help`, which fits a page. */
const TOGETHER: ReadonlyArray<readonly [ReadonlyArray<unknown>, string]> = [
  [[tokensCommand, membersCommand, notificationsCommand, workspacesCommand], "List these."],
  [
    [planCommand, applyCommand, exportCommand],
    "A workspace as a file: says what would change, changes it, writes it."
  ]
]

const helped = (command: (typeof commands)[number]): ReadonlyArray<string> => {
  const group = TOGETHER.find(([together]) => together.includes(command))
  if (group === undefined) return lineOf(command)
  const [together, about] = group
  const names = together.flatMap((one) => [...Command.getNames(one as never)])
  return command === together[0] ? [`  ${names.join(", ").padEnd(14)} ${about}`] : []
}

/** What `posthorn help` prints, made from the commands. */
export const help =
  () => `posthorn ${VERSION}: delivers a platform's webhooks: signed, retried, evidenced, replayable.
Usage: posthorn <command>

Run it; everything is configured through the environment, see docs/settings.md:
${commands.filter(runs).flatMap(lineOf).join("\n")}

Use it; POSTHORN_URL says which one, POSTHORN_TOKEN who is asking, see docs/cli.md:
${commands
  .filter((command) => !runs(command))
  .flatMap(helped)
  .join("\n")}

--json prints the REST answer alone. posthorn COMMAND --help says more. --completions bash, zsh or fish prints a script.`

const tree = Command.make("posthorn").pipe(Command.withSubcommands(commands))

const ANSI = /\u001b\[[0-9;]*m/g
const USAGE = /^USAGE$/m

/** The library's output, coloured only on a terminal; its errors go to standard error. */
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

const listOf = (words: ReadonlyArray<string>) =>
  words.length === 1 ? words[0]! : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** Errors that the library would answer with a list of all commands. */
const notKnown = (words: ReadonlyArray<string>): string | undefined => {
  const [name = "", word, ...more] = words
  if (name === "--completions")
    return SHELLS.includes(word ?? "") ? undefined : `posthorn --completions takes ${listOf(SHELLS)}`
  if (!NAMES.includes(name)) {
    const near = nearest(name, NAMES, (other) => Math.min(MOST_EDITS, other.length / 2))
    return `posthorn knows no command ${name}: ${near === undefined ? "see posthorn help" : `did you mean ${near.other}?`}`
  }
  if (isRole(name) && word !== undefined && (!/^(--help|-h)$/.test(word) || more.length > 0))
    return `posthorn ${name} takes no arguments: it is set by variables, such as PORT=9000; see posthorn help`
  const within = WITHIN[name]
  if (within !== undefined && word !== undefined && !word.startsWith("-") && !within.includes(word))
    return `posthorn ${name} knows no command ${word}: use ${listOf(within)}`
  const known = optionsOf(name)
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const option = words
    .slice(1, end)
    .find((one) => /^--[a-z]/.test(one) && !known.includes(one.split("=")[0]!))
  return option && `posthorn ${name} knows no option ${option}: see posthorn ${name} --help`
}

const parsed = (words: ReadonlyArray<string>) =>
  Command.run(tree, { name: "posthorn", version: VERSION })(["node", "posthorn", ...words])

/** Runs the command of these words; reports wrong arguments and refusals, and sets the exit code. */
export const run = (given: ReadonlyArray<string>) => {
  const words = ordered(given)
  const refused = notKnown(words)
  // 2 of `plan` says that there is a difference.
  const misuse = words[0] === "plan" || words[0] === "apply" ? 1 : 2
  return (refused === undefined ? parsed(words) : misused(refused)).pipe(
    Effect.catchIf(
      (error) => error instanceof CommandFailed || ValidationError.isValidationError(error),
      (error) =>
        // The library has already reported its own errors.
        Effect.zipRight(
          error instanceof CommandFailed ? complain(error.line) : Effect.void,
          Effect.sync(
            () => (process.exitCode = error instanceof CommandFailed ? Math.min(error.code, misuse) : misuse)
          )
        )
    ),
    Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer({ showBuiltIns: false }))),
    (effect) =>
      Effect.flatMap(Effect.console, (original) =>
        Effect.withConsole(effect, consoleOf(original, (words[0] ?? "") in WITHIN ? words[0]! : ""))
      )
  )
}
