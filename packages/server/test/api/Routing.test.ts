/** Who got an event, and why not: a story for each reason. */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { RoutingRepo } from "@posthorn/persistence/repositories/RoutingRepo"
import { readRows } from "@posthorn/testkit/Seeds"
import { whole } from "@posthorn/testkit/Whole"
import { Effect, Option } from "effect"
import { connect, makeEndpoint, observe, publish, unknown, walk } from "../Fixtures.ts"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

/** The event's routes by endpoint. */
const routesOf = (ws: Entered, eventId: string) =>
  Effect.map(walk(ws.call, `/events/${eventId}/routing`, 2), ({ items }) => {
    expect(items.map(({ endpointId }) => endpointId)).toEqual(
      items.map(({ endpointId }) => endpointId).toSorted()
    )
    return Object.fromEntries(items.map(({ endpointId, ...route }) => [String(endpointId), route]))
  })

const route = (reason: string, deliveryId: string | null = null, because: unknown = null) => ({
  reason,
  deliveryId,
  because
})

const disable = (ws: Entered, endpointId: string) =>
  ws.call("PATCH", `/webhooks/${endpointId}`, { body: { enabled: false } })

layer(testServer(), { excludeTestServices: true })("explainEventRouting", (it) => {
  it.effect("§4.6 tells who was sent it, who missed it, and who subscribes to other types", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const wants = yield* makeEndpoint(ws)
      const other = yield* makeEndpoint(ws, { eventTypes: ["invoice.sent", "order.*"] })
      const disabled = yield* makeEndpoint(ws, { eventTypes: ["invoice.*"] })
      yield* disable(ws, disabled)
      const { deliveryIds, id } = yield* publish(ws)

      expect(yield* routesOf(ws, id)).toEqual({
        [wants]: route("sent", deliveryIds[0]),
        [other]: route("type"),
        [disabled]: route("missed")
      })
    })
  )

  it.effect("§4.6 an endpoint that the publish did not name was not chosen, whatever it wants", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const named = yield* makeEndpoint(ws, { eventTypes: ["order.paid"] })
      const disabled = yield* makeEndpoint(ws)
      const other = yield* makeEndpoint(ws)
      yield* disable(ws, disabled)
      const { body } = yield* ws.call("POST", "/events", {
        body: { eventType: "invoice.paid", payload: {}, endpointIds: [named, disabled] }
      })

      expect(yield* routesOf(ws, body.id)).toEqual({
        [named]: route("sent", (body.deliveryIds as ReadonlyArray<string>)[0]),
        [disabled]: route("missed"),
        [other]: route("not_chosen")
      })
    })
  )

  it.effect("§4.6 the latest delivery is named, whoever made it, and the reason stays", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const failing = yield* makeEndpoint(ws)
      const disabled = yield* makeEndpoint(ws)
      yield* disable(ws, disabled)
      const { deliveryIds, id } = yield* publish(ws)
      yield* observe(ws, deliveryIds[0]!, { status: "failed_permanent" })
      const { body: replay } = yield* ws.call("POST", `/webhooks/deliveries/${deliveryIds[0]}/replay`)
      yield* ws.call("PATCH", `/webhooks/${disabled}`, { body: { enabled: true } })
      const { body: job } = yield* ws.call("POST", `/webhooks/${disabled}/replays`, {
        body: { since: "2026-01-01T00:00:00Z", includeMissed: true }
      })
      for (const _ of [1, 2]) yield* sql`select posthorn.replay_step(${ws.workspaceId}, ${job.id}, 10, 10)`
      const routes = yield* routesOf(ws, id)

      expect(routes[failing]).toEqual(route("sent", replay.id))
      expect(routes[disabled]).toEqual(route("missed", expect.stringMatching(/^whd_/) as never))
    }).pipe(Effect.orDie)
  )

  it.effect(
    "§4.6 an endpoint that came, or was changed, after the publish is told from one that never fit",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const widened = yield* makeEndpoint(ws, { eventTypes: ["order.paid"] })
        const narrowed = yield* makeEndpoint(ws, { eventTypes: ["invoice.paid"] })
        const { deliveryIds, id } = yield* publish(ws)
        const later = yield* makeEndpoint(ws)
        const laterForOthers = yield* makeEndpoint(ws, { eventTypes: ["order.paid"] })
        yield* ws.call("PATCH", `/webhooks/${widened}`, { body: { eventTypes: ["*"] } })
        yield* ws.call("PATCH", `/webhooks/${narrowed}`, { body: { eventTypes: ["order.paid"] } })

        expect(yield* routesOf(ws, id)).toEqual({
          [widened]: route("changed_since"),
          [narrowed]: route("sent", deliveryIds[0]),
          [later]: route("created_later"),
          [laterForOthers]: route("created_later")
        })
      })
  )

  it.effect(
    "§6.3 a payload that cannot be judged went to endpoints with a filter, which is said of these alone",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const filtered = yield* makeEndpoint(ws, { filter: { name: "x" } })
        const plain = yield* makeEndpoint(ws)
        const { body } = yield* ws.call("POST", "/events", {
          text: '{"eventType":"invoice.paid","payload":{"name":"\\u0000"}}'
        })
        const refused = yield* publish(ws, "invoice.paid", { name: "y" })

        expect(yield* routesOf(ws, body.id)).toMatchObject({
          [filtered]: { reason: "unfilterable", deliveryId: expect.stringMatching(/^whd_/) },
          [plain]: { reason: "sent" }
        })
        expect(yield* routesOf(ws, refused.id)).toMatchObject({
          [filtered]: route("filter", null, { path: "/name", condition: "x" }),
          [plain]: { reason: "sent" }
        })
      })
  )

  it.effect("§4.6 an endpoint that was sent later what it had not seen keeps its reason", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const widened = yield* makeEndpoint(ws, { eventTypes: ["order.paid"] })
      const { id } = yield* publish(ws)
      yield* ws.call("PATCH", `/webhooks/${widened}`, { body: { eventTypes: ["*"] } })
      const { body: job } = yield* ws.call("POST", `/webhooks/${widened}/replays`, {
        body: { since: new Date(Date.now() - 60_000).toISOString(), includeUnsent: true }
      })
      for (const _ of [1, 2, 3]) yield* sql`select posthorn.replay_step(${ws.workspaceId}, ${job.id}, 10, 10)`

      expect(yield* routesOf(ws, id)).toEqual({
        [widened]: route("changed_since", expect.stringMatching(/^whd_/) as never)
      })
    }).pipe(Effect.orDie)
  )

  it.effect(
    "§4.6 what a filter does not let through is told with the first condition that does not hold",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const setting = (body: object) =>
          Effect.tap(makeEndpoint(ws, { eventTypes: ["order.paid"] }), (id) =>
            Effect.sync(() => later.push([id, { eventTypes: ["*"], ...body }]))
          )
        const later: Array<readonly [string, object]> = []
        const filtered = yield* setting({ filter: { total: { $gt: 10 }, currency: { $in: ["USD", "GBP"] } } })
        const equal = yield* setting({ filter: { currency: { $in: ["USD", "GBP"] } } })
        const fitting = yield* setting({ filter: { currency: "EUR" } })
        const { id } = yield* publish(ws, "invoice.paid", { total: 12, currency: "EUR" })
        for (const [endpointId, body] of later) yield* ws.call("PATCH", `/webhooks/${endpointId}`, { body })
        const because = { path: "/currency", condition: { $in: ["USD", "GBP"] } }

        expect(yield* routesOf(ws, id)).toEqual({
          [filtered]: route("filter", null, because),
          [equal]: route("filter", null, because),
          [fitting]: route("changed_since")
        })
        const { call } = yield* TestServer
        yield* call("POST", `/workspaces/${ws.slug}/events/${id}/purge`, { token: OPERATOR_TOKEN })
        expect(yield* routesOf(ws, id)).toMatchObject({ [filtered]: route("changed_since") })
      })
  )

  it.effect("§6.1 a payload that the caller may not see is judged by no filter", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const endpointId = yield* makeEndpoint(ws, { eventTypes: ["order.paid"] })
      yield* ws.call("POST", "/members", { body: { email: "z@example.com", name: "Z", role: "viewer" } })
      yield* ws.call("PATCH", `/webhooks/${endpointId}`, {
        body: { eventTypes: ["*"], filter: { email: "a@example.com" } }
      })
      const { body } = yield* ws.call("GET", "/events?eventType=member.added")
      const weak = yield* ws.tokenWith("webhook:list")
      const path = `/workspaces/${ws.slug}/events/${body.items[0]!.id}/routing`
      const routeFor = (token: string) =>
        Effect.map(call("GET", path, { token }), ({ body }) => body.items[0])
      const because = { path: "/email", condition: "a@example.com" }

      expect(yield* routeFor(ws.token)).toEqual({ endpointId, ...route("filter", null, because) })
      expect(yield* routeFor(weak)).toEqual({ endpointId, ...route("changed_since") })
    })
  )

  it.scoped(
    "§4.6 an endpoint whose creation was not committed when the publish looked was created later",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const client = yield* connect
        const endpointId = unknown("whe_")
        yield* Effect.promise(() => client.query("begin"))
        yield* Effect.promise(() =>
          client.query(
            `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
          values ($1, $2, 'https://example.com/', '{*}', true, '\\x00')`,
            [ws.workspaceId, endpointId]
          )
        )
        const { id } = yield* publish(ws)
        yield* Effect.promise(() => client.query("commit"))

        expect(yield* routesOf(ws, id)).toEqual({ [endpointId]: route("created_later") })
      })
  )

  it.effect(
    "§4.6 an endpoint is not told that it was disabled, and one that was failing then was left out",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const about = yield* makeEndpoint(ws, { eventTypes: ["invoice.paid", "webhook.*"] })
        const failing = yield* makeEndpoint(ws, { eventTypes: ["order.paid", "webhook.*"] })
        const told = yield* makeEndpoint(ws, { eventTypes: ["webhook.*"] })
        const { deliveryIds } = yield* publish(ws, "order.paid")
        yield* observe(ws, deliveryIds[0]!, { status: "failed" })
        yield* disable(ws, about)
        const { body } = yield* ws.call("GET", "/events?eventType=webhook.endpoint_disabled")

        expect(yield* routesOf(ws, body.items[0]!.id)).toEqual({
          [about]: route("about_itself"),
          [failing]: route("changed_since"),
          [told]: route("sent", expect.stringMatching(/^whd_/) as never)
        })
      })
  )

  it.effect(
    "§4.6 one endpoint alone; an endpoint or event of nobody, or of another workspace, is unknown",
    () =>
      Effect.gen(function* () {
        const { enter } = yield* TestServer
        const [ws, others] = [yield* enter, yield* enter]
        const mine = yield* makeEndpoint(ws)
        yield* makeEndpoint(ws)
        const theirs = yield* makeEndpoint(others)
        const { id } = yield* publish(ws)
        const { id: foreign } = yield* publish(others)
        const itemsFor = (endpointId: string) =>
          Effect.map(ws.call("GET", `/events/${id}/routing?endpointId=${endpointId}`), ({ body }) =>
            body.items.map((item) => item.endpointId)
          )

        expect(yield* itemsFor(mine)).toEqual([mine])
        expect([yield* itemsFor(theirs), yield* itemsFor(unknown("whe_"))]).toEqual([[], []])
        for (const eventId of [foreign, unknown("evt_")])
          expect(yield* ws.call("GET", `/events/${eventId}/routing`)).toMatchObject({
            status: 404,
            body: { _tag: "EventNotFound" }
          })
      })
  )

  it.scoped(
    "§8 a page reads a few rows for each endpoint, however many deliveries event and endpoint have",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const sql = yield* SqlClient
        const first = yield* makeEndpoint(ws)
        yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
        select ${ws.workspaceId}, 'whe_f' || lpad(n::text, 28, '0'), 'https://example.com/', '{*}', true, '\\x00'
        from generate_series(1, 1000) n`
        const { deliveryIds, id } = yield* publish(ws)
        for (let n = 0; n < 20; n++) yield* publish(ws)
        yield* sql`insert into posthorn.deliveries
          (workspace_id, id, endpoint_id, event_id, event_type, trace_id, status, replayed_from, created_at)
        select ${ws.workspaceId}, posthorn.new_id('whd_'), ${first}, ${id}, 'invoice.paid', 't', 'delivered', ${deliveryIds[0]},
          now() from generate_series(1, 1000)`
        yield* sql`insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
          select ${ws.workspaceId}, ${first}, ${id}, now() + n * interval '1 second' from generate_series(1, 1000) n`
        const rows = Effect.map(
          sql.unsafe<{ n: number }>(
            ["deliveries", "missed_events"].map((table) => `(${readRows(table)})`).join(" union all ")
          ),
          (found) => found.reduce((sum, { n }) => sum + n, 0)
        )
        const read = Effect.gen(function* () {
          const routing = yield* RoutingRepo
          const before = yield* rows
          const from = Option.none()
          const found = yield* routing.list(whole(ws.workspaceId), id as never, undefined, 10, from)
          expect(found).toHaveLength(11)
          return (yield* rows) - before
        }).pipe(sql.withTransaction, Effect.provide(RoutingRepo.Default))
        // With and without statistics, and with the plan that PostgreSQL keeps after five calls.
        const reads = yield* Effect.replicateEffect(read, 8)
        yield* sql`analyze posthorn.deliveries, posthorn.missed_events`
        const later = yield* Effect.replicateEffect(read, 8)

        expect(deliveryIds).toHaveLength(1001)
        expect(Math.max(...reads, ...later)).toBeLessThan(40)
      }).pipe(Effect.orDie)
  )
})
