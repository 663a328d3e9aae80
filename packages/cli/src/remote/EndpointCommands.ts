/** `posthorn endpoints …` and `posthorn diagnose`. */
import { Effect, Option } from "effect"
import { misused, refuse } from "../command/CommandFailed.ts"
import { counted } from "../command/Counted.ts"
import { type Configured, configured, type TakenOver, takenOver } from "./Configured.ts"
import { given, type Paging, showList } from "./Lists.ts"
import { agreed, heading, isTerminal, members, print, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

/** How long `test` waits for the outcome. */
const TEST_SECONDS = 10

const enabledOf = (enabled: boolean, reason: string | null) => (enabled ? "enabled" : `disabled (${reason})`)

interface Listed extends Paging {
  readonly search: Option.Option<string>
  readonly state: Option.Option<string>
  readonly order: Option.Option<string>
}

export const list = (options: Listed) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { order, search, state } = options
    const filter = given({ order, search, state })
    const isNarrowed = Object.keys(filter).some((name) => name !== "order")
    yield* showList(
      options,
      (page) =>
        ask(({ endpoints }) =>
          endpoints.listWebhookEndpoints({
            path: { slug },
            urlParams: { ...page, ...filter } as typeof page,
            withResponse: true
          })
        ),
      {
        heads: ["ID", "STATE", "FAILURES", "EVENT TYPES", "URL"],
        cells: (one) => [
          one.id,
          enabledOf(one.enabled, one.disabledReason),
          one.consecutiveFailures,
          one.eventTypes.join(","),
          one.url
        ],
        empty: isNarrowed
          ? "No endpoint matches."
          : "There is no endpoint yet: posthorn endpoints create https://example.com/webhooks --event-types '*'"
      }
    )
  })

const typesOf = (text: string) => text.split(",").map((type) => type.trim())

export interface Create extends Configured, TakenOver {
  readonly address: string
  readonly eventTypes: string
  readonly description: Option.Option<string>
  readonly revealSecret: boolean
  readonly json: boolean
}

export const create = (options: Create) =>
  Effect.gen(function* () {
    const { address, description, eventTypes, json, revealSecret } = options
    const { ask, slug } = yield* Posthorn
    const more = { ...(yield* configured(options)), ...(yield* takenOver(options)) }
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.createWebhookEndpoint({
        path: { slug },
        headers: {},
        payload: {
          url: address,
          eventTypes: typesOf(eventTypes),
          ...given({ description }),
          ...more,
          revealSecret
        },
        withResponse: true
      })
    )
    yield* print(json, text, () => [value.id, value.signingSecret ?? []].flat().join("\n"))
    if (json || Option.isSome(options.signingSecretFile)) return
    yield* talk(
      revealSecret
        ? "The secret is shown this once."
        : `Its secret was made unseen (--reveal-secret shows it): posthorn endpoints rotate ${value.id} makes another.`
    )
  })

/** With the delivery policy that holds. */
export const show = (endpointId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.getWebhookEndpoint({ path: { slug, endpointId }, withResponse: true })
    )
    yield* print(json, text, () => members(value))
  })

export const setEnabled = (endpointId: string, enabled: boolean, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.updateWebhookEndpoint({
        path: { slug, endpointId },
        headers: {},
        payload: { enabled },
        withResponse: true
      })
    )
    yield* print(json, text, () => `${value.id}  ${enabledOf(value.enabled, value.disabledReason)}`)
    if (enabled && value.missedEvents.count > 0 && !json)
      yield* talk(
        `It missed ${counted(value.missedEvents.count, "event")} while it was disabled: posthorn recover ${endpointId} --since ${value.missedEvents.since} --include-missed`
      )
  })

export interface Update extends Configured {
  readonly endpointId: string
  readonly newUrl: Option.Option<string>
  readonly eventTypes: Option.Option<string>
  readonly description: Option.Option<string>
  readonly json: boolean
}

export const update = (options: Update) =>
  Effect.gen(function* () {
    const { description, endpointId, eventTypes, json, newUrl } = options
    const { ask, slug } = yield* Posthorn
    const payload = {
      ...given({ url: newUrl, description }),
      ...(yield* configured(options)),
      ...Option.match(eventTypes, { onNone: () => ({}), onSome: (text) => ({ eventTypes: typesOf(text) }) })
    }
    if (Object.keys(payload).length === 0)
      return yield* misused(
        "Say what to change: --url, --event-types, --description, --policy, --request, --external-id or --metadata"
      )
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.updateWebhookEndpoint({
        path: { slug, endpointId },
        headers: {},
        payload,
        withResponse: true
      })
    )
    yield* print(json, text, () => `${value.id}  ${value.eventTypes.join(",")}  ${value.url}`)
  })

/** Waits for the first attempt, and ends with 1 unless it was delivered. */
export const test = (endpointId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.sendTestEvent({
        path: { slug, endpointId },
        headers: {},
        payload: { waitSeconds: TEST_SECONDS },
        withResponse: true
      })
    )
    yield* print(json, text, () => `${value.id}  ${value.status}`)
    if (value.status === "pending")
      return yield* refuse(`No outcome within ${TEST_SECONDS} s: posthorn attempts ${value.id} shows it.`)
    if (value.status !== "delivered")
      return yield* refuse(`It was not accepted: posthorn attempts ${value.id} shows why.`)
  })

export const remove = (endpointId: string, yes: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    if (!yes) {
      if (!isTerminal())
        return yield* refuse(
          "It deletes the endpoint with its deliveries: say --yes, or call it in a terminal."
        )
      if (!(yield* agreed(`Delete ${endpointId} with its deliveries?`)))
        return yield* refuse("Nothing was deleted.")
    }
    yield* ask(({ endpoints }) =>
      endpoints.deleteWebhookEndpoint({ path: { slug, endpointId }, headers: {}, withResponse: true })
    )
    yield* talk(`${endpointId} is deleted, with its deliveries.`)
  })

export const rotate = (endpointId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.rotateWebhookSecret({ path: { slug, endpointId }, headers: {}, withResponse: true })
    )
    yield* print(json, text, () => value.signingSecret)
    if (!json)
      yield* talk(`Shown this once. The one before signs too until ${value.previousSecretExpiresAt}.`)
  })

interface Step {
  readonly operation: string | null
  readonly arguments: unknown
  readonly fillIn: ReadonlyArray<string>
  readonly why: string
}

const UPDATED_BY: Readonly<Record<string, string>> = {
  url: " --url https://…",
  eventTypes: " --event-types …",
  policy: " --policy '{…}'",
  filter: " --filter '{…}'",
  request: " --request FILE"
}

/** The command line for a step; undefined if there is none. */
const commandOf = ({ arguments: given, fillIn, operation }: Step, endpointId: string): string | undefined => {
  const { deliveryId, dryRun, includeMissed, since } = (given ?? {}) as Readonly<Record<string, unknown>>
  switch (operation) {
    case "listWebhookDeliveryAttempts":
      return `posthorn attempts ${deliveryId}`
    case "getWebhookEndpoint":
      return `posthorn endpoints show ${endpointId}`
    case "updateWebhookEndpoint":
      return fillIn.includes("enabled")
        ? `posthorn endpoints enable ${endpointId}`
        : `posthorn endpoints update ${endpointId}${fillIn.map((name) => UPDATED_BY[name] ?? "").join("")}`
    case "sendTestEvent":
      return `posthorn endpoints test ${endpointId}`
    case "explainSignature":
      return `posthorn verify --endpoint ${endpointId} < request.txt`
    case "rotateWebhookSecret":
      return `posthorn endpoints rotate ${endpointId}`
    case "replayWebhookDelivery":
      return `posthorn replay ${deliveryId ?? "whd_…"}`
    case "startReplay":
      return [
        `posthorn recover ${endpointId} --since ${since ?? "…"}`,
        ...(includeMissed === true ? ["--include-missed"] : []),
        ...(dryRun === true ? ["--dry-run"] : [])
      ].join(" ")
    default:
      return undefined
  }
}

/** What to do, with the command that does it. */
const linesOf = (step: Step, endpointId: string): ReadonlyArray<string> => {
  const command = commandOf(step, endpointId)
  if (command !== undefined) return [`  → ${step.why}`, `      ${command}`]
  return [`  → ${step.why}${step.operation === null ? "" : " (in the console)"}`]
}

export const diagnose = (endpointId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.diagnoseWebhookEndpoint({ path: { slug, endpointId }, withResponse: true })
    )
    yield* print(json, text, () =>
      [
        `${endpointId} is ${value.health}.`,
        ...value.findings.flatMap((finding) => [
          "",
          heading(finding.summary),
          `  ${finding.because} (${finding.confidence} confidence)`,
          ...finding.nextSteps.flatMap((step) => linesOf(step, endpointId))
        ])
      ].join("\n")
    )
  })
