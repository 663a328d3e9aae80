/** The audit logs by action, actor, target and time, and the names of actors. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeDelivery, makeEndpoint, observe, walk } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const find = ({ call }: Entered, query: Readonly<Record<string, string>>) =>
  Effect.map(call("GET", `/audit-events?${new URLSearchParams(query)}`), ({ body }) => body.items)
const actions = (items: ReadonlyArray<{ readonly [member: string]: unknown }>) =>
  items.map(({ action }) => action)

layer(testServer(), { excludeTestServices: true })("the audit log", (it) => {
  it.effect("§6 is filtered by action, actor, target and time, and by several at once", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* entered
      const [one, two] = [yield* makeEndpoint(ws), yield* makeEndpoint(ws)]
      const other = (yield* ws.call("POST", "/api-tokens", { body: { name: "ci", scopes: ["admin"] } })).body
      yield* ws.call("PATCH", `/webhooks/${one}`, {
        token: String(other.token),
        body: { description: "changed" }
      })
      yield* ws.call("DELETE", `/webhooks/${two}`)
      const updated = { action: "webhook.endpoint_updated" }
      const [change] = yield* find(ws, updated)

      expect(actions(yield* find(ws, { target: two }))).toEqual([
        "webhook.endpoint_deleted",
        "webhook.endpoint_created"
      ])
      expect(change).toMatchObject({
        actor: { type: "api_token", id: other.id, name: "ci", via: "rest" },
        target: { id: one }
      })
      expect(yield* find(ws, { actor: other.id })).toEqual([change])
      expect(yield* find(ws, { ...updated, actor: other.id, target: one })).toEqual([change])
      expect(yield* find(ws, { ...updated, target: two })).toEqual([])
      const at = String(change!.createdAt)
      expect(yield* find(ws, { ...updated, since: at })).toEqual([change])
      expect(yield* find(ws, { ...updated, until: at })).toEqual([])
      // Names of tokens are not unique, so they are found by id.
      expect(yield* find(ws, { actor: "ci" })).toEqual([])
      const tool = yield* callTool(url, ws.token, "list_audit_events", updated)
      expect(JSON.stringify(tool)).toContain(String(change!.id))
      const { items, pages } = yield* walk(ws.call, "/audit-events?action=webhook.endpoint_created", 1)
      expect([items.map(({ target }) => (target as { id: string }).id), pages]).toEqual([[two, one], 2])
    })
  )

  it.effect("§6 keeps the actor's name as it was, of replays too, also after the token is gone", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { deliveryId, endpointId } = yield* makeDelivery(ws)
      yield* observe(ws, deliveryId, { status: "failed_permanent", httpStatus: 404 })
      const { body: made } = yield* ws.call("POST", "/api-tokens", {
        body: { name: "support", scopes: ["admin"] }
      })
      const token = String(made.token)
      yield* ws.call("POST", `/webhooks/deliveries/${deliveryId}/replay`, { token })
      yield* ws.call("POST", `/webhooks/${endpointId}/replays`, {
        token,
        body: { since: "2026-01-01T00:00:00Z" }
      })
      yield* ws.call("DELETE", `/api-tokens/${made.id}`)

      const items = yield* find(ws, { actor: made.id })
      expect(actions(items)).toEqual(["webhook.replay_started", "webhook.delivery_replayed"])
      for (const { actor } of items) expect(actor).toMatchObject({ id: made.id, name: "support" })
      const [row] = yield* (yield* SqlClient)<{ name: string }>`
        select actor_name as name from posthorn.replays where workspace_id = ${ws.workspaceId}`
      expect(row!.name).toBe("support")
    }).pipe(Effect.orDie)
  )

  it.effect("§5.1 the operator's own log is filtered likewise", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const [one, two] = [yield* entered, yield* entered]
      const of = (query: string) =>
        Effect.map(call("GET", `/audit-events?${query}`, { token: OPERATOR_TOKEN }), ({ body }) => body.items)

      expect(yield* of(`target=${one.workspaceId}`)).toMatchObject([
        { action: "workspace.created", target: { id: one.workspaceId }, actor: { id: "operator" } }
      ])
      expect(yield* of(`target=${two.workspaceId}&action=workspace.deleted`)).toEqual([])
      expect((yield* of("actor=operator&limit=200")).length).toBeGreaterThan(1)
    })
  )

  it.effect("§4.3 a page reads a limited number of rows, and the next one continues there", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* entered
      const endpoint = yield* makeEndpoint(ws)
      yield* sql`insert into posthorn.audit_events
          (workspace_id, action, actor_type, actor_id, via, target_type, target_id, trace_id)
        select ${ws.workspaceId}, 'webhook.delivery_replayed', 'operator', 'operator', 'rest', 'webhook_delivery', 'whd_1', 'x'
        from generate_series(1, 10000)`
      const path = "/audit-events?action=webhook.endpoint_created"

      expect((yield* ws.call("GET", path)).body).toEqual({ items: [], nextCursor: expect.any(String) })
      const { items, pages } = yield* walk(ws.call, path, 50)
      expect([items.length, pages]).toEqual([1, 2])
      expect(items[0]).toMatchObject({ target: { id: endpoint } })
    }).pipe(Effect.orDie)
  )

  it.effect.each([
    ["action=webhook.nothing_done", "/action", ""],
    ["since=yesterday", "/since", "Expected a time"],
    ["since=2026-11-21T13:00:02+01:00", "/since", "write %2B"],
    ["actor=%00", "/actor", ""],
    ["by=me", "/by", ""]
  ])("§7.1 refuses ?%s", ([query, path, message]) =>
    Effect.gen(function* () {
      const { body } = yield* (yield* entered).call("GET", `/audit-events?${query}`)
      expect(body).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ path, message: expect.stringContaining(message!) }]
      })
    })
  )
})
