/**
 * Links that show less than the whole console: in a frame of named origins, some pages, some endpoints, a beginning. What such a
 * session lists and changes is the isolation matrix' matter (`gate/CrossTenant`).
 */
import { tmpdir } from "node:os"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ConsoleConfig } from "../../src/console/ConsoleConfig.ts"
import { codeOf, cookieOf, enterConsole, OURS, signIn } from "../ConsoleSignIn.ts"
import { type Entered, entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const ORIGINS = ["https://app.example.com", "http://localhost:3000"]
const PAGE = `/console/embed?in=${ORIGINS.join(",")}`

const linkWith = (ws: Entered, body: unknown) => ws.call("POST", "/console-links", { body })

const endpointIn = (ws: Entered) =>
  Effect.map(
    ws.call("POST", "/webhooks", { body: { url: "https://example.com/hooks", eventTypes: ["*"] } }),
    ({ body }) => String(body.id)
  )

const shown = (headers: Readonly<Record<string, string>>) =>
  Effect.flatMap(TestServer, ({ call }) =>
    call<{ readonly sessions: ReadonlyArray<Loose> }>("GET", "/console/session", {
      headers: { ...OURS, ...headers }
    })
  )

/** An embedded session, and calls with its secret below the workspace's path. */
const embed = (ws: Entered, link: object = {}) =>
  Effect.gen(function* () {
    const { call } = yield* TestServer
    const made = yield* linkWith(ws, { ...link, embedIn: ORIGINS })
    const opened = yield* signIn({ code: codeOf(made.body.url), embedIn: ORIGINS })
    const headers = { "x-console": ws.slug, "x-console-session": String(opened.body.secret) }
    const use = (method: string, path: string, body?: unknown) =>
      call(method, `/console/api/workspaces/${ws.slug}${path}`, {
        headers: { ...OURS, ...headers },
        ...(body === undefined ? {} : { body })
      })
    return { made, opened, headers, use }
  })

/** A console that is still being built: its pages have their headers. */
const building = Layer.succeed(ConsoleConfig, { name: "P", accent: null, logo: null, folder: tmpdir() })

layer(testServer().pipe(Layer.provide(building)), { excludeTestServices: true })(
  "a link that shows less",
  (it) => {
    it.effect(
      "§11.1 opens in a frame of its origins only, without a cookie, by a secret that is no cookie's",
      () =>
        Effect.gen(function* () {
          const ws = yield* entered
          const { call } = yield* TestServer
          const { headers, made, opened, use } = yield* embed(ws)
          const { cookie } = yield* enterConsole(ws)

          expect(made.status).toBe(201)
          expect(String(made.body.url).split("#")[0]).toBe(`http://posthorn.test${PAGE}`)
          expect(opened.status).toBe(201)
          expect(opened.headers.get("set-cookie")).toBeNull()
          expect((yield* use("GET", "/webhooks")).status).toBe(200)

          const asCookie = `${cookie.split("=")[0]}=${opened.body.secret}`
          const asSecret = { ...headers, "x-console-session": cookie.split("=")[1]! }
          expect((yield* shown({ cookie: asCookie })).body.sessions).toEqual([])
          expect((yield* shown(asSecret)).body.sessions).toEqual([])
          expect((yield* shown({ ...asSecret, cookie })).body.sessions).toEqual([])
          expect((yield* shown({ ...headers, cookie })).body.sessions).toMatchObject([{ embedIn: ORIGINS }])
          expect((yield* shown({ cookie })).body.sessions).toMatchObject([
            { embedIn: null, pages: null, to: null }
          ])

          const foreign = yield* call("GET", `/console/api/workspaces/${ws.slug}/webhooks`, {
            headers: { ...OURS, ...headers, "sec-fetch-site": "cross-site" }
          })
          expect(foreign.status).toBe(403)
          const left = yield* call("DELETE", "/console/session", { headers: { ...OURS, ...headers } })
          expect([left.status, left.headers.get("set-cookie")]).toEqual([204, null])
          expect((yield* use("GET", "/webhooks")).status).toBe(401)
          expect((yield* shown({ cookie })).body.sessions.length).toBe(1)
        })
    )

    it.effect("§11.1 a code fits only the page whose headers name its origins, and stays for that", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const embedded = codeOf((yield* linkWith(ws, { embedIn: ORIGINS })).body.url)
        const ordinary = codeOf((yield* linkWith(ws, {})).body.url)
        const refused = [
          { code: embedded },
          { code: embedded, embedIn: ORIGINS.slice(0, 1) },
          { code: embedded, embedIn: [...ORIGINS, "https://evil.example"] },
          { code: embedded, embedIn: ORIGINS.toReversed() },
          { code: ordinary, embedIn: ORIGINS },
          { code: ordinary, embedIn: [] }
        ]
        for (const credential of refused) expect((yield* signIn(credential)).status).toBe(401)
        expect((yield* signIn({ token: ws.token, embedIn: ORIGINS })).status).toBe(400)
        expect((yield* signIn({ code: ordinary })).status).toBe(201)
        expect((yield* signIn({ code: embedded, embedIn: ORIGINS })).status).toBe(201)
        expect((yield* signIn({ code: embedded, embedIn: ORIGINS })).status).toBe(401)
      })
    )

    it.effect("§11.1 refuses origins, pages, endpoints and beginnings that are none", () =>
      Effect.gen(function* () {
        const [ws, other] = [yield* entered, yield* entered]
        const [mine, theirs] = [yield* endpointIn(ws), yield* endpointIn(other)]
        const statusOf = (body: unknown) => Effect.map(linkWith(ws, body), ({ status }) => status)
        const origins = [
          "http://app.example.com",
          "https://app.example.com/",
          "https://App.example.com",
          "https://*.example.com",
          "https://a.example;script-src *",
          "https://a.example https://b.example",
          "https://app.example.com:443",
          "https://app.example.com:99999",
          "https://ada@app.example.com",
          "'self'",
          "*",
          "null",
          "data:",
          "http://localhost.example.com",
          ""
        ]
        for (const origin of origins)
          expect([origin, yield* statusOf({ embedIn: [origin] })]).toEqual([origin, 400])
        const limited = { endpointIds: [mine] }
        const wrong = [
          { embedIn: [] },
          { embedIn: Array.from({ length: 11 }, (_, n) => `https://a${n}.example.com`) },
          { pages: [] },
          { pages: ["settings"] },
          { endpointIds: [] },
          { endpointIds: Array.from({ length: 101 }, () => mine) },
          { theme: { accent: "red" } },
          { theme: { radius: 17 } },
          { theme: { colour: "#000000" } },
          { to: "fleet" },
          { to: "" },
          { to: "https://evil.example" },
          { to: "//evil.example" },
          { to: "endpoints/../../../sign-in" },
          { to: "deliveries", pages: ["endpoints"] },
          { to: "settings", pages: ["endpoints"] },
          { to: "audit-log", role: "viewer" },
          { ...limited, to: `endpoints/${theirs}` },
          { ...limited, to: "endpoints/new" }
        ]
        for (const body of wrong) expect([body, yield* statusOf(body)]).toEqual([body, 400])
        for (const endpointIds of [[theirs], [mine, theirs], ["whe_none"]])
          expect(yield* statusOf({ endpointIds })).toBe(404)
        const right = [
          { to: "settings" },
          { to: "deliveries?status=failed" },
          { ...limited, to: `endpoints/${mine}/recover` },
          { endpointIds: [mine, mine] },
          { embedIn: ["http://127.0.0.1:8080", "https://xn--bcher-kva.example"] },
          { theme: { accent: "#0A7d5a", colorScheme: "dark", radius: 0 } }
        ]
        for (const body of right) expect([body, yield* statusOf(body)]).toEqual([body, 201])
      })
    )

    it.effect("§11.1 shows its session what it was given, and the audit log says so", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const view = {
          pages: ["endpoints", "deliveries"],
          endpointIds: [yield* endpointIn(ws)],
          theme: { accent: "#0a7d5a", radius: 4 },
          to: "deliveries"
        }
        const { headers } = yield* embed(ws, view)
        const audit = yield* ws.call("GET", "/audit-events?action=console.link_created")

        expect((yield* shown(headers)).body.sessions).toMatchObject([{ ...view, embedIn: ORIGINS }])
        expect(JSON.stringify(audit.body.items[0])).toContain(JSON.stringify(view.endpointIds))
      })
    )

    it.effect(
      "§11.1 without a page there are none of the operations that only it calls, and links give on no others",
      () =>
        Effect.gen(function* () {
          const ws = yield* entered
          const { use } = yield* embed(ws, { pages: ["deliveries", "members"] })
          const tag = (method: string, path: string, body?: unknown) =>
            Effect.map(use(method, path, body), (answer) => [answer.status, answer.body._tag])

          expect((yield* use("GET", "/webhooks/deliveries")).status).toBe(200)
          expect((yield* use("GET", "/webhooks")).status).toBe(200)
          for (const path of [
            "/events",
            "/audit-events",
            "/api-tokens",
            "/notifications",
            "/trace/x",
            "/overview"
          ])
            expect([path, ...(yield* tag("GET", path))]).toEqual([path, 404, "RouteNotFound"])
          expect(yield* tag("POST", "/events", { eventType: "a.b", payload: {} })).toEqual([
            404,
            "RouteNotFound"
          ])
          expect(yield* tag("PATCH", "/settings", { policy: null })).toEqual([404, "RouteNotFound"])

          expect(yield* tag("POST", "/console-links", { pages: ["events"] })).toEqual([400, "InvalidRequest"])
          const next = yield* use("POST", "/console-links", {})
          const opened = yield* signIn({ code: codeOf(next.body.url) })
          expect((yield* shown({ cookie: cookieOf(opened.headers) })).body.sessions).toMatchObject([
            { pages: ["deliveries", "members"], embedIn: null }
          ])
        })
    )

    it.effect("§11.1 limited to endpoints it makes nothing that reaches beyond them, and has no others", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const [mine, other] = [yield* endpointIn(ws), yield* endpointIn(ws)]
        const { use } = yield* embed(ws, { endpointIds: [mine] })
        const forbidden = [
          ["POST", "/webhooks", { url: "https://example.com/2", eventTypes: ["*"] }],
          ["POST", "/api-tokens", { name: "x", scopes: ["read"] }],
          ["POST", "/console-links", {}],
          ["POST", "/events", { eventType: "a.b", payload: {} }],
          ["PATCH", "/settings", { policy: null }],
          ["POST", "/members", { email: "a@example.com", name: "A", role: "admin" }]
        ] as const
        for (const [method, path, body] of forbidden)
          expect([path, (yield* use(method, path, body)).status]).toEqual([path, 403])
        expect((yield* use("GET", `/webhooks/${mine}`)).status).toBe(200)
        for (const id of [other, "whe_none"])
          expect((yield* use("GET", `/webhooks/${id}`)).body._tag).toBe("WebhookEndpointNotFound")
        expect((yield* use("PATCH", `/webhooks/${mine}`, { enabled: false })).status).toBe(200)
      })
    )

    it.effect(
      "§11.1 the embedded page's policy names its origins, and no other page may stand in a frame",
      () =>
        Effect.gen(function* () {
          const { call } = yield* TestServer
          const ancestors = (path: string) =>
            Effect.map(call("GET", path), ({ headers, status }) => [
              status,
              headers.get("x-frame-options"),
              /frame-ancestors ([^;]*)/.exec(headers.get("content-security-policy") ?? "")?.[1]
            ])
          expect(yield* ancestors(PAGE)).toEqual([503, null, ORIGINS.join(" ")])
          expect(yield* ancestors("/console/")).toEqual([503, "DENY", "'none'"])
          for (const query of [
            "",
            "?in=*",
            "?in=https://a.example%3Bscript-src",
            `?in=${ORIGINS[0]}&in=x`,
            "?in=",
            `?in=${ORIGINS[0]},`
          ])
            expect((yield* ancestors(`/console/embed${query}`))[0]).toBe(404)
        })
    )
  }
)
