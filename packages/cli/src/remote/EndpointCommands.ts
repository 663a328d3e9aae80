/** `posthorn endpoints …` and `posthorn diagnose`. */
import { Effect, Option } from "effect"
import { heading, print, table, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

const enabledOf = (enabled: boolean, reason: string | null) => (enabled ? "enabled" : `disabled (${reason})`)

export const list = (json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.listWebhookEndpoints({ path: { slug }, urlParams: { limit: 200 }, withResponse: true })
    )
    yield* print(json, text, () =>
      value.items.length === 0
        ? "There is no endpoint yet: posthorn endpoints create https://example.com/webhooks --event-types '*'"
        : table(
            ["ID", "STATE", "FAILURES", "EVENT TYPES", "URL"],
            value.items.map((one) => [
              one.id,
              enabledOf(one.enabled, one.disabledReason),
              one.consecutiveFailures,
              one.eventTypes.join(","),
              one.url
            ])
          )
    )
    if (value.nextCursor !== null && !json) yield* talk("There are more: only the first 200 are shown.")
  })

export const create = (
  url: string,
  eventTypes: ReadonlyArray<string>,
  description: Option.Option<string>,
  json: boolean
) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ endpoints }) =>
      endpoints.createWebhookEndpoint({
        path: { slug },
        headers: {},
        payload: {
          url,
          eventTypes,
          ...Option.match(description, { onNone: () => ({}), onSome: (description) => ({ description }) })
        },
        withResponse: true
      })
    )
    yield* print(json, text, () => value.id)
    if (!json) yield* talk(`Its secret was made unseen: posthorn endpoints rotate ${value.id} shows one.`)
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
        `It missed ${value.missedEvents.count} events while it was disabled: posthorn recover ${endpointId} --since ${value.missedEvents.since} --include-missed`
      )
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

/** The command line for a step; undefined if there is none. */
const commandOf = ({ arguments: given, fillIn, operation }: Step, endpointId: string): string | undefined => {
  const { deliveryId, dryRun, includeMissed, since } = (given ?? {}) as Readonly<Record<string, unknown>>
  switch (operation) {
    case "listWebhookDeliveryAttempts":
      return `posthorn attempts ${deliveryId}`
    case "getWebhookEndpoint":
      return "posthorn endpoints list"
    case "updateWebhookEndpoint":
      return fillIn.includes("enabled") ? `posthorn endpoints enable ${endpointId}` : undefined
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

/** What to do, with the command that does it, otherwise the operation, if there is one. */
const linesOf = (step: Step, endpointId: string): ReadonlyArray<string> => {
  const command = commandOf(step, endpointId)
  if (command !== undefined) return [`  → ${step.why}`, `      ${command}`]
  return [`  → ${step.why}${step.operation === null ? "" : ` (${step.operation}, or in the console)`}`]
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
