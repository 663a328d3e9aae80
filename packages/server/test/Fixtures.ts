/** Endpoints, events, and attempts as a worker would record them, for tests of the operations. */
import { SqlClient } from "@effect/sql/SqlClient"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Redacted } from "effect"
import pg from "pg"
import type { Call, Entered, Loose } from "./TestServer.ts"

/** A well-formed id that does not exist. */
export const unknown = (prefix: string) => `${prefix}${"0".repeat(29)}`

export const makeEndpoint = (
  { call }: { readonly call: Call },
  body: Readonly<Record<string, unknown>> = {}
) =>
  Effect.map(
    call("POST", "/webhooks", {
      body: { url: "https://example.com/hooks", eventTypes: ["*"], ...body }
    }),
    (answer) => answer.body.id
  )

export interface Published {
  readonly id: string
  readonly eventType: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly duplicate: boolean
}

/** Publishes one event; gives the answer's body. */
export const publish = (
  { call }: { readonly call: Call },
  eventType = "invoice.paid",
  payload: unknown = {}
) => Effect.map(call<Published>("POST", "/events", { body: { eventType, payload } }), (answer) => answer.body)

/** An endpoint that subscribes to one event type, and a pending delivery to it. */
export const makeDelivery = (ws: Entered, eventType = `fixture.n${++fixtures}`) =>
  Effect.gen(function* () {
    const endpointId = yield* makeEndpoint(ws, { eventTypes: [eventType] })
    const { deliveryIds } = yield* publish(ws, eventType)
    return { endpointId, deliveryId: deliveryIds[0]! }
  })

let fixtures = 0

export interface Observed {
  readonly status?: "delivered" | "failed" | "failed_permanent"
  readonly httpStatus?: number | null
  readonly durationMs?: number
  readonly waitMs?: number | null
  readonly exhausted?: boolean
  readonly responseBody?: string
  /** A JSON object. */
  readonly responseHeaders?: string
  /** How far the worker's clock was off. */
  readonly offMs?: number
}

/** Records the next attempt of a delivery, as the worker does. */
export const observe = (ws: Entered, deliveryId: string, observed: Observed = {}) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { status = "delivered", httpStatus = status === "delivered" ? 200 : 500 } = observed
    const [delivery] = yield* sql<{ endpointId: string; attempts: number; generation: number }>`
      select d.endpoint_id as "endpointId", d.attempts, e.generation
      from posthorn.deliveries d
      join posthorn.endpoints e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
      where d.workspace_id = ${ws.workspaceId} and d.id = ${deliveryId}`
    const ordinal = delivery!.attempts + 1
    const failureReason =
      status === "delivered" ? null : httpStatus === null ? "connection_failed" : "http_status"
    const retryAfter = status === "failed" && observed.exhausted !== true ? (observed.waitMs ?? 30_000) : null
    yield* sql`select posthorn.record(array[${ws.workspaceId}], array[${deliveryId}], array[${delivery!.endpointId}],
      array[${delivery!.generation}::integer], array[${ordinal}::smallint],
      array[${`wha_${deliveryId.slice(4, -2)}${String(ordinal).padStart(2, "0")}`}], array[${status}],
      array[${Date.now() + (observed.offMs ?? 0)}::bigint], array[${observed.durationMs ?? 10}::integer], array[${httpStatus}::smallint],
      array[${failureReason}::text], array[null], array['v1,x'], array[null], array[${observed.responseBody ?? "ok"}], array[${retryAfter}::integer],
      array[${observed.exhausted ?? false}::boolean], array['https://example.com/hooks'],
      array[${observed.responseHeaders ?? '{"content-type":"text/plain"}'}], array[false], array[0::bigint], array[20], array[null::integer], array[false], array[0],
      '{"content-type":"application/json"}')`
  }).pipe(Effect.orDie)

/** Every item of a list, read page by page, and the number of pages. */
export const walk = (call: Call, path: string, limit: number) =>
  Effect.gen(function* () {
    const items: Array<Loose> = []
    let pages = 0
    let cursor: string | null = null
    do {
      const query = `limit=${limit}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
      const page: { readonly body: Loose } = yield* call(
        "GET",
        `${path}${path.includes("?") ? "&" : "?"}${query}`
      )
      items.push(...page.body.items)
      pages++
      cursor = page.body.nextCursor
    } while (cursor !== null)
    return { items, pages }
  })

/** A connection outside the pool, until the scope closes. */
export const connect = Effect.gen(function* () {
  const url = yield* TestDatabaseUrl
  const client = new pg.Client({ connectionString: Redacted.value(url) })
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect()),
    () => Effect.promise(() => client.end())
  )
  return client
})

/** Listens from now on; the inner effect waits for the first payload on the channel. */
export const nextNotification = (channel: string) =>
  Effect.gen(function* () {
    const client = yield* connect
    const heard = new Promise<string>((resolve) =>
      client.once("notification", ({ payload }) => resolve(payload ?? ""))
    )
    yield* Effect.promise(() => client.query(`listen ${channel}`))
    return Effect.promise(() => heard).pipe(Effect.timeout("30 seconds"))
  })
