import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { makeAt } from "@posthorn/testkit/OldHistory"
import { Effect } from "effect"
import { makeDelivery, makeEndpoint, observe, publish, unknown, walk } from "../Fixtures.ts"
import { type Entered, entered, testServer } from "../TestServer.ts"

/** A cursor that no page contained. */
const forged = (position: object) => btoa(JSON.stringify(position))

/** Two endpoints, `count` events to both. */
const makeMany = (ws: Entered, count: number) =>
  Effect.gen(function* () {
    const first = yield* makeEndpoint(ws)
    const second = yield* makeEndpoint(ws)
    const made: Array<string> = []
    for (let n = 0; n < count; n++) {
      const published = yield* publish(ws, n % 2 === 0 ? "even.one" : "odd.one", { n })
      made.push(...published.deliveryIds)
    }
    return { first, second, made }
  })

layer(testServer(), { excludeTestServices: true })("lists of deliveries", (it) => {
  it.effect("§4 lists a workspace's deliveries newest first, each once, whatever the page size", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { made } = yield* makeMany(ws, 6)

      for (const limit of [1, 5, 12, 13, 200]) {
        const { items, pages } = yield* walk(ws.call, "/webhooks/deliveries", limit)

        const keys = items.map(({ createdAt, id }) => `${createdAt} ${id}`)
        expect(new Set(items.map(({ id }) => id))).toEqual(new Set(made))
        expect(keys).toEqual([...keys].sort().reverse())
        expect(pages).toBe(Math.ceil(12 / limit))
      }
    })
  )

  it.effect("§8 ends a page early instead of holding payloads of many megabytes, and loses none", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws)
      const made: Array<string> = []
      for (let n = 0; n < 12; n++) {
        const published = yield* publish(ws, "big.one", { n, filler: "x".repeat(900_000) })
        made.push(...published.deliveryIds)
      }

      const all = yield* walk(ws.call, "/webhooks/deliveries", 200)
      const filtered = yield* walk(ws.call, "/webhooks/deliveries?eventType=big.one", 200)
      const omitted = yield* walk(ws.call, "/webhooks/deliveries?payload=omit", 200)

      for (const { items, pages } of [all, filtered]) {
        expect(items.map(({ id }) => id)).toEqual([...made].reverse())
        expect(pages).toBe(6)
      }
      expect(omitted.pages).toBe(1)
    })
  )

  it.effect("§8 orders deliveries of one millisecond by id, so that none is lost between pages", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { made } = yield* makeMany(ws, 4)
      const within = made.map((id, n) => `${id.slice(0, 4)}64401b2c93f${n % 2}${n}${id.slice(17)}`)
      yield* Effect.forEach(
        made,
        (id, n) =>
          sql`update posthorn.deliveries set id = ${within[n]!}, created_at = posthorn.made_at(${within[n]!}) where id = ${id}`
      ).pipe(
        // A trigger refuses changes of ids, except in a session with the replica role.
        (renaming) => Effect.zipRight(sql`set local session_replication_role = replica`, renaming),
        sql.withTransaction
      )

      const { items } = yield* walk(ws.call, "/webhooks/deliveries", 3)

      expect(new Set(items.map(({ createdAt }) => createdAt)).size).toBe(1)
      expect(items.map(({ id }) => id)).toEqual(within.toSorted().reverse())
    })
  )

  it.effect("§8 clamps the limit, and takes 50 for anything that is no integer", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws)
      yield* ws.call("POST", "/events/batch", {
        body: { events: Array.from({ length: 201 }, () => ({ eventType: "a.b", payload: 1 })) }
      })
      const expected = { "": 50, x: 50, "1.5": 50, "-1": 1, "0": 1, "7": 7, "200": 200, "1000": 200 }

      for (const [limit, count] of Object.entries(expected)) {
        const page = yield* ws.call("GET", `/webhooks/deliveries?limit=${limit}&payload=omit`)
        expect(page.body.items, `limit=${limit}`).toHaveLength(count)
        expect(page.body.nextCursor).not.toBeNull()
      }
    })
  )

  it.effect("§7 answers a cursor that does not decode with an empty page, on every list", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")
      yield* observe(ws, deliveryId)
      const lists = [
        "/webhooks",
        "/webhooks/deliveries",
        `/webhooks/${endpointId}/deliveries`,
        `/webhooks/deliveries/${deliveryId}/attempts`,
        "/members",
        "/api-tokens",
        "/audit-events",
        "/notifications"
      ]
      const cursors = [
        "%00",
        "nonsense",
        "e30",
        btoa("null"),
        btoa('{"id":5}'),
        forged({ at: "2026-02-30T00:00:00.000Z", id: "whd_1" }),
        forged({ at: "now", id: "whd_1" }),
        forged({ id: "x", at: "2026-01-01T00:00:00.000Z", more: 1 }),
        "x".repeat(5000)
      ]

      for (const path of lists)
        for (const cursor of cursors) {
          const page = yield* ws.call("GET", `${path}?cursor=${cursor}`)
          expect(page, `${path} ${cursor}`).toMatchObject({
            status: 200,
            body: { items: [], nextCursor: null }
          })
        }
    })
  )

  it.effect("§4.3 filters by status, event type, endpoint and time, in the same order", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { first, made } = yield* makeMany(ws, 4)
      yield* observe(ws, made[0]!, { status: "delivered" })
      yield* observe(ws, made[1]!, { status: "failed_permanent", httpStatus: 404 })
      for (const [n, id] of made.entries())
        made[n] = yield* makeAt(id, sql`${`2026-11-21T12:00:0${n}.000Z`}::timestamptz`)
      const idsFor = (query: string) =>
        Effect.map(walk(ws.call, `/webhooks/deliveries?${query}`, 2), ({ items }) =>
          items.map(({ id }) => id)
        )
      const newestFirst = (...ns: ReadonlyArray<number>) => ns.map((n) => made[n]!)

      expect(yield* idsFor("status=delivered")).toEqual(newestFirst(0))
      expect(yield* idsFor("status=failed_permanent")).toEqual(newestFirst(1))
      expect(yield* idsFor("status=pending")).toEqual(newestFirst(7, 6, 5, 4, 3, 2))
      expect(yield* idsFor("eventType=odd.one")).toEqual(newestFirst(7, 6, 3, 2))
      expect(yield* idsFor(`endpointId=${first}`)).toHaveLength(4)
      expect(yield* idsFor(`endpointId=${unknown("whe_")}`)).toEqual([])
      expect(yield* idsFor("endpointId=%00")).toEqual([])
      expect(yield* idsFor("since=2026-11-21T12:00:05.000Z")).toEqual(newestFirst(7, 6, 5))
      expect(yield* idsFor("until=2026-11-21T12:00:02.000Z")).toEqual(newestFirst(1, 0))
      expect(yield* idsFor("since=2026-11-21T13:00:02%2B01:00&until=2026-11-21T12:00:04Z")).toEqual(
        newestFirst(3, 2)
      )
      expect(yield* idsFor("since=2026-11-21T12:00:05.0001Z")).toEqual(newestFirst(7, 6))
      expect(yield* idsFor("until=2026-11-21T12:00:02.0001Z")).toEqual(newestFirst(2, 1, 0))
      expect(yield* idsFor("since=1960-01-01T00:00:00Z&until=2026-11-21T12:00:02Z")).toEqual(
        newestFirst(1, 0)
      )
      expect(yield* idsFor("since=2026-11-21T12:00:06Z&until=9999-01-01T00:00:00Z")).toEqual(
        newestFirst(7, 6)
      )
      expect(yield* idsFor("status=pending&eventType=odd.one&since=2026-11-21T12:00:06Z")).toEqual(
        newestFirst(7, 6)
      )
    })
  )

  it.effect("§4.3 refuses impossible filter values", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const bad = {
        status: ["", "done", "PENDING"],
        eventType: ["", "a..b", "a b", "x".repeat(129)],
        payload: ["", "yes"],
        since: [
          "",
          "yesterday",
          "2026-11-21",
          "2026-02-30T00:00:00Z",
          "0000-01-01T00:00:00Z",
          "2026-11-21T12:00:00"
        ],
        until: ["12"]
      }

      for (const [name, values] of Object.entries(bad))
        for (const value of values) {
          const query = `${name}=${encodeURIComponent(value)}`
          const answer = yield* ws.call("GET", `/webhooks/deliveries?${query}`)
          expect(answer, query).toMatchObject({ status: 400, body: { issues: [{ path: `/${name}` }] } })
        }
      const inEndpoint = yield* ws.call("GET", `/webhooks/${endpointId}/deliveries?status=done`)
      expect(inEndpoint.status).toBe(400)
    })
  )

  it.effect("§4.3 leaves the payload out of a list when asked, and nowhere else", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws)
      const { deliveryIds } = yield* publish(ws, "a.b", { big: "x" })

      const omitted = yield* ws.call("GET", "/webhooks/deliveries?payload=omit")
      const whole = yield* ws.call("GET", "/webhooks/deliveries")
      const one = yield* ws.call("GET", `/webhooks/deliveries/${deliveryIds[0]}`)

      expect(omitted.body.items[0]!.payload).toBeNull()
      expect(whole.body.items[0]!.payload).toEqual({ big: "x" })
      expect(one.body).toEqual(whole.body.items[0])
    })
  )

  it.effect("§2.2 shows a delivery with every member, absent ones as null", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")

      const pending = yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)
      yield* observe(ws, deliveryId, { status: "failed", httpStatus: 503, durationMs: 77 })
      const failed = yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)

      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(pending.body).toEqual({
        id: deliveryId,
        endpointId,
        eventId: expect.stringMatching(/^evt_/),
        eventType: "invoice.paid",
        status: "pending",
        attempts: 0,
        nextAttemptAt: time,
        payload: {},
        replayedFrom: null,
        recoveredBy: null,
        test: false,
        lastHttpStatus: null,
        lastFailureReason: null,
        lastDurationMs: null,
        lastAttemptAt: null,
        createdAt: time
      })
      expect(failed.body).toMatchObject({
        status: "failed",
        attempts: 1,
        nextAttemptAt: time,
        lastHttpStatus: 503,
        lastFailureReason: "http_status",
        lastDurationMs: 77,
        lastAttemptAt: time
      })
    })
  )

  it.effect("§2.3 lists attempts by ordinal, only to their own workspace", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const { deliveryId } = yield* makeDelivery(ws, "invoice.paid")
      for (const status of ["failed", "failed", "delivered"] as const)
        yield* observe(ws, deliveryId, { status })

      const { items } = yield* walk(ws.call, `/webhooks/deliveries/${deliveryId}/attempts`, 2)
      const foreign = yield* other.call("GET", `/webhooks/deliveries/${deliveryId}/attempts`)

      expect(items.map(({ ordinal, status }) => [ordinal, status])).toEqual([
        [1, "failed"],
        [2, "failed"],
        [3, "delivered"]
      ])
      expect(items[0]).toMatchObject({
        deliveryId,
        requestHeaders: {
          "content-type": "application/json",
          "webhook-id": deliveryId,
          "webhook-signature": "v1,x",
          "x-trace-id": items[0]!.traceId
        },
        url: "https://example.com/hooks",
        responseHeaders: { "content-type": "text/plain" },
        responseBody: "ok"
      })
      expect(foreign).toMatchObject({ status: 404, body: { _tag: "WebhookDeliveryNotFound" } })
    })
  )

  it.effect("§4.3 continues past ten thousand rows that a filter leaves out", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { deliveryId, endpointId } = yield* makeDelivery(ws, "invoice.paid")
      const wanted = yield* makeAt(deliveryId, sql`timestamptz '2026-11-21T10:00:00Z'`)
      yield* sql`
        insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, created_at)
        select ${ws.workspaceId}, posthorn.id_at('whd_', at) || lpad(n::text, 16, '0'), ${endpointId}, 'other.type', '{}',
          't', 'delivered', at
        from generate_series(1, 20500) as n, lateral (select timestamptz '2026-11-21T11:00:00Z' + n * interval '1 ms' as at) t`

      const { items, pages } = yield* walk(ws.call, "/webhooks/deliveries?eventType=invoice.paid", 50)

      expect(items.map(({ id }) => id)).toEqual([wanted])
      expect(pages).toBe(3)
    })
  )
})
