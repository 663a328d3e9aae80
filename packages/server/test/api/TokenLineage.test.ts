/** What a token passes on to the tokens it makes: its expiry, its name as the maker, and its revocation. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { codeOf, enterConsole, openConsole } from "../ConsoleSignIn.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

interface Made {
  readonly id: string
  readonly token: string
  readonly expiresAt: string | null
  readonly createdBy: unknown
}

/** A token made by another token. */
const make = (ws: Entered, maker: string, body: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    ws.call<Made>("POST", "/api-tokens", {
      token: maker,
      body: { name: "made", scopes: ["admin"], ...body }
    }),
    (answer) => answer.body
  )

const revoke = (ws: Entered, id: string, query = "") => ws.call("DELETE", `/api-tokens/${id}${query}`)

const audited = (ws: Entered) =>
  Effect.map(ws.call("GET", "/audit-events?limit=200"), ({ body }) =>
    body.items
      .filter(({ action }) => action === "api_token.revoked")
      .map(({ target }) => (target as { readonly id: string }).id)
  )

/** Which of these tokens are valid. */
const open = (ws: Entered, tokens: ReadonlyArray<Made>) =>
  Effect.filter(tokens, ({ token }) =>
    Effect.map(ws.call("GET", "/overview", { token }), ({ status }) => status === 200)
  )

layer(testServer(), { excludeTestServices: true })("tokens made by tokens", (it) => {
  it.effect("§5.2 a token expires no later than its maker, and a later expiry is shortened", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const end = "2999-06-01T00:00:00.000Z"
      const maker = yield* make(ws, ws.token, { expiresAt: end })

      const later = yield* make(ws, maker.token, { expiresAt: "2999-06-01T00:00:00.001Z" })
      const never = yield* make(ws, maker.token, { expiresAt: null })
      const silent = yield* make(ws, maker.token)
      const sooner = yield* make(ws, maker.token, { expiresAt: "2999-05-01T00:00:00Z" })
      const child = yield* make(ws, silent.token)
      const endless = yield* make(ws, ws.token)

      expect([later, never, silent, child].map(({ expiresAt }) => expiresAt)).toEqual([end, end, end, end])
      expect(sooner.expiresAt).toBe("2999-05-01T00:00:00.000Z")
      expect(endless.expiresAt).toBeNull()
    })
  )

  it.effect("§5.2 a token says who made it, and null when it is older than this record", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const sql = yield* SqlClient
      const ws = yield* entered
      const byToken = yield* make(ws, ws.token)
      const byOperator = yield* call<Made>("POST", `/workspaces/${ws.slug}/api-tokens`, {
        token: OPERATOR_TOKEN,
        body: { name: "x", scopes: ["read"] }
      })
      yield* sql`update posthorn.api_tokens set created_by_type = null, created_by_id = null where id = ${byOperator.body.id}`

      const { items } = (yield* ws.call("GET", "/api-tokens")).body
      const makers = items.map(({ createdBy }) => createdBy)

      expect(byToken.createdBy).toEqual({ type: "api_token", id: `tok_${ws.token.split("_")[1]}` })
      expect(byOperator.body.createdBy).toEqual({ type: "operator", id: "operator" })
      expect(makers).toEqual([null, byToken.createdBy, { type: "operator", id: "operator" }])
    })
  )

  it.effect("§5.2 revoking ends one token, with descendants=true all that it made, each audited", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const root = yield* make(ws, ws.token)
      const child = yield* make(ws, root.token)
      const grandchild = yield* make(ws, child.token)
      const second = yield* make(ws, root.token)
      const unrelated = yield* make(ws, ws.token)
      const all = [root, child, grandchild, second, unrelated]

      yield* revoke(ws, child.id)
      const afterOne = yield* open(ws, all)
      const answer = yield* revoke(ws, root.id, "?descendants=true")
      const afterAll = yield* open(ws, all)
      const trail = yield* audited(ws)
      const again = yield* revoke(ws, root.id, "?descendants=true")

      expect(afterOne).toEqual([root, grandchild, second, unrelated])
      expect([answer.status, again.status]).toEqual([204, 204])
      expect(afterAll).toEqual([unrelated])
      expect(trail.toSorted()).toEqual([child.id, root.id, grandchild.id, second.id].toSorted())
      expect(yield* audited(ws)).toEqual(trail)
    })
  )

  it.effect("§5.2 ends the descendants of a token that is already revoked, through MCP as well", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const ws = yield* entered
      const root = yield* make(ws, ws.token)
      const child = yield* make(ws, root.token)
      yield* revoke(ws, root.id)
      const before = yield* open(ws, [root, child])

      const result = yield* callTool(url, ws.token, "revoke_api_token", {
        tokenId: root.id,
        descendants: true
      })

      expect(before).toEqual([child])
      expect(result.isError).toBeUndefined()
      expect(yield* open(ws, [root, child])).toEqual([])
      expect(yield* audited(ws)).toEqual([child.id, root.id])
    })
  )

  it.effect(
    "§5.2 refuses a value of descendants that is neither true nor false, and ends nothing of another workspace",
    () =>
      Effect.gen(function* () {
        const [ws, other] = [yield* entered, yield* entered]
        const foreign = yield* make(other, other.token)

        const odd = yield* revoke(ws, foreign.id, "?descendants=yes")
        const strange = yield* revoke(ws, foreign.id, "?descendants=true")

        expect(odd).toMatchObject({ status: 400, body: { issues: [{ path: "/descendants" }] } })
        expect(strange).toMatchObject({ status: 404, body: { _tag: "ApiTokenNotFound" } })
        expect(yield* open(other, [foreign])).toEqual([foreign])
      })
  )

  /** A token, a link for a member made with it, the session that it opens, and so on, twice; then a token. */
  const chain = (ws: Entered) =>
    Effect.gen(function* () {
      const member = yield* ws.call("POST", "/members", {
        body: { email: "mallory@example.com", name: "Mallory", role: "admin" }
      })
      const leaked = yield* make(ws, OPERATOR_TOKEN)
      const first = yield* enterConsole(ws, { memberId: member.body.id }, leaked.token)
      const made = yield* first.use<{ readonly url: string }>("POST", "/console-links", {
        memberId: member.body.id
      })
      const second = yield* openConsole(ws, codeOf(made.body.url))
      const { body: token } = yield* second.use<Made>("POST", "/api-tokens", {
        name: "heir",
        scopes: ["admin"]
      })
      return { leaked, first, second, token, memberId: member.body.id }
    })

  it.effect(
    "§5.2 revoking a leaked token with descendants ends everything made through links and sessions",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { first, leaked, memberId, second, token } = yield* chain(ws)
        yield* second.use("POST", "/webhooks", { url: "https://example.com/x", eventTypes: ["*"] })
        const child = yield* make(ws, token.token)
        const { items } = (yield* ws.call("GET", "/audit-events?limit=200")).body
        const before = yield* Effect.all([first.use("GET", "/overview"), second.use("GET", "/overview")])

        yield* revoke(ws, leaked.id, "?descendants=true")
        const after = yield* Effect.all([first.use("GET", "/overview"), second.use("GET", "/overview")])

        expect(before.map(({ status }) => status)).toEqual([200, 200])
        expect(after.map(({ status }) => status)).toEqual([401, 401])
        expect(yield* open(ws, [token, child])).toEqual([])
        const root = { type: "api_token", id: leaked.id }
        const steps = items.filter(({ action }) => action !== "member.added").slice(0, -2)
        expect(steps.map(({ action, actor }) => [action, actor])).toMatchObject([
          ["api_token.created", { type: "api_token", id: token.id, root }],
          ["webhook.endpoint_created", { type: "member", id: memberId, root }],
          ["api_token.created", { type: "member", id: memberId, root }],
          ["console.session_opened", { type: "member", id: memberId, root }],
          ["console.link_created", { type: "member", id: memberId, root }],
          ["console.session_opened", { type: "member", id: memberId, root }],
          ["console.link_created", { type: "api_token", id: leaked.id, root: null }],
          ["api_token.created", { type: "operator", root: null }]
        ])
      })
  )

  it.effect("§5.2 a chain expires no later than any of its parts", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const end = "2999-06-01T00:00:00.000Z"
      const maker = yield* make(ws, ws.token, { expiresAt: end })
      const { use } = yield* enterConsole(ws, {}, maker.token)
      const inSession = yield* use<Made>("POST", "/api-tokens", { name: "x", scopes: ["read"] })
      yield* sql`update posthorn.console_sessions set expires_at = now() + interval '90 seconds'
        where workspace_id = ${ws.workspaceId}`

      const link = yield* use("POST", "/console-links", { expiresInSeconds: 3600 })
      yield* openConsole(ws, codeOf(link.body.url))
      const ends = yield* sql`select distinct expires_at from posthorn.console_sessions
        where workspace_id = ${ws.workspaceId}`

      expect(inSession.body.expiresAt).toBe(end)
      expect(ends).toEqual([{ expires_at: link.body.expiresAt }])
    })
  )

  it.effect("§5.2 ends a descendant that is made while its maker is being revoked", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const root = yield* make(ws, ws.token)
      const maker = yield* make(ws, root.token)

      const made = yield* Effect.all(
        [
          ...Array.from({ length: 12 }, () => make(ws, maker.token)),
          Effect.as(revoke(ws, root.id, "?descendants=true"), undefined)
        ],
        { concurrency: "unbounded" }
      )
      const tokens = made.filter((one): one is Made => one?.token !== undefined)

      expect(yield* open(ws, [root, maker, ...tokens])).toEqual([])
    })
  )
})
