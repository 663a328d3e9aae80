/** The list of console sessions: who sees it, who may end which, what ends with a session, and how many there may be. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { SESSIONS_OF_A_MAKER } from "@posthorn/capabilities/ConsoleSessions"
import { Effect, Redacted } from "effect"
import { codeOf, cookieOf, enterConsole, linkFor, OURS, openConsole, signIn } from "../ConsoleSignIn.ts"
import { unknown } from "../Fixtures.ts"
import {
  anotherServer,
  type Entered,
  entered,
  type Loose,
  OPERATOR_TOKEN,
  TestServer,
  testServer
} from "../TestServer.ts"

const member = (ws: Entered, name: string, role: string) =>
  Effect.map(
    ws.call("POST", "/members", { body: { email: `${name}@example.com`, name, role } }),
    ({ body }) => body.id
  )

const listed = (ws: Entered) => Effect.map(ws.call("GET", "/console-sessions"), ({ body }) => body.items)

const statusOf = ({
  use
}: {
  readonly use: (method: string, path: string) => Effect.Effect<{ status: number }, never, TestServer>
}) => Effect.map(use("GET", "/overview"), ({ status }) => status)

const audited = (ws: Entered) =>
  Effect.map(ws.call("GET", "/audit-events?limit=200"), ({ body }) =>
    body.items.filter(({ action }) => String(action).startsWith("console.session_"))
  )

layer(testServer(), { excludeTestServices: true })("console sessions", (it) => {
  it.effect("§11 lists who is signed in, newest first, with how they signed in, and never a secret", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const ada = yield* member(ws, "Ada", "developer")
      yield* signIn({ token: ws.token })
      yield* enterConsole(ws, { role: "viewer" })
      yield* enterConsole(ws, { memberId: ada }, OPERATOR_TOKEN)
      yield* enterConsole(ws, { scopes: ["webhook:list"] })

      const { body, text } = yield* ws.call("GET", "/console-sessions")
      const weak = yield* ws.call("GET", "/console-sessions", { token: yield* ws.tokenWith("audit:list") })

      const token = { type: "api_token", id: `tok_${ws.token.split("_")[1]}` }
      expect(body.items).toMatchObject([
        { memberId: null, role: null, via: "link", madeBy: token },
        { memberId: ada, role: "developer", via: "link", madeBy: { type: "operator", id: "operator" } },
        { memberId: null, role: "viewer", via: "link", madeBy: token },
        { memberId: null, role: null, via: "token", madeBy: token }
      ])
      expect(Object.keys(body.items[0]!).sort().join()).toBe(
        "createdAt,expiresAt,id,lastSeenAt,madeBy,memberId,role,via"
      )
      expect(text).not.toMatch(/secret|hash/)
      expect(weak).toMatchObject({ status: 403, body: { permission: "member:list" } })
    })
  )

  it.effect("§11 ends a session with everything made in it: links, sessions, and tokens with theirs", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const first = yield* enterConsole(ws, { role: "admin" }, OPERATOR_TOKEN)
      const link = () => Effect.map(first.use("POST", "/console-links", {}), ({ body }) => codeOf(body.url))
      const second = yield* openConsole(ws, yield* link())
      const unopened = yield* link()
      const made = yield* second.use<{ readonly token: string }>("POST", "/api-tokens", {
        name: "x",
        scopes: ["admin"]
      })
      const heir = yield* ws.call<{ readonly token: string }>("POST", "/api-tokens", {
        token: made.body.token,
        body: { name: "y", scopes: ["read"] }
      })
      // Signed out earlier: what it made is found nevertheless.
      const { call } = yield* TestServer
      yield* call("DELETE", "/console/session", {
        headers: { ...OURS, cookie: second.cookie, "x-console": ws.slug }
      })
      const [{ id }] = (yield* listed(ws)) as unknown as readonly [Loose]

      const answers = [yield* ws.call("DELETE", `/console-sessions/${id}`)]
      answers.push(yield* ws.call("DELETE", `/console-sessions/${id}`))
      answers.push(yield* ws.call("DELETE", `/console-sessions/${unknown("ses_")}`))

      expect(answers.map(({ body, status }) => [status, body._tag])).toEqual([
        [204, undefined],
        [204, undefined],
        [404, "ConsoleSessionNotFound"]
      ])
      expect([yield* statusOf(first), (yield* signIn({ code: unopened })).status]).toEqual([401, 401])
      for (const { token } of [made.body, heir.body])
        expect((yield* ws.call("GET", "/overview", { token })).status).toBe(401)
      expect(yield* listed(ws)).toEqual([])
    })
  )

  it.effect("§11 signing out ends the sessions that were opened from it, and leaves tokens alone", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* TestServer
      const first = yield* enterConsole(ws)
      const made = yield* first.use<{ readonly token: string }>("POST", "/api-tokens", {
        name: "x",
        scopes: ["read"]
      })
      const link = yield* first.use("POST", "/console-links", {})
      const second = yield* openConsole(ws, codeOf(link.body.url))

      yield* call("DELETE", "/console/session", {
        headers: { ...OURS, cookie: first.cookie, "x-console": ws.slug }
      })

      expect([yield* statusOf(first), yield* statusOf(second)]).toEqual([401, 401])
      expect((yield* ws.call("GET", "/overview", { token: made.body.token })).status).toBe(200)
      expect((yield* audited(ws)).map(({ action, actor }) => [action, actor])).toMatchObject([
        ["console.session_ended", { type: "api_token", via: "console" }],
        ["console.session_ended", { type: "api_token", via: "console" }],
        ["console.session_opened", { type: "api_token", via: "console" }],
        ["console.session_opened", { type: "api_token", via: "console" }]
      ])
    })
  )

  it.effect("§11 everybody may end their own sessions, and others' only with member:manage", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const [ada, bob] = [yield* member(ws, "Ada", "viewer"), yield* member(ws, "Bob", "viewer")]
      const [adas, again, bobs] = [
        yield* enterConsole(ws, { memberId: ada }),
        yield* enterConsole(ws, { memberId: ada }),
        yield* enterConsole(ws, { memberId: bob })
      ]
      const weak = yield* ws.tokenWith("webhook:list", "console:link")
      const weaks = yield* enterConsole(ws, {}, weak)
      const visitors = yield* enterConsole(ws, { role: "viewer" })
      const ids = (yield* listed(ws)).map(({ id }) => id)
      const [ofVisitor, ofWeak, ofBob, ofAdaAgain, ofAda] = ids as [string, string, string, string, string]
      const by = (caller: typeof adas, id: string) =>
        Effect.map(caller.use("DELETE", `/console-sessions/${id}`), ({ status }) => status)

      // A visitor's session belongs to the admin's token, which made several.
      const refused = [yield* by(adas, ofBob), yield* by(weaks, ofAda), yield* by(visitors, ofAda)]
      const own = [yield* by(adas, ofAdaAgain), yield* by(bobs, ofBob), yield* by(visitors, ofVisitor)]
      const made = yield* ws.call("DELETE", `/console-sessions/${ofWeak}`, { token: weak })

      expect(refused).toEqual([403, 403, 403])
      expect([...own, made.status]).toEqual([204, 204, 204, 204])
      const after = yield* Effect.forEach([adas, again, bobs, weaks, visitors], statusOf)
      expect(after).toEqual([200, 401, 401, 401, 401])
    })
  )

  it.effect("§11 a maker has at most 20 sessions: the oldest ends when another is opened", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const other = yield* ws.tokenWith("admin")
      const another = yield* enterConsole(ws, {}, other)
      const all = yield* Effect.forEach(Array.from({ length: SESSIONS_OF_A_MAKER + 1 }), () =>
        enterConsole(ws)
      )

      expect(SESSIONS_OF_A_MAKER).toBe(20)
      expect(yield* listed(ws)).toHaveLength(21)
      const [oldest, next] = all as [typeof another, typeof another]
      expect(yield* Effect.forEach([oldest, next, another], statusOf)).toEqual([401, 200, 200])
    })
  )

  it.scoped("§11 the operator's links and sessions end with the operator's token", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* anotherServer({
        operatorTokens: [{ name: null, token: Redacted.make("another-operators-token-now") }]
      })
      const ofToken = yield* enterConsole(ws)
      const ofOperator = yield* enterConsole(ws, { role: "admin" }, OPERATOR_TOKEN)
      const link = yield* ofOperator.use("POST", "/console-links", {})
      const successor = yield* openConsole(ws, codeOf(link.body.url))
      const code = yield* linkFor(ws, {}, OPERATOR_TOKEN)
      const there = (cookie: string) =>
        Effect.map(
          call("GET", `/console/api/workspaces/${ws.slug}/overview`, { headers: { ...OURS, cookie } }),
          ({ status }) => status
        )

      const signedIn = yield* call("POST", "/console/session", { body: { code }, headers: OURS })
      const seen = yield* call("GET", `/workspaces/${ws.slug}/console-sessions`, { token: ws.token })

      expect(yield* Effect.forEach([ofToken, ofOperator, successor], statusOf)).toEqual([200, 200, 200])
      expect(yield* Effect.forEach([ofToken, ofOperator, successor], ({ cookie }) => there(cookie))).toEqual([
        200, 401, 401
      ])
      expect(signedIn.status).toBe(401)
      expect(seen.body.items).toHaveLength(1)
    })
  )

  it.scoped("§5.1 what came from one of several operators' tokens ends with it, and with no other", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const [old, present] = [
        { name: "ada", token: Redacted.make("the-older-operators-token") },
        { name: "bob-2", token: Redacted.make("the-newer-operators-token") }
      ]
      const both = yield* anotherServer({ operatorTokens: [present, old] })
      const after = yield* anotherServer({ operatorTokens: [present] })
      const signInWith = ({ token }: typeof old) =>
        Effect.gen(function* () {
          const asOperator = { token: Redacted.value(token), body: {} }
          const link = yield* both.call("POST", `/workspaces/${ws.slug}/console-links`, asOperator)
          const body = { code: codeOf(link.body.url) }
          return cookieOf((yield* both.call("POST", "/console/session", { body, headers: OURS })).headers)
        })
      const named = ({ call }: typeof both) =>
        Effect.forEach([old, present], ({ token }) =>
          Effect.map(call("GET", "/caller", { token: Redacted.value(token) }), ({ body }) => body.name)
        )
      const cookies = yield* Effect.forEach([old, present], signInWith)
      const signedIn = ({ call }: typeof both) =>
        Effect.forEach(cookies, (cookie) =>
          Effect.map(
            call("GET", "/console/api/caller", { headers: { ...OURS, "x-console": ws.slug, cookie } }),
            ({ body, status }) => [status, body.name]
          )
        )

      expect(yield* named(both)).toEqual(["ada", "bob-2"])
      expect(yield* named(after)).toEqual([undefined, "bob-2"])
      expect(yield* signedIn(both)).toEqual([
        [200, "ada"],
        [200, "bob-2"]
      ])
      expect(yield* signedIn(after)).toEqual([
        [401, undefined],
        [200, "bob-2"]
      ])
    })
  )

  it.effect("§11 a link made in a session opens none after the session's token was revoked", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const token = yield* ws.tokenWith("admin")
      const code = yield* linkFor(ws, {}, token)
      yield* ws.call("DELETE", `/api-tokens/tok_${token.split("_")[1]}`)

      const opened = yield* signIn({ code })

      expect([opened.status, cookieOf(opened.headers)]).toEqual([401, ""])
    })
  )

  it.effect("§11 ends a session that is opened while the one it comes from is being ended", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const first = yield* enterConsole(ws)
      const [{ id }] = (yield* listed(ws)) as unknown as readonly [Loose]
      const successor = Effect.gen(function* () {
        const link = yield* first.use("POST", "/console-links", {})
        if (link.status === 201) yield* signIn({ code: codeOf(link.body.url) })
        yield* first.use("POST", "/api-tokens", { name: "x", scopes: ["read"] })
      })

      yield* Effect.all(
        [...Array.from({ length: 10 }, () => successor), ws.call("DELETE", `/console-sessions/${id}`)],
        { concurrency: "unbounded", discard: true }
      )

      const [left] = yield* sql`select
        (select count(*)::int from posthorn.console_sessions
          where workspace_id = ${ws.workspaceId} and ended_at is null) as sessions,
        (select count(*)::int from posthorn.api_tokens
          where workspace_id = ${ws.workspaceId} and session_id is not null and revoked_at is null) as tokens`
      expect(left).toEqual({ sessions: 0, tokens: 0 })
    })
  )
})

layer(testServer({ quotas: { rest_read: { limit: 5, windowSeconds: 60 } } }), { excludeTestServices: true })(
  "console sessions and buckets",
  (it) => {
    it.effect("§8.1 a session's calls count for its token", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const sessions = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => enterConsole(ws))

        expect(yield* Effect.forEach(sessions, statusOf)).toEqual([200, 200, 200, 200, 200, 429])
      })
    )
  }
)
