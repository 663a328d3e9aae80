/**
 * Next steps of a diagnosis: an operation with its arguments and why, or a person's work outside of Posthorn.
 *
 * A step with an empty `fillIn` is safe to run unchanged: it removes nothing, rotates nothing, and sends nothing again that may
 * already have had an effect. If a step is not safe, the argument that triggers it is left for the caller to fill in. A test
 * compares the names with the contract. Source: spec §4.6.
 */
import type { DeliveryId, EndpointId } from "../../Ids.ts"
import type { JsonText } from "../../JsonText.ts"

export interface NextStep {
  /** Null for a person's step, as are the tool and the arguments. */
  readonly operation: string | null
  /** Its MCP tool. */
  readonly tool: string | null
  readonly arguments: Readonly<Record<string, unknown>> | null
  /** Arguments that the caller must find out, ask for, or decide. */
  readonly fillIn: ReadonlyArray<string>
  readonly why: string
}

const step =
  (operation: string, tool: string) =>
  (args: Readonly<Record<string, unknown>>, why: string, ...fillIn: ReadonlyArray<string>): NextStep => ({
    operation,
    tool,
    arguments: args,
    fillIn,
    why
  })

/** Work that no tool can do: on the receiver, in DNS, by the operator. */
export const person = (why: string): NextStep => ({
  operation: null,
  tool: null,
  arguments: null,
  fillIn: [],
  why
})

const changeEndpoint = step("updateWebhookEndpoint", "update_webhook_endpoint")
const rotateSecret = step("rotateWebhookSecret", "rotate_webhook_secret")
const replayDelivery = step("replayWebhookDelivery", "replay_webhook_delivery")
const startReplay = step("startReplay", "start_webhook_replay")
const sendTest = step("sendTestEvent", "send_webhook_test_event")
const listAttempts = step("listWebhookDeliveryAttempts", "list_webhook_delivery_attempts")
const readEndpoint = step("getWebhookEndpoint", "get_webhook_endpoint")
const checkAuthentication = step("checkAuthentication", "check_webhook_authentication")
const explainSignature = step("explainSignature", "explain_signature")
const listTypes = step("listEventTypes", "list_event_types")
const tryFilter = step("tryFilter", "try_webhook_filter")

export const explain = (endpointId: EndpointId) =>
  explainSignature(
    { endpointId },
    "Take the headers and the raw body of a request that the receiver refused: this says what is wrong with its signature, or that it is right.",
    "headers",
    "body"
  )
export const fixUrl = (endpointId: EndpointId, why: string) => changeEndpoint({ endpointId }, why, "url")
export const fixEventTypes = (endpointId: EndpointId, why: string) =>
  changeEndpoint({ endpointId }, why, "eventTypes")
export const fixPolicy = (endpointId: EndpointId, why: string) =>
  changeEndpoint({ endpointId }, why, "policy")
export const fixFilter = (endpointId: EndpointId, why: string) =>
  changeEndpoint({ endpointId }, why, "filter")
export const seeFiltered = (filter: JsonText, eventTypes: ReadonlyArray<string>) =>
  tryFilter({ filter, eventTypes }, "See of each recent event which condition kept it away.")
export const fixRequest = (endpointId: EndpointId, why: string) =>
  changeEndpoint({ endpointId }, why, "request")
export const tryAuthentication = (endpointId: EndpointId) =>
  checkAuthentication({ endpointId }, "It says why: fetches a token, or looks at the certificate.")
/** It releases waiting deliveries, so the caller decides when. */
export const enable = (endpointId: EndpointId, why: string) => changeEndpoint({ endpointId }, why, "enabled")
/** A rotation may drop a secret that is in use, so the caller must name the endpoint. */
export const rotate = (why: string) => rotateSecret({}, why, "endpointId")
/** The receiver may already have processed it, so the caller must name the delivery. */
export const replay = (why: string) => replayDelivery({}, why, "deliveryId")
/** Counts what a replay from then on would send; sends nothing. */
export const countLost = (endpointId: EndpointId, since: string | null, includeMissed = false) =>
  startReplay(
    { endpointId, since, dryRun: true, ...(includeMissed ? { includeMissed } : {}) },
    "Count what a replay would send; this sends nothing."
  )
/** The same for everything, so the caller must say from when on. */
export const replayAll = (endpointId: EndpointId, why: string, includeMissed = false) =>
  startReplay({ endpointId, ...(includeMissed ? { includeMissed } : {}) }, why, "since")
export const test = (endpointId: EndpointId) =>
  sendTest({ endpointId }, "Send a test event, and watch its delivery: it shows at once whether it works.")
export const look = (deliveryId: DeliveryId) =>
  listAttempts({ deliveryId }, "Look at what was sent and what came back.")
export const compare = (endpointId: EndpointId, why: string) => readEndpoint({ endpointId }, why)
export const seeTypes = (why: string) => listTypes({}, why)

/** One of each step with an operation. */
export const everyStep: ReadonlyArray<NextStep> = [
  changeEndpoint,
  rotateSecret,
  replayDelivery,
  startReplay,
  sendTest,
  listAttempts,
  readEndpoint,
  checkAuthentication,
  explainSignature,
  listTypes,
  tryFilter
].map((make) => make({}, ""))
