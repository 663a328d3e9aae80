/** Purging an event: what is removed, what stays, and which operations are refused afterwards. */
import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, observe } from "../Fixtures.ts"
import { type Entered, entered, OPERATOR_TOKEN, testServer } from "../TestServer.ts"

const MARK = "4711-marker"

/** An event that failed for good at one endpoint and was missed by another. */
const prepare = Effect.gen(function* () {
  const ws = yield* entered
  const endpointId = yield* makeEndpoint(ws)
  const missing = yield* makeEndpoint(ws)
  yield* ws.call("PATCH", `/webhooks/${missing}`, { body: { enabled: false } })
  const event = (yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload: { card: MARK } } }))
    .body
  const deliveryId: string = (event.deliveryIds as ReadonlyArray<string>)[0]!
  return { ws, endpointId, missing, eventId: event.id as string, deliveryId }
})

const purge = ({ call }: Entered, eventId: string, token = OPERATOR_TOKEN) =>
  call("POST", `/events/${eventId}/purge`, { token })

/** The tables of this workspace in which the text occurs. */
const holding = ({ workspaceId }: Entered, text: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const tables = yield* sql<{ name: string }>`
      select table_name as name from information_schema.columns
      where table_schema = 'posthorn' and column_name = 'workspace_id' order by 1`
    const found = yield* Effect.filter(tables, ({ name }) =>
      Effect.map(
        sql`select 1 from posthorn.${sql.literal(name)} t
          where t.workspace_id = ${workspaceId} and strpos(t::text, ${text}) > 0 limit 1`,
        (rows) => rows.length > 0
      )
    )
    return found.map(({ name }) => name)
  }).pipe(Effect.orDie)

layer(testServer(), { excludeTestServices: true })("purging an event", (it) => {
  it.effect("§5.2 blanks the payload and the stored answers everywhere, and leaves the evidence", () =>
    Effect.gen(function* () {
      const { deliveryId, endpointId, eventId, ws } = yield* prepare
      yield* observe(ws, deliveryId, {
        status: "failed_permanent",
        httpStatus: 404,
        responseBody: `no ${MARK}`
      })
      const replayed = yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`, {
        headers: { "idempotency-key": "again" }
      })
      yield* observe(ws, replayed.body.id, { responseBody: `yes ${MARK}` })
      const before = yield* holding(ws, MARK)
      const attempts = `/webhooks/deliveries/${deliveryId}/attempts`
      const [attempt] = (yield* ws.call("GET", attempts)).body.items

      const purged = yield* purge(ws, eventId)
      const again = yield* purge(ws, eventId)
      const after = yield* holding(ws, MARK)

      expect(before).toEqual(["attempts", "events", "idempotent_answers"])
      expect(purged).toMatchObject({
        status: 200,
        body: { id: eventId, payload: null, purgedAt: expect.any(String), deliveries: 1, missed: 1 }
      })
      expect(again.body).toEqual(purged.body)
      expect(after).toEqual([])
      expect((yield* ws.call("GET", `/events/${eventId}`)).body).toEqual(purged.body)
      expect((yield* ws.call("GET", attempts)).body.items).toEqual([
        { ...attempt, responseBody: null, responseHeaders: {} }
      ])
      expect((yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)).body).toMatchObject({
        payload: null,
        status: "failed_permanent",
        attempts: 1
      })
      const payload = JSON.stringify({ card: MARK })
      const [entry, ...others] = (yield* ws.call("GET", "/audit-events?limit=3")).body.items
      expect(entry).toMatchObject({
        action: "event.purged",
        actor: { type: "operator" },
        target: { type: "event", id: eventId },
        changes: {
          fields: ["payload"],
          bytes: payload.length,
          sha256: createHash("sha256").update(payload).digest("hex"),
          attempts: 2
        }
      })
      expect(others.map(({ action }) => action)).not.toContain("event.purged")
      expect((yield* ws.call("GET", `/webhooks/${endpointId}/diagnosis`)).status).toBe(200)
    })
  )

  it.effect("§5.2 a purged event cannot be replayed or sent after a miss, nor count as lost", () =>
    Effect.gen(function* () {
      const { deliveryId, endpointId, eventId, missing, ws } = yield* prepare
      yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 404 })
      yield* ws.call("PATCH", `/webhooks/${missing}`, { body: { enabled: true } })
      const range = { since: "2026-01-01T00:00:00.000Z", includeMissed: true, dryRun: true }
      const matched = (id: string) =>
        Effect.map(ws.call("POST", `/webhooks/${id}/replays`, { body: range }), ({ body }) => body.matched)
      const before = [yield* matched(endpointId), yield* matched(missing)]

      yield* purge(ws, eventId)

      expect(before).toEqual([1, 1])
      expect([yield* matched(endpointId), yield* matched(missing)]).toEqual([0, 0])
      expect(yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)).toMatchObject({
        status: 409,
        body: { _tag: "EventPurged", eventId }
      })
    })
  )

  it.effect("§5.2 is refused while one of its deliveries waits, or a replay of one", () =>
    Effect.gen(function* () {
      const { deliveryId, eventId, ws } = yield* prepare
      const refusal = { status: 409, body: { _tag: "EventInDelivery", eventId } }
      expect(yield* purge(ws, eventId)).toMatchObject(refusal)
      yield* observe(ws, deliveryId, { status: "failed", httpStatus: 500 })
      expect(yield* purge(ws, eventId)).toMatchObject(refusal)
      yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 404 })
      yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`)
      expect(yield* purge(ws, eventId)).toMatchObject(refusal)
      expect((yield* ws.call("GET", `/events/${eventId}`)).body).toMatchObject({
        payload: { card: MARK },
        purgedAt: null
      })
    })
  )

  it.effect("§5.2 is for the operator only, in the event's own workspace", () =>
    Effect.gen(function* () {
      const { eventId, ws } = yield* prepare
      const other = yield* entered
      expect((yield* purge(ws, eventId, ws.token)).body).toMatchObject({ permission: "operator" })
      expect((yield* purge(other, eventId)).status).toBe(404)
    })
  )
})
