/** Which published events a filter would let through, and why not the others. */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { FiltersRepo } from "@posthorn/persistence/repositories/FiltersRepo"
import { readRows } from "@posthorn/testkit/Seeds"
import { whole } from "@posthorn/testkit/Whole"
import { Effect } from "effect"
import { publish } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, TestServer, testServer } from "../TestServer.ts"

interface Tried {
  readonly examined: number
  readonly matching: number
  readonly events: ReadonlyArray<{
    readonly eventId: string | null
    readonly matches: boolean
    readonly because: unknown
  }>
}

const tryFilter = ({ call }: Entered, body: object) =>
  Effect.map(call<Tried>("POST", "/webhooks/try-filter", { body }), (answer) => answer.body)

const idsOf = ({ events }: Tried) => events.map(({ eventId }) => eventId)

layer(testServer(), { excludeTestServices: true })("tryFilter", (it) => {
  it.effect(
    "§6.3 judges the events that the patterns want, newest first, and says why one does not match",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const small = yield* publish(ws, "invoice.paid", { total: 5, lines: [{ sku: "a" }] })
        const order = yield* publish(ws, "order.paid", { total: 50 })
        const large = yield* publish(ws, "invoice.sent", { total: 50, lines: [{ sku: "b" }] })
        const filter = { total: { $gt: 10, $lt: 100 }, lines: { sku: { $startsWith: "b" } } }

        const invoices = yield* tryFilter(ws, { filter, eventTypes: ["invoice.*"] })
        const all = yield* tryFilter(ws, { filter })
        const exact = yield* tryFilter(ws, { filter: {}, eventTypes: ["order.paid", "order.*", "none"] })
        const tool = yield* callTool(url, ws.token, "try_webhook_filter", {
          filter,
          eventTypes: ["invoice.*"]
        })

        expect(invoices).toEqual({
          examined: 2,
          matching: 1,
          events: [
            { eventId: large.id, matches: true, because: null },
            { eventId: small.id, matches: false, because: { path: "/total", condition: { $gt: 10 } } }
          ]
        })
        expect(tool.structuredContent).toEqual(invoices)
        expect(all.events.slice(0, 2)).toEqual([
          { eventId: large.id, matches: true, because: null },
          {
            eventId: order.id,
            matches: false,
            because: { path: "/lines/sku", condition: { $startsWith: "b" } }
          }
        ])
        expect(idsOf(exact)).toEqual([order.id])
      })
  )

  it.effect(
    "§6.3 judges one payload with its digits, whatever the patterns; what cannot be judged passes",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        yield* publish(ws)
        const judge = (text: string) =>
          Effect.map(ws.call<Tried>("POST", "/webhooks/try-filter", { text }), (answer) => answer.text)
        const id = '{"id":12345678901234567891}'

        expect(
          yield* judge(`{"filter":{"id":12345678901234567890},"payload":${id},"eventTypes":["none"]}`)
        ).toBe(
          '{"examined":1,"matching":0,"events":[{"eventId":null,"matches":false,"because":{"path":"/id","condition":12345678901234567890}}]}'
        )
        expect(yield* judge(`{"filter":${id},"payload":${id}}`)).toContain('"matching":1')
        expect(yield* judge('{"filter":{"a":1},"payload":{"a":"\\u0000"}}')).toContain('"matching":1')
      })
  )

  it.effect("§6.3 a filter that is none is refused with its issues, null as well", () =>
    Effect.gen(function* () {
      const { call } = yield* entered
      const issuesOf = (filter: unknown) =>
        Effect.map(call("POST", "/webhooks/try-filter", { body: { filter } }), ({ body, status }) => [
          status,
          ...(body.issues as ReadonlyArray<{ readonly path: string }>).map(({ path }) => path)
        ])

      expect(yield* issuesOf(null)).toEqual([400, "/filter"])
      expect(yield* issuesOf({ a: { $regex: "x" }, b: { $in: [] } })).toEqual([
        400,
        "/filter/a/$regex",
        "/filter/b/$in"
      ])
      expect(yield* issuesOf("x".repeat(5_000))).toEqual([400, "/filter"])
    })
  )

  it.effect("§6.3 shows nothing of payloads that the caller may not see, and changes nothing", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const weak = yield* ws.tokenWith("webhook:list")
      yield* ws.call("POST", "/members", { body: { email: "z@example.com", name: "Z", role: "viewer" } })
      yield* publish(ws)
      const { body: members } = yield* ws.call("GET", "/events?eventType=member.added")
      const { call } = yield* TestServer
      const filter = { email: { $startsWith: "z" } }
      const asWeak = (body: object) =>
        Effect.map(
          call<Tried>("POST", `/workspaces/${ws.slug}/webhooks/try-filter`, { body, token: weak }),
          (answer) => answer.body
        )

      expect((yield* tryFilter(ws, { filter, eventTypes: ["member.*"] })).matching).toBe(1)
      expect((yield* asWeak({ filter, eventTypes: ["member.*"] })).examined).toBe(0)
      expect(idsOf(yield* asWeak({ filter }))).not.toContain(members.items[0]!.id)
    })
  )

  it.effect("§8 finds the newest events of rare types without reading the others", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const rare = yield* publish(ws, "rare.type")
      yield* sql`insert into posthorn.events
          (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
        select ${ws.workspaceId}, posthorn.new_id('evt_'), 'common.n' || n % 300, '{"n":1}', 't', 0, 0, 'system sql x', now()
        from generate_series(1, 20000) n`
      yield* sql`analyze posthorn.events`
      const newest = (pattern: string) =>
        Effect.gen(function* () {
          const filters = yield* FiltersRepo
          const rows = Effect.map(sql.unsafe<{ n: number }>(readRows("events")), ([row]) => row!.n)
          const before = yield* rows
          const found = yield* filters.newest(whole(ws.workspaceId), [pattern], [], 200)
          return { ids: found.map(({ id }) => String(id)), read: (yield* rows) - before }
        }).pipe(sql.withTransaction, Effect.provide(FiltersRepo.Default))
      const ids = yield* Effect.map(
        sql<{ id: string }>`select id from posthorn.events
          where workspace_id = ${ws.workspaceId} and event_type like 'common.%' order by id desc limit 200`,
        (found) => found.map(({ id }) => id)
      )

      const [few, many, all] = [yield* newest("rare.*"), yield* newest("common.*"), yield* newest("*")]

      expect(few.ids).toEqual([rare.id])
      expect([many.ids, all.ids]).toEqual([ids, ids])
      expect(few.read).toBeLessThan(10)
      expect(all.read).toBeLessThan(500)
      expect(many.read).toBeLessThan(20_000)
    }).pipe(Effect.orDie)
  )
})
