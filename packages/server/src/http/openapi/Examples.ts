/**
 * An example for each shape of the document, made from its schema: its own examples first, then what members of this
 * name usually look like here. A test decodes every one of them with the contract.
 */
import { type Json, nameOfRef } from "./Schemas.ts"

/** An example of an id with this prefix. */
export const exampleId = (prefix: string) => `${prefix}${TAIL}`

export const EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwC2FVsBQIhro="

const TAIL = "64401b2c93f5e0b7d1c4a98e62f03"
const TIME = "2026-11-21T13:00:00.000Z"
const HEX = "0123456789abcdef"

export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"

const idPrefixes: Readonly<Record<string, string>> = {
  Workspace: "wsp_",
  WebhookEndpoint: "whe_",
  WebhookEndpointDetail: "whe_",
  Delivery: "whd_",
  Attempt: "wha_",
  PublishedEvent: "evt_",
  ApiToken: "tok_",
  CreatedApiToken: "tok_",
  AuditEvent: "aud_",
  Notification: "ntf_",
  Member: "mem_",
  Replay: "rpl_",
  workspace: "wsp_",
  actor: "tok_",
  target: "whe_"
}

/** What a member of this name looks like, wherever it is. */
const byName: Readonly<Record<string, unknown>> = {
  slug: "acme",
  name: "Acme Inc.",
  email: "ada@example.com",
  url: "https://example.com/webhooks",
  description: "Billing",
  endpointId: `whe_${TAIL}`,
  deliveryId: `whd_${TAIL}`,
  deliveryIds: [`whd_${TAIL}`],
  eventId: `evt_${TAIL}`,
  auditEventId: `aud_${TAIL}`,
  eventType: "invoice.paid",
  eventTypes: ["invoice.*"],
  status: "delivered",
  statuses: ["dead_lettered"],
  attempts: 1,
  ordinal: 1,
  payload: { invoice: 7, amount: "12.99", currency: "EUR" },
  replayedFrom: null,
  nextAttemptAt: null,
  lastHttpStatus: 200,
  httpStatus: 200,
  lastFailureReason: null,
  failureReason: null,
  disabledReason: null,
  enabled: true,
  requestHeaders: { "content-type": "application/json", "webhook-id": `whd_${TAIL}` },
  responseHeaders: { "content-type": "text/plain", server: "nginx" },
  responseBody: "ok",
  traceId: TRACE_ID,
  nextCursor: null,
  signingSecret: EXAMPLE_SECRET,
  token: `phk_${TAIL}_${HEX.repeat(4)}_00000000`,
  idempotencyKey: "invoice-7-paid",
  duplicate: false,
  scopes: ["read", "event:publish"],
  role: "developer",
  readAt: null,
  revokedAt: null,
  expiresAt: "2027-11-21T13:00:00.000Z",
  previousSecretExpiresAt: "2026-11-22T13:00:00.000Z",
  message: "Endpoint https://example.com/webhooks stopped receiving: a delivery has spent its retries.",
  action: "webhook.endpoint_updated",
  fields: ["url"],
  via: "rest",
  successRate: 0.998,
  windowHours: 24,
  changes: { fields: ["url"] },
  finishedAt: null
}

const byNameIn: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ApiToken: { name: "Billing service" },
  CreatedApiToken: { name: "Billing service" },
  CreateApiToken: { name: "Billing service" },
  Member: { name: "Ada Lovelace" },
  AddMember: { name: "Ada Lovelace" },
  UpdateMember: { name: "Ada Lovelace", email: undefined, role: "admin" },
  UpdateWebhookEndpoint: {
    url: undefined,
    description: undefined,
    eventTypes: ["invoice.*", "customer.created"]
  },
  Notification: { kind: "delivery_dead_lettered" },
  CreateWebhookEndpoint: { enabled: undefined },
  actor: { type: "api_token" },
  target: { type: "webhook_endpoint" }
}

const scalar = (schema: Json): unknown => {
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (schema.format === "date-time") return TIME
  if (schema.type === "integer" || schema.type === "number") return schema.default ?? schema.minimum ?? 0
  return schema.type === "boolean" ? false : "text"
}

/** `inside` is the component, or the member, that the schema stands in. */
export const exampleOf = (schema: unknown, components: Record<string, Json>, inside = ""): unknown => {
  const name = nameOfRef(schema)
  if (name !== undefined) return exampleOf(components[name], components, name)
  const node = schema as Json
  if (node.type === "object") return objectExample(node, components, inside)
  if (Array.isArray(node.examples)) return node.examples[0]
  const [first] = (node.anyOf ?? node.oneOf ?? []) as ReadonlyArray<unknown>
  if (first !== undefined) return exampleOf(first, components, inside)
  if (node.type === "array") return [exampleOf(node.items, components, inside)]
  return scalar(node)
}

const objectExample = (node: Json, components: Record<string, Json>, inside: string) => {
  const members: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries((node.properties ?? {}) as Json)) {
    const special = byNameIn[inside]
    if (special !== undefined && name in special) {
      if (special[name] !== undefined) members[name] = special[name]
    } else if (name === "id" && inside in idPrefixes) members.id = `${idPrefixes[inside]}${TAIL}`
    else if (name in byName && fits(byName[name], schema)) members[name] = byName[name]
    else members[name] = exampleOf(schema, components, name)
  }
  return members
}

/** A name may stand for something else elsewhere: `status` is a number in a refusal. */
const fits = (value: unknown, schema: unknown) => {
  const { type } = schema as Json
  const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value
  return type === undefined || type === kind || (type === "integer" && kind === "number")
}
