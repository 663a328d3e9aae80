/**
 * A page of deliveries as PostgreSQL writes it is, byte for byte, the page that is made of the rows: what is asked for with
 * `since` the beginning of time is read as rows, and is the same list. Cursors of one go on in the other.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { FailureReason } from "@posthorn/domain/Verdict"
import * as Database from "@posthorn/persistence/Database"
import { DeliveriesRepo } from "@posthorn/persistence/DeliveriesRepo"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Effect, Option } from "effect"
import { makeDelivery, makeEndpoint, observe, publish } from "./Fixtures.ts"
import { type Entered, TestServer, testServer } from "./TestServer.ts"

const AS_ROWS = "since=1970-01-01T00:00:00Z"

const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

/** Payloads as texts: what JSON can be, and what text of it could be taken for something else. */
const PAYLOADS = [
  "{}",
  "null",
  "1.0",
  "-1e3",
  "9007199254740993",
  '"\\u0000\\ud83d \\"quoted\\" \\\\ \\/ \\b\\f\\n\\r\\t"',
  '"Grüße, 日本語 \u{1f4ef} \u2028\u2029"',
  '{"b":1,"a":[1,[2,{"c":null}]],"1":true,"a ":"}],\\"nextCursor\\":null"}',
  `"${"x".repeat(3_000)}"`,
  '[  "white" ,\n\t"space" ]'
]

const publishText = (ws: Entered, eventType: string, payload: string) =>
  Effect.map(
    ws.call<{ readonly deliveryIds: ReadonlyArray<string> }>("POST", "/events", {
      text: `{"eventType":"${eventType}","payload":${payload}}`
    }),
    ({ body }) => body.deliveryIds
  )

/** Deliveries in every state, with every payload, and members that are there and not there. */
const furnish = (ws: Entered) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const endpointId = yield* makeEndpoint(ws)
    yield* makeEndpoint(ws, { eventTypes: ["other.*"] })
    for (const payload of PAYLOADS) yield* publishText(ws, "Invoice_2.paid", payload)
    yield* publishText(ws, "other.type", '{"to":"both"}')

    const [delivered] = yield* publishText(ws, "a.b", "{}")
    yield* observe(ws, delivered!, { status: "delivered", httpStatus: 204, durationMs: 0 })
    const [waiting] = yield* publishText(ws, "a.b", "{}")
    yield* observe(ws, waiting!, { status: "failed", httpStatus: null })
    const [refused] = yield* publishText(ws, "a.b", '"again"')
    yield* observe(ws, refused!, { status: "failed_permanent", httpStatus: 404 })
    yield* ws.call("POST", `/webhooks/deliveries/${refused}/replay`)
    yield* ws.call("POST", `/webhooks/${endpointId}/test-event`, { body: {} })
    for (const reason of FailureReason.literals) {
      const [id] = yield* publishText(ws, "a.b", "{}")
      yield* sql`update posthorn.deliveries set status = 'dead_lettered', last_failure_reason = ${reason}, attempts = 7,
        next_attempt_at = null, last_duration_ms = 10000, last_attempt_at = '2026-01-31T23:59:59.999+01' where id = ${id!}`
    }
    // Times of which the milliseconds end in zeros, or are none.
    for (const at of ["2026-02-28T12:00:00Z", "2026-12-31T23:59:59.1Z", "2026-01-01T00:00:00.01Z"]) {
      const [id] = yield* publishText(ws, "a.b", "{}")
      yield* sql`update posthorn.deliveries set next_attempt_at = ${at}, last_attempt_at = ${at} where id = ${id!}`
    }
    return endpointId
  }).pipe(Effect.orDie)

layer(testServer(), { excludeTestServices: true })("a page of deliveries", (it) => {
  it.effect("§2.2 is the same to the byte, whether PostgreSQL writes it or it is made of rows", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* furnish(ws)
      const lists = [
        ["/webhooks/deliveries?", "/webhooks/deliveries?"],
        [`/webhooks/${endpointId}/deliveries?`, `/webhooks/deliveries?endpointId=${endpointId}&`],
        ["/webhooks/deliveries?payload=omit&", "/webhooks/deliveries?payload=omit&"]
      ]
      const seen = new Set<string>()

      for (const [written, read] of lists) {
        for (const limit of [1, 7, 50, 200]) {
          let cursor = ""
          do {
            const page = yield* ws.call("GET", `${written}limit=${limit}${cursor}`)
            const ofRows = yield* ws.call("GET", `${read}${AS_ROWS}&limit=${limit}${cursor}`)
            expect([page.status, page.headers.get("content-type")]).toEqual([200, "application/json"])
            expect(page.text).toBe(ofRows.text)
            for (const { status } of page.body.items) seen.add(String(status))
            cursor =
              page.body.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.body.nextCursor)}`
          } while (cursor !== "")
        }
      }

      expect(seen.size).toBe(5)
    })
  )

  it.effect("§8 is the same where payloads end it early, and where the largest just does not", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      // Of a page of five each may have 838,860 bytes, quotes included.
      for (const bytes of [1_000_000, 838_858, 838_859, 10, 900_000, 900_000, 900_000, 900_000, 900_000, 5])
        yield* publish(ws, "big.one", "x".repeat(bytes))
      const walks = [5, 4, 200].flatMap((limit) => [
        `/webhooks/${endpointId}/deliveries?limit=${limit}`,
        `/webhooks/deliveries?limit=${limit}`
      ])

      for (const path of walks) {
        let cursor = ""
        do {
          const page = yield* ws.call("GET", `${path}${cursor}`)
          const ofRows = yield* ws.call(
            "GET",
            `/webhooks/deliveries?${AS_ROWS}&${path.split("?")[1]}${cursor}`
          )
          expect(page.text === ofRows.text, `${path}${cursor}`).toBe(true)
          cursor = page.body.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.body.nextCursor)}`
        } while (cursor !== "")
      }
    })
  )

  it.effect("§8 goes on where a cursor of another list, or one that nobody was given, says", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { endpointId } = yield* makeDelivery(ws)
      for (let n = 0; n < 3; n++) yield* publish(ws, "a.b")
      yield* makeEndpoint(ws)
      const { deliveryIds } = yield* publish(ws, "a.b")
      const at = (time: string, id: string) => btoa(JSON.stringify({ at: time, id }))
      const cursors = [
        at("2099-01-01T00:00:00.000Z", "evt_1"),
        at("1960-01-01T00:00:00.000Z", "evt_1"),
        at("2026-01-01T00:00:00.000Z", `${deliveryIds[0]}0`),
        at("2026-01-01T00:00:00.000Z", "whd_"),
        at("2026-01-01T00:00:00.000Z", "whd_'; select")
      ]

      for (const cursor of cursors) {
        const page = yield* ws.call("GET", `/webhooks/deliveries?cursor=${cursor}`)
        const ofRows = yield* ws.call("GET", `/webhooks/deliveries?${AS_ROWS}&cursor=${cursor}`)
        expect(page.text, atob(cursor)).toBe(ofRows.text)
      }
      const none = yield* ws.call("GET", `/webhooks/${endpointId}/deliveries?cursor=${cursors[1]}`)
      expect(none.text).toBe('{"items":[],"nextCursor":null}')
    })
  )

  it.scoped("§2.2 says times in UTC, whatever the database's time zone and style of dates are", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      yield* furnish(ws)
      const page = (yield* ws.call("GET", "/webhooks/deliveries?limit=5")).text
      const url = yield* TestDatabaseUrl
      yield* sql`do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Asia/Kathmandu'); end $$`
      yield* sql`do $$ begin execute format('alter database %I set datestyle = %L', current_database(), 'SQL, DMY'); end $$`

      // Connections that are opened from now on have it.
      const listing = yield* Effect.flatMap(DeliveriesRepo, (deliveries) =>
        deliveries.list(ws.workspaceId as never, {}, 5, Option.none())
      ).pipe(
        Effect.provide(DeliveriesRepo.Default),
        Effect.provide(Database.layer({ url, applicationName: "elsewhere", maxConnections: 1 }))
      )

      yield* sql`do $$ begin execute format('alter database %I reset timezone', current_database()); end $$`
      yield* sql`do $$ begin execute format('alter database %I reset datestyle', current_database()); end $$`
      expect((listing.page as { readonly text: string }).text).toBe(page)
      expect(listing.isEmpty).toBe(false)
    }).pipe(Effect.orDie)
  )
})
