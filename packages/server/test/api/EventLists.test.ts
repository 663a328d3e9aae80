/** Lists of events and event types: what was published, when, how often, and which endpoints match. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, publish, unknown, walk } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const inNewWorkspace = Effect.flatMap(TestServer, ({ enter }) => enter)

/** Moves an event's id and time back by this many hours. */
const age = (ws: Entered, eventId: string, hours: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`delete from posthorn.missed_events where workspace_id = ${ws.workspaceId} and event_id = ${eventId}`
    // A trigger refuses changes of ids, except in a session with the replica role.
    const asReplica = sql`set local session_replication_role = replica`
    const [row] = yield* Effect.zipRight(
      asReplica,
      sql<{ id: string }>`
      update posthorn.events set created_at = created_at - ${hours} * interval '1 hour',
        id = posthorn.id_at('evt_', created_at - ${hours} * interval '1 hour') || right(id, 16)
      where workspace_id = ${ws.workspaceId} and id = ${eventId} returning id`
    ).pipe(sql.withTransaction)
    return row!.id
  }).pipe(Effect.orDie)

layer(testServer(), { excludeTestServices: true })("events", (it) => {
  it.effect("§4.5 an event shows what was published and how many deliveries it had at that moment", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      yield* makeEndpoint(ws)
      const gone = yield* makeEndpoint(ws, { eventTypes: ["invoice.*"] })
      yield* makeEndpoint(ws, { enabled: false })
      yield* makeEndpoint(ws, { eventTypes: ["order.*"] })
      const text = '{"eventType":"invoice.paid","payload":{"b":1.50,"a":12345678901234567890}}'
      const published = yield* ws.call("POST", "/events", { text })
      yield* ws.call("DELETE", `/webhooks/${gone}`)

      const answer = yield* ws.call("GET", `/events/${published.body.id}`)

      expect(answer.body).toEqual({
        id: published.body.id,
        eventType: "invoice.paid",
        payload: expect.anything(),
        traceId: published.headers.get("x-trace-id"),
        actor: { type: "api_token", id: expect.stringMatching(/^tok_/), via: "rest" },
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        purgedAt: null,
        deliveries: 2,
        missed: 1,
        endpointIds: null,
        retry: true
      })
      expect(answer.text).toContain('"payload":{"b":1.50,"a":12345678901234567890}')
      const unheard = yield* publish(ws, "nobody.listens")
      expect((yield* ws.call("GET", `/events/${unheard.id}`)).body).toMatchObject({
        deliveries: 1,
        missed: 1
      })
      const nobodys = yield* ws.call("GET", `/events/${unknown("evt_")}`)
      expect(nobodys).toMatchObject({ status: 404, body: { _tag: "EventNotFound" } })
    })
  )

  it.effect(
    "§4.5 an event keeps who published it: over REST, from SQL, or by a change in Posthorn; a test send too",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const ws = yield* inNewWorkspace
        const endpoint = yield* makeEndpoint(ws, { eventTypes: ["*"] })
        const [bySql] = yield* sql<{ id: string; role: string }>`
        select id, session_user::text as role from posthorn.publish(${ws.slug}, 'sql.made', '1')`
        const member = { email: "a@example.com", name: "A", role: "viewer" }
        yield* ws.call("POST", "/members", { body: member })
        const { body: batch } = yield* ws.call("POST", "/events/batch", {
          body: { events: [{ eventType: "rest.made", payload: 1 }] }
        })
        const test = yield* ws.call("POST", `/webhooks/${endpoint}/test-event`, { body: {} })

        const { body } = yield* ws.call("GET", "/events")
        const token = { type: "api_token", id: expect.stringMatching(/^tok_/), via: "rest" }
        expect(body.items.map(({ actor, eventType }) => [eventType, actor])).toEqual([
          ["rest.made", token],
          ["member.added", token],
          ["sql.made", { type: "system", id: bySql!.role, via: "sql" }],
          ["api_token.created", { type: "operator", id: "operator", via: "rest" }]
        ])
        const actorsOf = (id: string) =>
          Effect.map(ws.call("GET", `/trace/${id}`), (trace) =>
            trace.body.items.map(({ actor, kind, test }) => [kind, actor, test])
          )
        expect(yield* actorsOf(String((batch.items as ReadonlyArray<{ id: string }>)[0]!.id))).toEqual([
          ["event", token, undefined],
          ["delivery", null, false]
        ])
        expect(yield* actorsOf(String(test.body.id))).toEqual([["delivery", token, true]])
      }).pipe(Effect.orDie)
  )

  it.effect("§4.5 a batch counts deliveries and misses for each of its events separately", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      yield* makeEndpoint(ws, { eventTypes: ["a.*"] })
      yield* makeEndpoint(ws, { eventTypes: ["a.b"] })
      yield* makeEndpoint(ws, { eventTypes: ["b"], enabled: false })
      const events = ["b", "a.b", "c", "a.c"].map((eventType) => ({ eventType, payload: null }))

      const { body } = yield* ws.call("POST", "/events/batch", { body: { events } })
      const read = yield* Effect.forEach(body.items, ({ id }) => ws.call("GET", `/events/${id}`))

      expect(read.map((one) => [one.body.eventType, one.body.deliveries, one.body.missed])).toEqual([
        ["b", 0, 1],
        ["a.b", 2, 0],
        ["c", 0, 0],
        ["a.c", 1, 0]
      ])
    })
  )

  it.effect("§6.1 payloads about members and tokens are null for callers that may not list those", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      yield* makeEndpoint(ws, { eventTypes: ["*"] })
      const token = yield* ws.tokenWith("webhook:read")
      yield* ws.call("POST", "/members", { body: { email: "ada@b.example", name: "Ada", role: "viewer" } })
      yield* publish(ws, "a.b", { open: true })
      const read = (path: string, by: string) =>
        Effect.map(ws.call("GET", path, { token: by }), ({ body }) =>
          (body.items ?? [body]).map(({ eventType, payload }) => [eventType, payload !== null])
        )
      const ids = (yield* ws.call("GET", "/events")).body.items.map(({ id }) => id)
      const paths = ["/events", "/webhooks/deliveries"]

      for (const path of paths) {
        const toOthers = Object.fromEntries(yield* read(path, token))
        const toAdmin = Object.fromEntries(yield* read(path, ws.token))
        expect(toOthers).toEqual({ "a.b": true, "member.added": false, "api_token.created": false })
        expect(toAdmin).toEqual({ "a.b": true, "member.added": true, "api_token.created": true })
      }
      const each = yield* Effect.forEach(ids, (id) => read(`/events/${id}`, token))
      expect(Object.fromEntries(each.flat())).toMatchObject({ "a.b": true, "member.added": false })
      const withMembers = yield* ws.tokenWith("read")
      expect(Object.fromEntries(yield* read("/events", withMembers))).toMatchObject({
        "member.added": true,
        "api_token.created": false
      })
    })
  )

  it.effect("§4.5 events are listed newest first, including Posthorn's own and without test sends", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      const first = yield* publish(ws, "a")
      const second = yield* publish(ws, "b")
      yield* ws.call("POST", `/webhooks/${endpointId}/test-event`)
      yield* ws.call("POST", "/members", { body: { email: "a@example.com", name: "A", role: "viewer" } })

      const { items, pages } = yield* walk(ws.call, "/events", 1)

      const types = items.map(({ eventType }) => eventType)
      expect(types).toEqual(["member.added", "b", "a", "api_token.created"])
      expect(items.map(({ id }) => id)).toEqual(
        items
          .map(({ id }) => id)
          .toSorted()
          .toReversed()
      )
      expect(items.slice(1, 3).map(({ id }) => id)).toEqual([second.id, first.id])
      expect(pages).toBe(4)
      const nonsense = yield* ws.call("GET", "/events?cursor=nonsense")
      expect(nonsense.body).toEqual({ items: [], nextCursor: null })
    })
  )

  it.effect("§4.5 events are filtered by type and time, since inclusive and until exclusive", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const ids: Array<string> = []
      for (const hours of [50, 40, 30]) ids.unshift(yield* age(ws, (yield* publish(ws, "a")).id, hours))
      yield* age(ws, (yield* publish(ws, "b")).id, 35)
      const at = (yield* ws.call("GET", `/events/${ids[1]}`)).body.createdAt as string
      const of = (query: string) =>
        Effect.map(ws.call("GET", `/events?${query}`), ({ body }) => body.items.map(({ id }) => id))

      expect(yield* of("eventType=a")).toEqual(ids)
      expect(yield* of(`eventType=a&since=${at}`)).toEqual(ids.slice(0, 2))
      expect(yield* of(`eventType=a&until=${at}`)).toEqual(ids.slice(2))
      expect(yield* of(`since=${at}&until=${at}`)).toEqual([])
      expect(yield* of("eventType=a&since=1960-01-01T00:00:00Z")).toEqual(ids)
      expect(yield* of("eventType=a&until=9999-01-01T00:00:00Z")).toEqual(ids)
      expect(yield* of("eventType=A")).toEqual([])
      for (const wrong of ["eventType=a..b", "since=yesterday", "until=", "payload=none"]) {
        expect((yield* ws.call("GET", `/events?${wrong}`)).body._tag).toBe("InvalidRequest")
      }
    })
  )

  it.effect("§4.5 REST shows payloads unless told to omit them, a tool only when told to include them", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      yield* publish(ws, "a", { total: 7 })
      const lists: ReadonlyArray<readonly [string, string, object]> = [
        ["/events", "list_events", {}],
        ["/webhooks/deliveries", "list_workspace_webhook_deliveries", {}],
        [`/webhooks/${endpointId}/deliveries`, "list_webhook_deliveries", { endpointId }]
      ]

      for (const [path, tool, args] of lists) {
        const rest = (query: string) =>
          Effect.map(ws.call("GET", `${path}?${query}`), ({ body }) => body.items[0]!.payload)
        const mcp = (more: object) =>
          Effect.map(
            callTool(url, ws.token, tool, { ...args, ...more }),
            ({ structuredContent }) => (structuredContent as Loose).items[0]!.payload
          )

        expect([yield* rest(""), yield* rest("payload=include")]).toEqual([{ total: 7 }, { total: 7 }])
        expect(yield* rest("payload=omit")).toBeNull()
        expect([yield* mcp({}), yield* mcp({ payload: "omit" })]).toEqual([null, null])
        expect(yield* mcp({ payload: "include" })).toEqual({ total: 7 })
      }
    })
  )

  it.effect("§4.3 a page of large payloads ends early, and the next one continues there", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const payload = "x".repeat(1_000_000)
      const ids: Array<string> = []
      for (let n = 0; n < 7; n++) ids.unshift((yield* publish(ws, "large", payload)).id)

      const { items, pages } = yield* walk(ws.call, "/events?eventType=large", 50)

      expect(items.map(({ id }) => id)).toEqual(ids)
      expect(pages).toBe(4)
    })
  )

  it.effect("§4.5 deliveries of one event are found by it, including replays", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const endpointId = yield* makeEndpoint(ws)
      yield* makeEndpoint(ws)
      const event = yield* publish(ws)
      yield* publish(ws)
      const sql = yield* SqlClient
      yield* sql`update posthorn.deliveries set status = 'dead_lettered'
        where workspace_id = ${ws.workspaceId} and endpoint_id = ${endpointId}`
      const [source] = (yield* ws.call(
        "GET",
        `/webhooks/deliveries?eventId=${event.id}&endpointId=${endpointId}`
      )).body.items
      const replay = yield* ws.call("POST", `/webhooks/deliveries/${source!.id}/replay`)

      const { items } = yield* walk(ws.call, `/webhooks/deliveries?eventId=${event.id}`, 1)
      const pending = yield* ws.call("GET", `/webhooks/deliveries?eventId=${event.id}&status=pending`)

      expect(items.map(({ id }) => id)).toEqual([
        replay.body.id,
        ...[...event.deliveryIds].sort().toReversed()
      ])
      expect(pending.body.items.length).toBe(2)
      for (const nobodys of [unknown("evt_"), "nonsense"]) {
        const page = yield* ws.call("GET", `/webhooks/deliveries?eventId=${nobodys}`)
        expect(page.body).toEqual({ items: [], nextCursor: null })
      }
    })
  )
})

layer(testServer(), { excludeTestServices: true })("event types", (it) => {
  it.effect("§4.5 each type has its last time, its last 24 hours, and how many enabled endpoints match", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      yield* makeEndpoint(ws, { eventTypes: ["*", "order.*", "order.line.added"] })
      yield* makeEndpoint(ws, { eventTypes: ["order.line.*"] })
      yield* makeEndpoint(ws, { eventTypes: ["order.*"], enabled: false })
      for (const type of ["order", "order.line.added", "Order", "order"]) yield* publish(ws, type)
      yield* age(ws, (yield* publish(ws, "order")).id, 25)
      const old = yield* age(ws, (yield* publish(ws, "order_old")).id, 26)
      yield* age(ws, (yield* publish(ws, "order.forgotten")).id, 31 * 24)

      const { items, pages } = yield* walk(ws.call, "/event-types", 1)

      expect(items.map(({ eventType, lastDay, endpoints }) => [eventType, lastDay, endpoints])).toEqual([
        ["Order", 1, 1],
        ["api_token.created", 1, 1],
        ["order", 2, 1],
        ["order.line.added", 1, 2],
        ["order_old", 0, 1]
      ])
      expect(pages).toBe(5)
      const { createdAt } = (yield* ws.call("GET", `/events/${old}`)).body
      expect(items.at(-1)!.lastSeenAt).toBe(createdAt)
      const nonsense = yield* ws.call("GET", "/event-types?cursor=nonsense")
      expect(nonsense.body).toEqual({ items: [], nextCursor: null })
    })
  )
})
