import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, observe, publish, unknown } from "../Fixtures.ts"
import { type Loose, TestServer, testServer } from "../TestServer.ts"

layer(testServer(), { excludeTestServices: true })("getTrace", (it) => {
  const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

  it.effect("§4.6 tells the whole story of an event, by any of its ids", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const { deliveryIds, id: eventId } = yield* publish(ws)
      const deliveryId = deliveryIds[0]!
      yield* observe(ws, deliveryId, { status: "failed" })
      yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 410 })
      const { body: replayed } = yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)
      yield* publish(ws)
      const traceOf = (id: string) => ws.call("GET", `/trace/${id}`)
      const { traceId } = (yield* ws.call("GET", `/events/${eventId}`)).body
      const replayTrace = (yield* ws.call("GET", "/audit-events?limit=1")).body.items[0]!.traceId

      const byEvent = yield* traceOf(eventId)
      const others = yield* Effect.forEach(
        [String(traceId), deliveryId, replayed.id, String(replayTrace)],
        traceOf
      )

      const items = byEvent.body.items as ReadonlyArray<Loose>
      expect(byEvent.body).toMatchObject({ id: eventId, truncated: false })
      expect(items.map(({ kind }) => kind).sort()).toEqual([
        "attempt",
        "attempt",
        "audit",
        "delivery",
        "delivery",
        "event",
        "replay"
      ])
      expect(items.map(({ at }) => String(at))).toEqual(items.map(({ at }) => String(at)).sort())
      expect(items[0]).toMatchObject({ kind: "event", id: eventId, deliveries: 1, missed: 0, traceId })
      expect(items.filter(({ kind }) => kind === "attempt")).toMatchObject([
        { deliveryId, ordinal: 1, status: "failed", httpStatus: 500 },
        { deliveryId, ordinal: 2, status: "failed_permanent", httpStatus: 410 }
      ])
      expect(items.find(({ kind }) => kind === "replay")).toMatchObject({
        id: replayed.id,
        replayedFrom: deliveryId,
        replayId: null
      })
      expect(items.find(({ kind }) => kind === "delivery")).toMatchObject({
        id: deliveryId,
        endpointId,
        status: "failed_permanent",
        attempts: 2
      })
      expect(items.find(({ kind }) => kind === "audit")).toMatchObject({
        action: "webhook.delivery_replayed",
        target: { type: "webhook_delivery", id: replayed.id }
      })
      for (const { body } of others) expect(body.items).toEqual(byEvent.body.items)
    })
  )

  it.effect("§4.6 follows a test send and its replays, which have no event", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const { body: sent } = yield* ws.call("POST", `/webhooks/${endpointId}/test-event`)
      yield* observe(ws, sent.id, { status: "failed_permanent" })
      const { body: replayed } = yield* ws.call("POST", `/webhooks/deliveries/${sent.id}/replay`)

      const first = yield* ws.call("GET", `/trace/${sent.id}`)
      const second = yield* ws.call("GET", `/trace/${replayed.id}`)

      expect(first.body.items.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(["delivery", "attempt", "replay", "audit"])
      )
      expect(first.body.items).toHaveLength(5)
      expect(second.body.items).toEqual(first.body.items)
    })
  )

  it.effect("§4.6 finds nothing by other workspaces' ids, nor by text that is no id", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const other = yield* entered
      yield* makeEndpoint(other)
      const { deliveryIds, id } = yield* publish(other)

      for (const foreign of [id, deliveryIds[0]!, unknown("whd_"), "x", "%00", "0".repeat(32), "whd_%27"]) {
        const { body, status } = yield* ws.call("GET", `/trace/${foreign}`)
        expect([foreign, status, body._tag]).toEqual([foreign, 404, "TraceNotFound"])
      }
    })
  )

  it.effect("§4.6 ends after the 1,000 oldest items, and says so", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const endpointId = yield* makeEndpoint(ws)
      const { id } = yield* publish(ws)
      yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, payload, trace_id, created_at)
        select ${ws.workspaceId}, posthorn.deliveries_begin(${id}) || lpad(to_hex(n), 16, '0'), ${endpointId}, ${id}, 'a.b', '{}', posthorn.new_trace_id(), now()
        from generate_series(1, 1200) n`

      const { body } = yield* ws.call("GET", `/trace/${id}`)

      expect([body.items.length, body.truncated]).toEqual([1000, true])
      expect(body.items[0]).toMatchObject({ kind: "event", id })
    })
  )
})
