/** Pages of deliveries: the same items to the byte, whatever the length of pages and the database's settings. */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { stringify } from "@posthorn/domain/JsonText"
import { FailureReason } from "@posthorn/domain/Verdict"
import * as Database from "@posthorn/persistence/client/Database"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { whole } from "@posthorn/testkit/Whole"
import { Effect, Option } from "effect"
import { makeDelivery, makeEndpoint, observe, publish } from "../Fixtures.ts"
import { type Entered, entered, testServer } from "../TestServer.ts"

/** Payloads as texts: every kind of JSON, and strings that a careless parser would take for something else. */
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

/** Deliveries in every status, with every payload, and with and without optional members. */
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
    // Times with trailing zeros in the milliseconds, and without milliseconds.
    for (const at of ["2026-02-28T12:00:00Z", "2026-12-31T23:59:59.1Z", "2026-01-01T00:00:00.01Z"]) {
      const [id] = yield* publishText(ws, "a.b", "{}")
      yield* sql`update posthorn.deliveries set next_attempt_at = ${at}, last_attempt_at = ${at} where id = ${id!}`
    }
    return endpointId
  }).pipe(Effect.orDie)

/** The texts of all items of a list, read page by page. */
const walked = (ws: Entered, path: string, limit: number) =>
  Effect.gen(function* () {
    const items: Array<string> = []
    let cursor = ""
    do {
      const page = yield* ws.call("GET", `${path}limit=${limit}${cursor}`)
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "application/json"])
      expect(page.body.items.length).toBeLessThanOrEqual(limit)
      items.push(/^{"items":\[(.*)\],"nextCursor":[^,]*}$/s.exec(page.text)![1]!)
      cursor = page.body.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.body.nextCursor)}`
    } while (cursor !== "")
    return items.join(",")
  })

layer(testServer(), { excludeTestServices: true })("a page of deliveries", (it) => {
  it.effect("§2.2 has each payload to the byte, and the same items for pages of any length", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* furnish(ws)

      for (const list of [
        "/webhooks/deliveries?",
        "/webhooks/deliveries?payload=omit&",
        `/webhooks/${endpointId}/deliveries?`
      ]) {
        const all = yield* walked(ws, list, 200)
        for (const limit of [1, 7, 50]) expect(yield* walked(ws, list, limit)).toBe(all)
        const kept = PAYLOADS.filter((payload) => all.includes(`"payload":${payload.trim()},"replayedFrom"`))
        expect(kept).toEqual(list.includes("omit") ? ["null"] : PAYLOADS)
      }
    })
  )

  it.effect("§8 ends early when payloads have reached 1 MiB, and leaves none out", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws)
      const sizes = [1_000_000, 838_858, 838_859, 10, 900_000, 900_000, 900_000, 900_000, 900_000, 5]
      for (const bytes of sizes) yield* publish(ws, "big.one", "x".repeat(bytes))

      for (const list of [`/webhooks/${endpointId}/deliveries?`, "/webhooks/deliveries?"]) {
        const first = yield* ws.call("GET", `${list}limit=200`)
        expect(first.body.items.length).toBe(3)
        const all = yield* walked(ws, list, 200)
        expect(JSON.parse(`[${all}]`).map(({ payload }: { payload: string }) => payload.length)).toEqual(
          sizes.toReversed()
        )
        for (const limit of [4, 5]) expect((yield* walked(ws, list, limit)) === all).toBe(true)
      }
    })
  )

  it.effect("§8 continues from a cursor of another list, or from one that no page contained", () =>
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

      const found: Array<number> = []
      for (const cursor of cursors)
        found.push((yield* ws.call("GET", `/webhooks/deliveries?cursor=${cursor}`)).body.items.length)
      expect(found).toEqual([2, 0, 2, 0, 0])
      const none = yield* ws.call("GET", `/webhooks/${endpointId}/deliveries?cursor=${cursors[1]}`)
      expect(none.text).toBe('{"items":[],"nextCursor":null}')
    })
  )

  it.scoped("§2.2 shows times in UTC, whatever the database's time zone and date style are", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      yield* furnish(ws)
      const page = (yield* ws.call("GET", "/webhooks/deliveries?limit=5")).text
      const url = yield* TestDatabaseUrl
      yield* sql`do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Asia/Kathmandu'); end $$`
      yield* sql`do $$ begin execute format('alter database %I set datestyle = %L', current_database(), 'SQL, DMY'); end $$`

      // Applies to connections that are opened from now on.
      const listing = yield* Effect.flatMap(DeliveriesRepo, (deliveries) =>
        deliveries.list(whole(ws.workspaceId), {}, 5, Option.none())
      ).pipe(
        Effect.provide(DeliveriesRepo.Default),
        Effect.provide(Database.layer({ url, applicationName: "elsewhere", maxConnections: 1 }))
      )

      yield* sql`do $$ begin execute format('alter database %I reset timezone', current_database()); end $$`
      yield* sql`do $$ begin execute format('alter database %I reset datestyle', current_database()); end $$`
      expect(stringify(listing)).toBe(page)
    }).pipe(Effect.orDie)
  )
})
