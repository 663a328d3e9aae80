/** Renaming a workspace, and the limits that the operator sets for it. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { checkQuotas } from "@posthorn/persistence/operations/Quotas"
import { Effect } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const change = ({ slug }: Entered, body: object, token = OPERATOR_TOKEN) =>
  Effect.flatMap(TestServer, ({ call }) => call("PATCH", `/workspaces/${slug}`, { token, body }))

const endpoint = { url: "https://example.com/hooks", eventTypes: ["*"] }
const event = { eventType: "a.b", payload: {} }
const none = { endpoints: null, tokens: null, waiting: null, bytes: null, publishPerMinute: null }

layer(testServer(), { excludeTestServices: true })("changing a workspace", (it) => {
  it.effect("§5.2 renames and limits it, member by member, and both logs have old and new values", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* TestServer
      const renamed = yield* change(ws, { name: "New", limits: { tokens: 9, endpoints: 2 } })
      const back = yield* change(ws, { limits: { endpoints: null } })
      const same = yield* change(ws, { name: "New", limits: { tokens: 9 } })
      const empty = yield* change(ws, {})

      expect(renamed).toMatchObject({ status: 200, body: { slug: ws.slug, name: "New" } })
      expect(renamed.body.limits).toEqual({ ...none, tokens: 9, endpoints: 2 })
      expect(back.body.limits).toEqual({ ...none, tokens: 9 })
      expect([same.body, empty.body]).toEqual([back.body, back.body])
      const own = yield* ws.call("GET", "/audit-events?limit=2")
      const operators = yield* call("GET", "/audit-events?limit=2", { token: OPERATOR_TOKEN })
      for (const [{ items }, more] of [
        [own.body, {}],
        [operators.body, { slug: ws.slug }]
      ] as const)
        expect(items.map(({ action, changes }) => [action, changes])).toEqual([
          [
            "workspace.updated",
            {
              fields: ["limits"],
              from: { limits: { ...none, tokens: 9, endpoints: 2 } },
              to: { limits: { ...none, tokens: 9 } },
              ...more
            }
          ],
          [
            "workspace.updated",
            {
              fields: ["name", "limits"],
              from: { name: expect.any(String), limits: none },
              to: { name: "New", limits: { ...none, tokens: 9, endpoints: 2 } },
              ...more
            }
          ]
        ])
    })
  )

  it.effect("§5.2 its own limits apply to endpoints and tokens, and to no other workspace", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      yield* makeEndpoint(ws)
      yield* change(ws, { limits: { endpoints: 2, tokens: 2 } })
      const made = yield* Effect.all(
        Array.from({ length: 3 }, () => ws.call("POST", "/webhooks", { body: endpoint })),
        { concurrency: 3 }
      )
      const token = yield* ws.call("POST", "/api-tokens", { body: { name: "T", scopes: ["read"] } })
      const more = yield* ws.call("POST", "/api-tokens", { body: { name: "T", scopes: ["read"] } })

      expect(made.map(({ status }) => status).toSorted()).toEqual([201, 409, 409])
      expect(made.find(({ status }) => status === 409)!.body).toMatchObject({ limit: 2, of: "endpoints" })
      expect([token.status, more.body]).toMatchObject([201, { _tag: "LimitReached", limit: 2, of: "tokens" }])
      for (let n = 0; n < 3; n++) yield* makeEndpoint(other)
    })
  )

  it.effect("§5.2 its own quotas bound waiting deliveries and stored bytes, also for SQL", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      yield* makeEndpoint(ws)
      yield* change(ws, { limits: { waiting: 2 } })
      for (let n = 0; n < 2; n++) yield* ws.call("POST", "/events", { body: event })
      yield* checkQuotas
      const refused = yield* ws.call("POST", "/events", { body: event })
      const inSql = yield* Effect.flip(sql`select posthorn.publish(${ws.slug}, 'a.b', '{}')`)
      yield* change(ws, { limits: { waiting: null } })
      yield* checkQuotas
      const taken = yield* ws.call("POST", "/events", { body: event })

      expect(refused).toMatchObject({ status: 429, body: { _tag: "QuotaExceeded", quota: "waiting" } })
      expect(String(inSql.cause)).toContain("as may wait")
      expect(taken.status).toBe(202)
    })
  )

  it.effect("§5.2 its own rate of publishes counts all its tokens and tools, and no other workspace", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const { url } = yield* TestServer
      const second = yield* ws.tokenWith("event:publish")
      yield* change(ws, { limits: { publishPerMinute: 3 } })
      // A token's rights are cached for half a second.
      // biome-ignore lint/plugin: rights are forgotten after this time
      yield* Effect.sleep("1100 millis")
      const publish = (token?: string) =>
        ws.call("POST", "/events", { body: event, ...(token !== undefined && { token }) })
      const reader = yield* ws.tokenWith("read")
      for (let n = 0; n < 4; n++) expect((yield* publish(reader)).status).toBe(403)
      const answers = [yield* publish(), yield* publish(second)]
      const tool = yield* callTool(url, ws.token, "publish_event", event)
      const refused = yield* publish(second)
      const asTool = yield* callTool(url, ws.token, "publish_event", event)

      expect(answers.map(({ status }) => status)).toEqual([202, 202])
      expect(JSON.stringify(tool)).toContain("evt_")
      expect(refused).toMatchObject({ status: 429, body: { _tag: "RateLimited", bucket: "event_publish" } })
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      expect(JSON.stringify(asTool)).toContain("RateLimited")
      expect((yield* ws.call("GET", "/events")).status).toBe(200)
      expect((yield* other.call("POST", "/events", { body: event })).status).toBe(202)
    })
  )

  const wrong: Array<[object, string]> = [
    [{ name: "" }, "/name"],
    [{ slug: "other" }, "/slug"],
    [{ limits: null }, "/limits"],
    [{ limits: { waiting: 0 } }, "/limits/waiting"],
    [{ limits: { waiting: 1.5 } }, "/limits/waiting"],
    [{ limits: { bytes: 2 ** 53 } }, "/limits/bytes"],
    [{ limits: { endpoints: 2 ** 31 } }, "/limits/endpoints"],
    [{ limits: { fanOut: 1 } }, "/limits/fanOut"]
  ]
  it.effect.each(wrong)("§7.1 refuses %j", ([body, path]) =>
    Effect.gen(function* () {
      const refused = yield* change(yield* entered, body)
      expect(refused.body).toMatchObject({ _tag: "InvalidRequest", issues: [{ path }] })
    })
  )

  it.effect("§5.1 is for the operator alone", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const refused = yield* change(ws, { name: "Mine" }, ws.token)
      expect(refused).toMatchObject({ status: 403, body: { permission: "operator" } })
    })
  )
})
