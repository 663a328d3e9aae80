/** Signing in to the console: who can, for how long, and that its cookie is accepted by the console only. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { Effect, Layer, Logger } from "effect"
import { codeOf, cookieOf, enterConsole, linkFor, OURS, signIn } from "../ConsoleSignIn.ts"
import { makeWorld, pathOf, sampleOf } from "../Samples.ts"
import { anotherServer, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const limitedServer = anotherServer({ quotas: { auth_failure: { limit: 3, windowSeconds: 600 } } })

layer(testServer(), { excludeTestServices: true })("signing in to the console", (it) => {
  it.effect("§11 opens by a link's code, with a cookie that exists only under /console", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const link = yield* ws.call("POST", "/console-links", { body: {} })
      const opened = yield* signIn({ code: codeOf(link.body.url) })

      expect(link.status).toBe(201)
      expect(link.headers.get("cache-control")).toBe("no-store")
      expect(link.body.url).toMatch(/^http:\/\/posthorn\.test\/console\/sign-in#code=[\w-]{32}$/)
      expect(opened.status).toBe(201)
      expect(opened.headers.get("set-cookie")).toMatch(
        /^__Host-posthorn_console_ws-\d+=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict; Secure$/
      )
    })
  )

  it.effect("§11 runs the same operations for a session, and audits them as via console", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { use } = yield* enterConsole(ws)

      const created = yield* use("POST", "/webhooks", {
        url: "https://example.com/hooks",
        eventTypes: ["*"]
      })
      const listed = yield* ws.call("GET", "/webhooks")
      const audit = yield* ws.call("GET", "/audit-events")

      expect(created.status).toBe(201)
      expect(created.headers.get("cache-control")).toBe("no-store")
      expect(listed.body.items.map(({ id }) => id)).toEqual([created.body.id])
      expect(audit.body.items.slice(0, 3)).toMatchObject([
        { action: "webhook.endpoint_created", actor: { type: "api_token", via: "console" } },
        { action: "console.session_opened", actor: { type: "api_token", via: "console" } },
        { action: "console.link_created", actor: { type: "api_token", via: "rest" } }
      ])
    })
  )

  it.effect("§5.1 accepts the cookie at no operation of the public API, nor at MCP", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const { cookie } = yield* enterConsole(ws)
      const world = yield* makeWorld(ws)

      for (const entry of entries) {
        const { body, query } = sampleOf(entry, world)
        const answer = yield* call(entry.method, pathOf(entry, world, query), {
          headers: { ...OURS, cookie },
          ...(body === undefined ? {} : { body })
        })
        expect([entry.name, answer.status]).toEqual([entry.name, 401])
      }
      const mcp = yield* call("POST", "/mcp", {
        headers: { ...OURS, cookie },
        body: { jsonrpc: "2.0", id: 1, method: "ping" }
      })
      expect(mcp.status).toBe(401)
    })
  )

  it.effect("§11 accepts no bearer token under /console/api", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      for (const token of [ws.token, OPERATOR_TOKEN]) {
        const answer = yield* call("GET", `/console/api/workspaces/${ws.slug}/webhooks`, {
          token,
          headers: OURS
        })
        expect([answer.status, answer.body._tag]).toEqual([401, "Unauthorized"])
      }
    })
  )

  it.effect("§11 refuses requests from other sites, and writes without the header", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const { cookie } = yield* enterConsole(ws)
      const path = `/console/api/workspaces/${ws.slug}/webhooks`
      const body = { url: "https://example.com/hooks", eventTypes: ["*"] }

      for (const site of ["cross-site", "same-site", "none"]) {
        const headers = { cookie, "sec-fetch-site": site, "x-console": "1" }
        expect((yield* call("GET", path, { headers })).status).toBe(403)
        expect((yield* call("POST", path, { headers, body })).status).toBe(403)
      }
      const refusal = yield* call("GET", path, { headers: { cookie } })
      expect([refusal.status, refusal.body._tag]).toEqual([403, "ForeignOrigin"])
      const unmarked = { cookie, "sec-fetch-site": "same-origin" }
      expect((yield* call("POST", path, { headers: unmarked, body })).status).toBe(403)
      expect((yield* call("GET", path, { headers: unmarked })).status).toBe(200)
      expect((yield* call("DELETE", "/console/session", { headers: unmarked })).status).toBe(403)
    })
  )

  it.effect("§11 no other site can sign a browser in", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const foreign = [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.example" }]
      for (const headers of foreign) {
        const answer = yield* signIn({ token: ws.token }, headers as never)
        expect([answer.status, answer.headers.get("set-cookie")]).toEqual([403, null])
      }
      const form = yield* Effect.flatMap(TestServer, ({ call }) =>
        call("POST", "/console/session", {
          text: `{"token":"${ws.token}"}`,
          headers: { "content-type": "text/plain" }
        })
      )
      expect(form.status).toBe(415)
    })
  )

  it.effect("§11 opens a code once, even when two requests come at the same moment", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const code = yield* linkFor(ws)

      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => signIn({ code })),
        { concurrency: 8 }
      )

      expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401, 401, 401, 401, 401])
      expect((yield* signIn({ code })).status).toBe(401)
    })
  )

  it.effect("§11 refuses an expired code, and stores only its hash", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const code = yield* linkFor(ws)
      const [stored] = yield* sql<{ row: string; minutes: number }>`
        select to_jsonb(l)::text as row, round(extract(epoch from expires_at - now()) / 60)::int as minutes
        from posthorn.console_links l where workspace_id = ${ws.workspaceId}`
      expect(stored!.row).not.toContain(code)
      expect(stored!.minutes).toBe(10)

      yield* sql`update posthorn.console_links set expires_at = now() - interval '1 second'
        where workspace_id = ${ws.workspaceId}`

      expect((yield* signIn({ code })).status).toBe(401)
    })
  )

  it.effect("§11 creates the session's secret itself: a planted one opens nothing", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const planted = `__Host-posthorn_console_${ws.slug}=${"A".repeat(43)}`

      const opened = yield* signIn({ code: yield* linkFor(ws) }, { ...OURS, cookie: planted })
      const again = yield* signIn({ token: ws.token }, { ...OURS, cookie: cookieOf(opened.headers) })

      const secrets = [planted, cookieOf(opened.headers), cookieOf(again.headers)]
      expect(new Set(secrets).size).toBe(3)
      const path = `/console/api/workspaces/${ws.slug}/webhooks`
      expect((yield* call("GET", path, { headers: { ...OURS, cookie: planted } })).status).toBe(401)
    })
  )

  it.effect("§11 ends the session with its token", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const made = yield* ws.call("POST", "/api-tokens", { body: { name: "P", scopes: ["admin"] } })
      const token = String(made.body.token)
      const { use } = yield* enterConsole(ws, { role: "viewer" }, token)
      const pasted = cookieOf((yield* signIn({ token })).headers)
      const usePasted = call("GET", `/console/api/workspaces/${ws.slug}/webhooks`, {
        headers: { ...OURS, cookie: pasted }
      })
      expect((yield* use("GET", "/webhooks")).status).toBe(200)
      expect((yield* usePasted).status).toBe(200)

      yield* ws.call("DELETE", `/api-tokens/${made.body.id}`)

      expect((yield* use("GET", "/webhooks")).status).toBe(401)
      expect((yield* usePasted).status).toBe(401)
    })
  )

  it.effect("§11 a session may do no more than its token, pasted or by a link", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const token = yield* ws.tokenWith("console:link", "webhook:list")
      const own = yield* call("GET", "/caller", { token })
      const cookies = [
        cookieOf((yield* signIn({ token })).headers),
        (yield* enterConsole(ws, {}, token)).cookie
      ]

      for (const cookie of cookies) {
        const headers = { ...OURS, cookie }
        const path = `/console/api/workspaces/${ws.slug}`
        const caller = yield* call("GET", "/console/api/caller", { headers })
        const listed = yield* call("GET", `${path}/webhooks`, { headers })
        const members = yield* call("GET", `${path}/members`, { headers })

        expect(caller.body.permissions).toEqual(own.body.permissions)
        expect(listed.status).toBe(200)
        expect(members).toMatchObject({ status: 403, body: { permission: "member:list" } })
      }
    })
  )

  it.effect("§11 reads a member's role at each call, and ends the session with the member", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const member = yield* ws.call("POST", "/members", {
        body: { email: "ada@example.com", name: "Ada", role: "viewer" }
      })
      const { use } = yield* enterConsole(ws, { memberId: member.body.id })
      const body = { url: "https://example.com/hooks", eventTypes: ["*"] }
      expect((yield* use("POST", "/webhooks", body)).status).toBe(403)

      yield* ws.call("PATCH", `/members/${member.body.id}`, { body: { role: "developer" } })
      expect((yield* use("POST", "/webhooks", body)).status).toBe(201)
      const audit = yield* ws.call("GET", "/audit-events?limit=1")
      expect(audit.body.items[0]).toMatchObject({
        actor: { type: "member", id: member.body.id, via: "console" }
      })

      yield* ws.call("DELETE", `/members/${member.body.id}`)
      expect((yield* use("GET", "/webhooks")).status).toBe(401)
    })
  )

  it.effect("§11 getCaller works through the console too", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const member = yield* ws.call("POST", "/members", {
        body: { email: "ada@example.com", name: "Ada", role: "viewer" }
      })
      const callerOf = (cookie: string) =>
        call("GET", "/console/api/caller", { headers: { ...OURS, cookie } })

      const asMember = yield* callerOf((yield* enterConsole(ws, { memberId: member.body.id })).cookie)
      const asToken = yield* callerOf((yield* enterConsole(ws, { role: "viewer" })).cookie)
      const asOperator = yield* callerOf((yield* enterConsole(ws, {}, OPERATOR_TOKEN)).cookie)

      const workspace = { slug: ws.slug, name: expect.any(String) }
      const viewer = ["webhook:read", "webhook:list", "member:list", "notification:list", "workspace:read"]
      expect(asMember.body).toMatchObject({ type: "member", name: "Ada", workspace, permissions: viewer })
      expect(asToken.body).toMatchObject({ type: "api_token", workspace, permissions: viewer })
      expect(asOperator.body).toMatchObject({ type: "operator", id: "operator", workspace })
    })
  )

  it.effect("§11 ends a session after 12 hours without a call, and after 7 days at the latest", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const { use } = yield* enterConsole(ws)
      const age = (column: "last_seen_at" | "expires_at", by: string) =>
        sql`update posthorn.console_sessions set ${sql(column)} = now() + ${by}::interval
          where workspace_id = ${ws.workspaceId}`
      const [fresh] = yield* sql<{ days: number }>`
        select round(extract(epoch from expires_at - now()) / 86400)::int as days
        from posthorn.console_sessions where workspace_id = ${ws.workspaceId}`
      expect(fresh!.days).toBe(7)

      yield* age("last_seen_at", "-11 hours 59 minutes")
      expect((yield* use("GET", "/webhooks")).status).toBe(200)
      const [touched] = yield* sql<{ recent: boolean }>`
        select last_seen_at > now() - interval '1 minute' as recent
        from posthorn.console_sessions where workspace_id = ${ws.workspaceId}`
      expect(touched!.recent).toBe(true)

      yield* age("last_seen_at", "-12 hours")
      expect((yield* use("GET", "/webhooks")).status).toBe(401)
      yield* age("last_seen_at", "0 hours")
      yield* age("expires_at", "-1 second")
      expect((yield* use("GET", "/webhooks")).status).toBe(401)
    })
  )

  it.effect("§11 signs out of the named workspace, and of no other, for good", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const { cookie, use } = yield* enterConsole(ws)
      const signOut = (slug: string) =>
        call("DELETE", "/console/session", { headers: { ...OURS, cookie, "x-console": slug } })

      const ofAnother = yield* signOut("another")
      const still = yield* use("GET", "/webhooks")
      const out = yield* signOut(ws.slug)

      expect([ofAnother.status, still.status, out.status]).toEqual([204, 200, 204])
      expect(out.headers.get("set-cookie")).toContain("Max-Age=0")
      expect((yield* use("GET", "/webhooks")).status).toBe(401)
    })
  )

  it.effect("§11 accepts a valid cookie, however many were planted beside it", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const { cookie } = yield* enterConsole(ws)
      const name = cookie.split("=")[0]!
      const junk = (each: string, n: number) => `${each}=${String(n).padStart(43, "x")}`
      const sameName = Array.from({ length: 60 }, (_, n) => junk(name, n))
      const others = Array.from({ length: 60 }, (_, n) => junk(name.replace(/_[^_]*$/, `_other-${n}`), n))
      const path = `/console/api/workspaces/${ws.slug}/webhooks`

      for (const pairs of [
        [...sameName, ...others, cookie],
        [cookie, ...others, ...sameName]
      ]) {
        const headers = { ...OURS, cookie: pairs.join("; ") }
        expect((yield* call("GET", path, { headers })).status).toBe(200)
        const { body } = yield* call("GET", "/console/session", { headers })
        expect(body.sessions).toMatchObject([{ workspace: { slug: ws.slug } }])
      }
    })
  )

  it.effect(
    "§8 a refused sign-in queries the database at most once, and not at all once the address is refused",
    () =>
      Effect.gen(function* () {
        const { call, enter } = yield* limitedServer
        const ws = yield* enter
        const good = yield* linkFor(ws)
        const tried = (code: string) => call("POST", "/console/session", { body: { code }, headers: OURS })
        const refused = yield* Effect.forEach([1, 2, 3, 4], (n) => tried(String(n).padStart(32, "x")))
        const late = yield* tried(good)

        expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 429])
        // It was not looked up, and so not used.
        expect(late.status).toBe(429)
        const other = yield* TestServer
        expect(
          (yield* other.call("POST", "/console/session", { body: { code: good }, headers: OURS })).status
        ).toBe(201)
      }).pipe(Effect.scoped)
  )

  it.scoped("§8 counts sign-ins that succeed too, and leaves a code that it did not take", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* anotherServer({ quotas: { rest_write: { limit: 2, windowSeconds: 600 } } })
      const tried = (body: unknown) => call("POST", "/console/session", { body, headers: OURS })
      const code = yield* linkFor(ws)
      const statuses = [
        yield* tried({ token: ws.token }),
        yield* tried({ token: ws.token }),
        yield* tried({ code })
      ].map(({ status }) => status)

      expect(statuses).toEqual([201, 201, 429])
      expect((yield* signIn({ code })).status).toBe(201)
    })
  )

  it.scoped("§8 accepts a valid code as soon as the window of failures is over", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* anotherServer({
        quotas: { auth_failure: { limit: 1, windowSeconds: 1 } }
      })
      const ws = yield* enter
      const good = yield* linkFor(ws)
      const tried = (code: string) => call("POST", "/console/session", { body: { code }, headers: OURS })
      yield* tried("x".repeat(32))
      // biome-ignore lint/plugin: half of a window
      yield* Effect.sleep("600 millis")
      // Told to wait for a whole second, although less than half of one is left.
      const over = yield* tried("y".repeat(32))
      // biome-ignore lint/plugin: half of a window
      yield* Effect.sleep("600 millis")

      expect([over.status, over.headers.get("retry-after")]).toEqual([429, "1"])
      expect((yield* tried(good)).status).toBe(201)
    })
  )

  it.effect("§11 gives no link more than its maker may do", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const token = yield* ws.tokenWith("console:link", "read", "webhook:list")
      const admin = yield* ws.call("POST", "/members", {
        body: { email: "boss@example.com", name: "Boss", role: "admin" }
      })
      const make = (body: unknown) => ws.call("POST", "/console-links", { token, body })

      expect((yield* make({ role: "viewer" })).status).toBe(201)
      expect((yield* make({ scopes: ["webhook:read"] })).status).toBe(201)
      for (const body of [{ role: "admin" }, { memberId: admin.body.id }]) {
        expect((yield* make(body)).body).toMatchObject({
          status: 403,
          permission: "webhook:create"
        })
      }
      expect((yield* make({ scopes: ["event:publish"] })).body).toMatchObject({ permission: "event:publish" })
      expect((yield* make({ memberId: `mem_${"0".repeat(29)}` })).body._tag).toBe("MemberNotFound")
      for (const body of [
        { role: "viewer", scopes: ["read"] },
        { role: "king" },
        { expiresInSeconds: 0 },
        { expiresInSeconds: 3601 },
        { scopes: [] }
      ]) {
        expect((yield* make(body)).body._tag).toBe("InvalidRequest")
      }
    })
  )

  it.effect("§11 lets nobody be the operator through the console", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const { cookie, use } = yield* enterConsole(ws, {}, OPERATOR_TOKEN)
      const headers = { ...OURS, cookie }

      expect((yield* signIn({ token: OPERATOR_TOKEN })).status).toBe(401)
      expect((yield* use("GET", "/audit-events")).status).toBe(200)
      expect((yield* call("GET", "/console/api/workspaces", { headers })).status).toBe(403)
      expect((yield* use("DELETE", "")).status).toBe(403)
    })
  )

  it.effect("§11 answers an invalid sign-in with what to send", () =>
    Effect.gen(function* () {
      for (const body of [{}, { code: 1 }, { code: "a", token: "b" }, { code: "a", more: 1 }, [], null]) {
        const answer = yield* signIn(body)
        expect([answer.status, answer.body._tag]).toEqual([400, "InvalidRequest"])
      }
      expect((yield* signIn({ token: "phk_nonsense" })).status).toBe(401)
      const odd = yield* Effect.flatMap(TestServer, ({ call }) => call("PATCH", "/console/session"))
      expect([odd.status, odd.headers.get("allow")]).toEqual([405, "GET, POST, DELETE, HEAD"])
    })
  )
})

layer(
  testServer({
    quotas: { auth_failure: { limit: 3, windowSeconds: 60 }, rest_read: { limit: 2, windowSeconds: 60 } }
  }),
  {
    excludeTestServices: true
  }
)("the console's limits", (it) => {
  it.effect("§5.1 counts a session's calls, and failed sign-ins against the address", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { use } = yield* enterConsole(ws)
      const reads = [
        yield* use("GET", "/webhooks"),
        yield* use("GET", "/webhooks"),
        yield* use("GET", "/webhooks")
      ]
      expect(reads.map(({ status }) => status)).toEqual([200, 200, 429])

      const guesses = yield* Effect.forEach([1, 2, 3, 4], () => signIn({ code: "x".repeat(32) }))
      expect(guesses.map(({ status }) => status)).toEqual([401, 401, 401, 429])
    })
  )
})

const lines: Array<string> = []
const collected = Logger.replace(
  Logger.defaultLogger,
  Logger.map(Logger.jsonLogger, (line) => void lines.push(line))
)

layer(testServer().pipe(Layer.provideMerge(collected)), { excludeTestServices: true })(
  "the console's log",
  (it) => {
    it.effect("§11 no log line contains a code, a cookie or a token", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const sql = yield* SqlClient
        const code = yield* linkFor(ws)
        const late = yield* linkFor(ws)
        const opened = yield* signIn({ code })
        // An unexpected failure is logged with its cause, which contains none of the statement's values.
        yield* sql`alter table posthorn.console_sessions rename to console_sessions_gone`
        const broken = yield* signIn({ token: ws.token })
        const failed = yield* signIn({ code: late })
        yield* sql`alter table posthorn.console_sessions_gone rename to console_sessions`
        const audit = yield* ws.call("GET", "/audit-events")

        expect([broken.status, failed.status]).toEqual([500, 500])
        expect(lines.filter((line) => line.includes("Unforeseen")).length).toBe(2)
        const secrets = [code, late, ws.token, cookieOf(opened.headers).split("=")[1]!]
        for (const text of [...lines, audit.text, broken.text, failed.text])
          for (const secret of secrets) expect(text).not.toContain(secret)
      })
    )
  }
)
