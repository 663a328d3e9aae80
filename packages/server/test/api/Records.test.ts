/** What Posthorn reports to a workspace: notifications, the audit log, the overview, statistics. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { makeAt } from "@posthorn/testkit/OldHistory"
import { Effect } from "effect"
import { makeDelivery, makeEndpoint, observe, publish, walk } from "../Fixtures.ts"
import { type Entered, entered, type Loose, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

/** Spends the retries of a new delivery and has the dead-letter consumer mark it. */
const deadLetter = (ws: Entered) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const made = yield* makeDelivery(ws)
    yield* observe(ws, made.deliveryId, { status: "failed", exhausted: true })
    yield* sql`select posthorn.dead_letter(100)`
    return made
  })

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

layer(testServer(), { excludeTestServices: true })("notifications", (it) => {
  it.effect("§2.6 notifies the workspace of a dead letter, newest first, until somebody reads it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const first = yield* deadLetter(ws)
      const second = yield* deadLetter(ws)

      const { items } = yield* walk(ws.call, "/notifications", 1)
      const read = yield* ws.call("POST", `/notifications/${items[0]!.id}/read`)
      const again = yield* ws.call("POST", `/notifications/${items[0]!.id}/read`)

      expect(items.map(({ deliveryId }) => deliveryId)).toEqual([second.deliveryId, first.deliveryId])
      expect(items[0]).toEqual({
        id: expect.stringMatching(/^ntf_[0-9a-f]{29}$/),
        kind: "delivery_dead_lettered",
        message: expect.stringContaining(second.deliveryId),
        endpointId: second.endpointId,
        deliveryId: second.deliveryId,
        readAt: null,
        createdAt: time
      })
      expect(read).toMatchObject({ status: 200, body: { ...items[0], readAt: time } })
      expect(again.body).toEqual(read.body)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("the audit log", (it) => {
  it.effect(
    "§6 names actor, transport, target and changed fields of each change, and omits publishes and test sends",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer
        const ws = yield* entered
        const { deliveryId, endpointId } = yield* makeDelivery(ws)
        yield* ws.call("POST", `/webhooks/${endpointId}/rotate-secret`, {
          headers: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }
        })
        yield* ws.call("POST", `/webhooks/${endpointId}/test-event`)
        yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 404 })
        const replay = yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)

        const { items } = yield* walk(ws.call, "/audit-events", 2)

        expect(items.map(({ action }) => action)).toEqual([
          "webhook.delivery_replayed",
          "webhook.secret_rotated",
          "webhook.endpoint_created",
          "api_token.created",
          "workspace.created"
        ])
        expect(items[0]).toEqual({
          id: expect.stringMatching(/^aud_[0-9a-f]{29}$/),
          action: "webhook.delivery_replayed",
          actor: {
            type: "api_token",
            id: expect.stringMatching(/^tok_/),
            via: "rest",
            name: "admin",
            root: null
          },
          target: { type: "webhook_delivery", id: replay.body.id },
          changes: { fields: [], replayedFrom: deliveryId },
          traceId: replay.headers.get("x-trace-id"),
          createdAt: time
        })
        expect(items[1]).toMatchObject({ traceId: "0af7651916cd43dd8448eb211c80319c" })
        expect(items[4]).toMatchObject({
          actor: { type: "operator", id: "operator", via: "rest" },
          target: { type: "workspace", id: ws.workspaceId }
        })
        expect(JSON.stringify(items)).not.toContain("whsec_")
        const unknownWorkspace = yield* call("GET", "/workspaces/nobody/audit-events", {
          token: OPERATOR_TOKEN
        })
        expect(unknownWorkspace.status).toBe(404)
      })
  )
})

layer(testServer(), { excludeTestServices: true })("the overview", (it) => {
  it.effect("§4.5 counts endpoints, a day of deliveries, the queue and unread notifications", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["invoice.paid"] })
      yield* makeEndpoint(ws, { enabled: false })
      const made: Array<string> = []
      for (let n = 0; n < 7; n++) made.push((yield* publish(ws)).deliveryIds[0]!)
      yield* observe(ws, made[0]!)
      yield* observe(ws, made[1]!)
      yield* observe(ws, made[2]!, { status: "failed" })
      yield* observe(ws, made[3]!, { status: "failed_permanent", httpStatus: 404 })
      yield* observe(ws, made[4]!, { status: "failed", exhausted: true })
      yield* sql`select posthorn.dead_letter(100)`
      yield* makeAt(made[0]!, sql`now() - interval '25 hours'`)
      yield* makeAt(made[2]!, sql`now() - interval '90 seconds'`)
      yield* ws.call("POST", "/members", { body: { email: "a@b.example", name: "A", role: "viewer" } })
      const revoked = yield* ws.call("POST", "/api-tokens", { body: { name: "x", scopes: ["read"] } })
      yield* ws.call("DELETE", `/api-tokens/${revoked.body.id}`)

      const overview = yield* ws.call("GET", "/overview")

      expect(overview).toMatchObject({ status: 200 })
      expect(overview.body).toEqual({
        workspace: { id: ws.workspaceId, slug: ws.slug, name: expect.any(String) },
        endpoints: { total: 2, enabled: 1, disabled: 1, filteredOut: [] },
        deliveries: {
          windowHours: 24,
          pending: 2,
          delivered: 1,
          failed: 1,
          failedPermanent: 1,
          deadLettered: 1,
          givenUp: 2,
          recovered: 0,
          successRate: 0.25,
          p50Ms: 10,
          p95Ms: 10
        },
        hours: expect.any(Array),
        queue: { waiting: 3, waitingAtDisabled: 0, oldestWaitingSeconds: expect.any(Number) },
        members: 1,
        apiTokens: 1,
        unreadNotifications: 1
      })
      const hours = overview.body.hours as ReadonlyArray<Readonly<Record<string, number>>>
      expect(hours).toHaveLength(24)
      for (const [status, count] of [
        ["delivered", 1],
        ["failedPermanent", 1],
        ["deadLettered", 1]
      ] as const)
        expect(
          hours.reduce((sum, hour) => sum + hour[status]!, 0),
          status
        ).toBe(count)
      const { oldestWaitingSeconds } = overview.body.queue as { readonly oldestWaitingSeconds: number }
      expect(oldestWaitingSeconds).toBeGreaterThanOrEqual(90)
      expect(oldestWaitingSeconds).toBeLessThan(150)

      yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })
      const disabled = yield* ws.call("GET", "/overview")
      expect(disabled.body.queue).toMatchObject({ waiting: 3, waitingAtDisabled: 3 })
      expect((yield* ws.call("GET", `/webhooks/${endpointId}`)).status).toBe(200)
    })
  )

  it.effect("§6.3 names an endpoint whose filter lets nothing through, until something comes through", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpoint = {
        url: "https://example.com/hooks",
        eventTypes: ["invoice.*"],
        filter: { total: { $gt: 1 } }
      }
      const { body } = yield* ws.call("POST", "/webhooks", { body: endpoint })
      yield* ws.call("POST", "/webhooks", { body: { ...endpoint, eventTypes: ["order.*"] } })
      const events = (count: number, total: number) =>
        ws.call("POST", "/events/batch", {
          body: {
            events: Array.from({ length: count }, () => ({ eventType: "invoice.paid", payload: { total } }))
          }
        })
      const filteredOut = Effect.map(
        ws.call("GET", "/overview"),
        ({ body }) => (body.endpoints as Loose).filteredOut
      )

      yield* events(49, 1)
      const few = yield* filteredOut
      yield* events(1, 1)
      const early = yield* filteredOut
      const age = sql`update posthorn.endpoints set updated_at = updated_at - interval '24 hours 1 second'
        where workspace_id = ${ws.workspaceId}`
      yield* age
      const enough = yield* filteredOut
      yield* ws.call("PATCH", `/webhooks/${body.id}`, { body: { filter: { total: { $gt: 1.5 } } } })
      const changed = yield* filteredOut
      yield* age
      const again = yield* filteredOut
      yield* events(1, 2)

      expect([few, early, enough, changed, again]).toEqual([[], [], [body.id], [], [body.id]])
      expect(yield* filteredOut).toEqual([])
    }).pipe(Effect.orDie)
  )

  it.effect("§4.5 has neither a rate nor an age when there is nothing to measure", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const overview = yield* ws.call("GET", "/overview")

      expect(overview.body).toMatchObject({
        deliveries: { pending: 0, delivered: 0, successRate: null },
        queue: { waiting: 0, waitingAtDisabled: 0, oldestWaitingSeconds: null },
        members: 0,
        apiTokens: 1,
        unreadNotifications: 0
      })
    })
  )
})

interface Stats {
  readonly hours: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly totals: Readonly<Record<string, unknown>>
}

layer(testServer(), { excludeTestServices: true })("an endpoint's statistics", (it) => {
  it.effect("§4.5 counts deliveries by the hour of their creation, and includes every hour", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpointId = yield* makeEndpoint(ws)
      yield* makeEndpoint(ws)
      const made: Array<string> = []
      for (let n = 0; n < 6; n++) {
        const { deliveryIds } = yield* publish(ws)
        const rows = yield* sql<{ id: string }>`
          select id from posthorn.deliveries where endpoint_id = ${endpointId} and id = any(${deliveryIds as Array<string>}::text[])`
        made.push(rows[0]!.id)
      }
      for (const [n, durationMs] of [5, 40, 10, 30].entries()) yield* observe(ws, made[n]!, { durationMs })
      yield* observe(ws, made[4]!, { status: "failed", durationMs: 20 })
      const hour = sql.literal("date_trunc('hour', now(), 'UTC')")
      yield* makeAt(made[0]!, sql`${hour} - interval '1 millisecond'`)
      yield* makeAt(made[1]!, sql`${hour} - interval '1 hour'`)
      yield* makeAt(made[2]!, sql`${hour} - interval '3 hours'`)

      const { body } = yield* ws.call<Stats>("GET", `/webhooks/${endpointId}/stats?hours=3`)

      const none = { delivered: 0, failed: 0, failedPermanent: 0, deadLettered: 0, p50Ms: null, p95Ms: null }
      const start = Date.parse(String(body.hours[0]!.hour))
      expect(body.hours.map(({ hour }) => Date.parse(String(hour)) - start)).toEqual([
        0, 3_600_000, 7_200_000
      ])
      expect(body.hours.map(({ hour: _, ...figures }) => figures)).toEqual([
        none,
        { ...none, delivered: 2, p50Ms: 5, p95Ms: 40 },
        { ...none, delivered: 1, failed: 1, p50Ms: 20, p95Ms: 30 }
      ])
      expect(body.totals).toEqual({ ...none, delivered: 3, failed: 1, p50Ms: 20, p95Ms: 40 })
      expect(String(body.hours[2]!.hour)).toMatch(/:00:00\.000Z$/)
    })
  )

  it.effect("§4.5 limits the hours to 1 to 720, and uses 24 for anything but an integer", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const expected = { "": 24, x: 24, "2.5": 24, "0": 1, "-3": 1, "720": 720, "100000": 720 }

      for (const [hours, count] of Object.entries(expected)) {
        const { body } = yield* ws.call<Stats>("GET", `/webhooks/${endpointId}/stats?hours=${hours}`)
        expect(body.hours, hours).toHaveLength(count)
      }
    })
  )
})
