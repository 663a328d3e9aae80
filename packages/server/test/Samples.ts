/**
 * One sensible request per operation of the contract, and a world in which it succeeds.
 *
 * For tests that walk the contract (parity, authorization): an operation without a sample fails them. Path parameters come
 * from the world by name; a sample gives query and body.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import { WHOLE_CONSOLE } from "@posthorn/domain/ConsoleView"
import { Effect } from "effect"
import { makeDelivery, observe, publish } from "./Fixtures.ts"
import type { Entered, Loose } from "./TestServer.ts"

/** Path parameters by name. Every world has each of them, of the same kind. */
export interface World {
  readonly [parameter: string]: string
  readonly slug: string
}

export interface Sample {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const SINCE = "2026-01-01T00:00:00.000Z"

export const samples: Readonly<Record<string, (world: World) => Sample>> = {
  createWorkspace: ({ slug }) => ({ body: { slug: `${slug}-more`, name: "More" } }),
  listWorkspaces: () => ({ query: { limit: "1" } }),
  updateWorkspace: () => ({ body: { name: "Renamed", limits: { waiting: 100_000 } } }),
  deleteWorkspace: () => ({}),
  listFleet: () => ({ query: { limit: "200" } }),
  getWorkspaceSettings: () => ({}),
  updateWorkspaceSettings: () => ({ body: { policy: { retries: { kind: "patient" } }, alerts: [] } }),
  getOverview: () => ({}),
  createWebhookEndpoint: () => ({
    body: { url: "https://example.com/new", eventTypes: ["invoice.*"], description: "New" }
  }),
  listWebhookEndpoints: () => ({ query: { limit: "5" } }),
  getWebhookEndpoint: () => ({}),
  updateWebhookEndpoint: () => ({ body: { url: "https://example.com/changed", description: null } }),
  deleteWebhookEndpoint: () => ({}),
  getEndpointStats: () => ({ query: { hours: "2" } }),
  diagnoseWebhookEndpoint: () => ({}),
  rotateWebhookSecret: () => ({}),
  checkAuthentication: () => ({}),
  explainSignature: ({ deliveryId }) => ({
    body: {
      headers: {
        "webhook-id": deliveryId!,
        "webhook-timestamp": "1795266000",
        "webhook-signature": "v1,AAAA"
      },
      body: "{}"
    }
  }),
  sendTestEvent: () => ({ body: { eventType: "invoice.paid", payload: { total: 12 }, waitSeconds: 0 } }),
  listWebhookDeliveries: () => ({
    query: { status: "failed_permanent", limit: "10", payload: "include" }
  }),
  listWorkspaceDeliveries: ({ endpointId }) => ({
    query: { endpointId: endpointId!, since: SINCE, payload: "include" }
  }),
  getWebhookDelivery: () => ({}),
  listWebhookDeliveryAttempts: () => ({ query: { limit: "3" } }),
  replayWebhookDelivery: () => ({}),
  resendWebhookDelivery: () => ({}),
  startReplay: () => ({ body: { since: SINCE, includeMissed: true } }),
  listReplays: () => ({ query: { limit: "5" } }),
  getReplay: () => ({}),
  cancelReplay: () => ({}),
  getTrace: () => ({}),
  publishEvent: () => ({
    body: { eventType: "invoice.paid", payload: { total: 12 }, idempotencyKey: "invoice-7" }
  }),
  publishEvents: () => ({
    body: {
      events: [
        { eventType: "invoice.paid", payload: 1 },
        { eventType: "invoice.sent", payload: null }
      ]
    }
  }),
  listEvents: () => ({ query: { eventType: "world.begun", payload: "include" } }),
  getEvent: () => ({}),
  tryFilter: () => ({ body: { filter: { total: { $gt: 10 } }, eventTypes: ["invoice.*"] } }),
  explainEventRouting: ({ endpointId }) => ({ query: { endpointId: endpointId! } }),
  listEventTypes: () => ({ query: { limit: "2" } }),
  purgeEvent: () => ({}),
  putEventType: () => ({
    body: {
      description: "An invoice was paid.",
      group: "Invoices",
      schema: { type: "object", properties: { total: { type: "integer" } }, required: ["total"] },
      examples: [{ total: 12 }],
      validation: "report"
    }
  }),
  getEventType: () => ({}),
  deleteEventType: () => ({}),
  listCatalogue: () => ({ query: { limit: "2" } }),
  draftEventTypeSchema: () => ({ query: { events: "10" } }),
  checkEventTypeSchema: () => ({ body: { schema: { type: "object" } } }),
  getWorkspaceEventType: () => ({}),
  getEventTypeDocument: () => ({}),
  listAlerts: () => ({ query: { limit: "5" } }),
  listNotifications: () => ({ query: { limit: "5" } }),
  markNotificationRead: () => ({}),
  listMembers: () => ({}),
  addMember: () => ({ body: { email: "new@example.com", name: "New", role: "viewer" } }),
  updateMember: () => ({ body: { role: "developer" } }),
  removeMember: () => ({}),
  createApiToken: () => ({ body: { name: "New", scopes: ["read"] } }),
  listApiTokens: () => ({ query: { limit: "1" } }),
  revokeApiToken: () => ({}),
  listAuditEvents: () => ({ query: { limit: "2" } }),
  listOperatorAuditEvents: () => ({ query: { limit: "2" } }),
  getCaller: () => ({}),
  createConsoleLink: () => ({ body: { role: "viewer" } }),
  listConsoleSessions: () => ({ query: { limit: "5" } }),
  endConsoleSession: () => ({})
}

/** The sample of an operation, or a failed test. */
export const sampleOf = (entry: ContractEntry, world: World): Sample => {
  const sample = samples[entry.name]
  if (sample === undefined) throw new Error(`${entry.name} has no sample request: add one to Samples.ts`)
  return sample(world)
}

/** The path of an operation in a world, with its query. */
export const pathOf = (entry: ContractEntry, world: World, query: Sample["query"] = {}) => {
  const path = entry.path.replace(/:(\w+)/g, (_, name: string) => {
    const value = world[name]
    if (value === undefined) throw new Error(`${entry.name} needs ${name}: add it to the world in Samples.ts`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams(query).toString()
  return search === "" ? path : `${path}?${search}`
}

const idOf = (answer: { readonly body: Loose }) => answer.body.id

/** A notification, as the dead-letter consumer writes it. */
const makeNotification = (ws: Entered, endpointId: string, deliveryId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ id: string }>`
      insert into posthorn.notifications (workspace_id, kind, message, endpoint_id, delivery_id)
      values (${ws.workspaceId}, 'delivery_dead_lettered', 'Given up.', ${endpointId}, ${deliveryId})
      returning id`
    return row!.id
  }).pipe(Effect.orDie)

/** An alert, as a worker makes it. */
const makeAlert = (ws: Entered, endpointId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`insert into posthorn.alerts (workspace_id, kind, cause, recipient, endpoint_id, happened_at)
      values (${ws.workspaceId}, 'email', 'endpoint.failing', 'oncall@example.com', ${endpointId}, now())`
  }).pipe(Effect.orDie)

/** A session whose secret nobody has. */
const makeSession = (ws: Entered) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ id: string }>`
      insert into posthorn.console_sessions
        (workspace_id, id, secret_hash, via, made_by_type, made_by_id, root_type, root_id, view, expires_at)
      values (${ws.workspaceId}, posthorn.new_id('ses_'), sha256(${ws.slug}::bytea), 'link', 'operator', 'operator',
        'operator', 'operator', ${JSON.stringify(WHOLE_CONSOLE)}::jsonb, now() + interval '1 day')
      on conflict (workspace_id, secret_hash) do update set ended_at = null
      returning id`
    return row!.id
  }).pipe(Effect.orDie)

/** A described event type, for every workspace of the installation. */
const describeType = (eventType: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql`insert into posthorn.event_types (event_type, description, version)
      values (${eventType}, 'Something happened.', 0)`
  ).pipe(Effect.orDie)

let described = 0

/** A workspace with one of everything. Its delivery failed for good, so it can be replayed. */
export const makeWorld = (ws: Entered) =>
  Effect.gen(function* () {
    const { deliveryId, endpointId } = yield* makeDelivery(ws)
    yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 404 })
    const { id: eventId } = yield* publish(ws, "world.begun")
    const notificationId = yield* makeNotification(ws, endpointId, deliveryId)
    yield* makeAlert(ws, endpointId)
    const memberId = idOf(
      yield* ws.call("POST", "/members", { body: { email: "a@example.com", name: "A", role: "viewer" } })
    )
    const tokenId = idOf(yield* ws.call("POST", "/api-tokens", { body: { name: "Old", scopes: ["read"] } }))
    const { traceId } = (yield* ws.call("GET", `/events/${eventId}`)).body
    const replayId = idOf(
      yield* ws.call("POST", `/webhooks/${endpointId}/replays`, { body: { since: SINCE } })
    )
    const sessionId = yield* makeSession(ws)
    const eventType = `fixture.n${++described}`
    yield* describeType(eventType)
    return {
      eventType,
      slug: ws.slug,
      sessionId,
      traceId: String(traceId),
      replayId,
      endpointId,
      deliveryId,
      eventId,
      notificationId,
      memberId,
      tokenId
    } satisfies World
  })
