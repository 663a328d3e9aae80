import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { Effect, Fiber } from "effect"
import { connect, makeEndpoint, walk } from "../Fixtures.ts"
import { type Call, type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const create = (call: Call, body: object) =>
  call<{ id: string; token: string }>("POST", "/api-tokens", { body })

layer(testServer(), { excludeTestServices: true })("API tokens", (it) => {
  it.effect("§5.1 shows a token once, keeps a hash, and lets no cache keep the answer", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient

      const created = yield* create(ws.call, { name: "CI", scopes: ["event:publish", "read"] })
      const listed = yield* ws.call("GET", "/api-tokens")
      const [row] = yield* sql<{ hash: Buffer; whole: string }>`
        select secret_hash as hash, t::text as whole from posthorn.api_tokens t where id = ${created.body.id}`

      const { token } = created.body
      const secret = token.split("_")[2]!
      expect(created.status).toBe(201)
      expect(created.headers.get("cache-control")).toBe("no-store")
      expect(token).toMatch(/^phk_[0-9a-f]{29}_[0-9a-f]{64}_[0-9a-f]{8}$/)
      expect(created.body).toEqual({
        id: expect.stringMatching(/^tok_[0-9a-f]{29}$/),
        name: "CI",
        scopes: ["event:publish", "read"],
        createdAt: expect.stringMatching(/\.\d{3}Z$/),
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
        createdBy: { type: "api_token", id: `tok_${ws.token.split("_")[1]}` },
        token
      })
      expect(listed.text).not.toContain(secret)
      expect(row!.whole).not.toContain(secret)
      expect(row!.hash).toEqual(createHash("sha256").update(secret).digest())
    })
  )

  it.effect("§4 lists tokens newest first, revoked ones included", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const made: Array<string> = []
      for (let n = 0; n < 4; n++)
        made.push((yield* create(ws.call, { name: `${n}`, scopes: ["read"] })).body.id)
      yield* ws.call("DELETE", `/api-tokens/${made[1]}`)

      const { items } = yield* walk(ws.call, "/api-tokens", 2)

      expect(items.slice(0, 4).map(({ id }) => id)).toEqual([...made].reverse())
      expect(items[2]!.revokedAt).toMatch(/\.\d{3}Z$/)
      expect(items.every((item) => !("token" in item))).toBe(true)
    })
  )

  it.effect("§5.1 revokes a token at once, and repeats without a change", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      yield* makeEndpoint(ws, { eventTypes: ["api_token.*"] })
      const { id, token } = (yield* create(ws.call, { name: "CI", scopes: ["read"] })).body
      const use = () => call("GET", `/workspaces/${ws.slug}/webhooks`, { token })
      const before = yield* use()

      const revoked = yield* ws.call("DELETE", `/api-tokens/${id}`)
      const after = yield* use()
      const stamp = (yield* ws.call("GET", "/api-tokens")).body.items[0]!.revokedAt
      const again = yield* ws.call("DELETE", `/api-tokens/${id}`)

      expect([before.status, revoked.status, revoked.text, after.status]).toEqual([200, 204, "", 401])
      expect(again.status).toBe(204)
      expect((yield* ws.call("GET", "/api-tokens")).body.items[0]!.revokedAt).toBe(stamp)
      const audited = (yield* ws.call("GET", "/audit-events")).body.items.filter(
        ({ target }) => (target as { readonly id: string }).id === id
      )
      expect(audited.map(({ action, changes }) => [action, changes])).toEqual([
        ["api_token.revoked", { fields: ["revokedAt"], name: "CI" }],
        [
          "api_token.created",
          { fields: ["name", "scopes", "expiresAt"], name: "CI", scopes: ["read"], expiresAt: null }
        ]
      ])
      const events = (yield* ws.call("GET", "/webhooks/deliveries")).body.items
      expect(events.map(({ eventType, payload }) => [eventType, payload])).toEqual([
        ["api_token.revoked", { tokenId: id, name: "CI" }],
        ["api_token.created", { tokenId: id, name: "CI", scopes: ["read"] }]
      ])
    })
  )

  it.effect("§5.1 notices within a second that another process revoked a token", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const sql = yield* SqlClient
      const forgetting = Effect.gen(function* () {
        const { id, token } = (yield* create(ws.call, { name: "CI", scopes: ["read"] })).body
        const use = Effect.map(
          call("GET", `/workspaces/${ws.slug}/webhooks`, { token }),
          ({ status }) => status
        )
        expect(yield* use).toBe(200)
        yield* sql`update posthorn.api_tokens set revoked_at = now() where id = ${id}`
        const revokedAt = performance.now()
        yield* Effect.repeat(use, { until: (status) => status === 401 })
        return performance.now() - revokedAt
      }).pipe(Effect.timeout("30 seconds"))

      expect(yield* atBest(1000, forgetting, (ms) => ms)).toBeLessThan(1000)
    })
  )

  it.effect("§5 grants no more than the creator may do", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const as =
        (token: string): Call =>
        (method, path, options) =>
          ws.call(method, path, { token, ...options })
      const creator = as(yield* ws.tokenWith("token:create", "webhook:list"))

      const fewer = yield* create(creator, { name: "x", scopes: ["webhook:read"] })
      const same = yield* create(creator, { name: "x", scopes: ["token:create", "webhook:list"] })
      const more = yield* create(creator, { name: "x", scopes: ["webhook:read", "webhook:create"] })
      const bundle = yield* create(creator, { name: "x", scopes: ["read"] })
      const without = yield* create(as(yield* ws.tokenWith("read")), { name: "x", scopes: ["read"] })
      const operator = yield* call("POST", `/workspaces/${ws.slug}/api-tokens`, {
        token: OPERATOR_TOKEN,
        body: { name: "x", scopes: ["admin"] }
      })

      expect([fewer.status, same.status, operator.status]).toEqual([201, 201, 201])
      expect(more).toMatchObject({ status: 403, body: { _tag: "Forbidden", permission: "webhook:create" } })
      expect(bundle).toMatchObject({ status: 403, body: { _tag: "Forbidden" } })
      expect(without).toMatchObject({ status: 403, body: { permission: "token:create" } })
    })
  )

  it.effect("§5.1 accepts an expiry in the future only, and refuses the token from then on", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const sql = yield* SqlClient
      const withEnd = (expiresAt: unknown) => create(ws.call, { name: "x", scopes: ["read"], expiresAt })

      const good = yield* withEnd("2999-01-31T01:00:00+01:00")
      const none = yield* withEnd(null)
      const bad = ["2020-01-01T00:00:00Z", "2999-02-30T00:00:00Z", "2999-01-01", "soon", "", 5]
      for (const end of bad) {
        const refused = yield* withEnd(end)
        expect(refused, String(end)).toMatchObject({
          status: 400,
          body: { issues: [{ path: "/expiresAt" }] }
        })
      }
      yield* sql`update posthorn.api_tokens set expires_at = now() where id = ${none.body.id}`
      const ended = yield* call("GET", `/workspaces/${ws.slug}/webhooks`, { token: none.body.token })

      expect(good).toMatchObject({ status: 201, body: { expiresAt: "2999-01-31T00:00:00.000Z" } })
      expect(ended.status).toBe(401)
    })
  )

  it.effect("§5.1 knows when a token was last used, to the minute", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const ws = yield* entered
      const { id, token } = (yield* create(ws.call, { name: "x", scopes: ["read"] })).body

      yield* call("GET", `/workspaces/${ws.slug}/webhooks`, { token })
      const lastUsed = Effect.map(ws.call("GET", "/api-tokens"), ({ body }) =>
        String(body.items.find((item) => item.id === id)!.lastUsedAt)
      )
      const seen = yield* Effect.repeat(lastUsed, { until: (at) => at !== "null" }).pipe(
        Effect.timeout("30 seconds")
      )

      expect(seen).toMatch(/:00\.000Z$/)
      expect(Math.abs(Date.now() - Date.parse(seen))).toBeLessThan(120_000)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("creating a token during another change", (it) => {
  /** Makes a token and, once that waits for the locked workspace, runs `meanwhile`. */
  const meanwhile = (token: string, ws: Entered, statement: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const aside = yield* connect
      const locked = `select from posthorn.workspaces where id = '${ws.workspaceId}' for update`
      yield* Effect.promise(() => aside.query(`begin; ${locked}`))
      const creating = yield* Effect.fork(
        ws.call("POST", "/api-tokens", { token, body: { name: "x", scopes: ["read"] } })
      )
      const waiting = sql`select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      yield* Effect.repeat(waiting, { until: (held) => held.length === 1 }).pipe(Effect.timeout("30 seconds"))
      yield* Effect.promise(() => aside.query(`${statement}; commit`))
      return yield* Fiber.join(creating)
    }).pipe(Effect.scoped)

  it.effect("§5.1 makes no token in a workspace that is just being deleted", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const answer = yield* meanwhile(
        ws.token,
        ws,
        `delete from posthorn.workspaces where id = '${ws.workspaceId}'`
      )

      expect(answer).toMatchObject({ status: 404, body: { _tag: "WorkspaceNotFound" } })
    })
  )

  it.effect("§5.2 makes no token for a token that is just being revoked", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { id, token } = (yield* create(ws.call, { name: "x", scopes: ["admin"] })).body

      const answer = yield* meanwhile(
        token,
        ws,
        `update posthorn.api_tokens set revoked_at = now() where id = '${id}'`
      )

      expect(answer).toMatchObject({ status: 401, body: { _tag: "Unauthorized" } })
    })
  )
})
