import { request as httpRequest } from "node:http"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { Effect, Layer, Logger, LogLevel } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { callTool, callToolRaw, post, rpc } from "../McpCalls.ts"
import { BASE_URL, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const entered = Effect.flatMap(TestServer, ({ call, enter, url }) =>
  Effect.map(enter, (ws) => ({ call, url, ws, token: ws.token }))
)

/** fetch sets Host itself; this request can send any Host. */
const withHost = (url: string, host: string, token: string) =>
  Effect.async<number>((resume) => {
    const { hostname, port } = new URL(url)
    const headers = { host, authorization: `Bearer ${token}`, "content-type": "application/json" }
    const sent = httpRequest({ hostname, port, path: "/mcp", method: "POST", headers }, (answer) => {
      answer.resume()
      resume(Effect.succeed(answer.statusCode ?? 0))
    })
    sent.end(PING)
  })

layer(testServer(), { excludeTestServices: true })("the gate of /mcp", (it) => {
  it.effect("§4.7 answers 401 with REST's body to a call without a valid token", () =>
    Effect.gen(function* () {
      const { call, url } = yield* TestServer

      const without = yield* post(url, PING)
      const wrong = yield* post(url, PING, { token: "phk_nobody" })
      const rest = yield* call("GET", "/workspaces/acme/overview")

      expect([without.status, wrong.status]).toEqual([401, 401])
      expect(without.headers.get("www-authenticate")).toBe("Bearer")
      expect(without.headers.get("content-type")).toContain("application/problem+json")
      const { traceId: _, ...problem } = JSON.parse(without.text)
      const { traceId: __, ...same } = JSON.parse(rest.text)
      expect(problem).toEqual(same)
    })
  )

  it.effect("§4.7 answers 403 to pages of another origin, including opaque ones", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const answers = yield* Effect.forEach(
        ["https://evil.example", "null", `${BASE_URL}.evil.example`, BASE_URL, url],
        (origin) => post(url, PING, { token, headers: { origin } })
      )

      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 200, 200])
      expect(answers[0]!.body).toMatchObject({ _tag: "ForeignOrigin", status: 403 })
    })
  )

  it.effect("§4.7 on loopback, refuses a Host that is not this machine's", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const { host } = new URL(url)

      const statuses = yield* Effect.forEach(
        ["rebound.example", host, "localhost:1", new URL(BASE_URL).host],
        (name) => withHost(url, name, token)
      )

      expect(statuses).toEqual([403, 200, 200, 200])
    })
  )

  it.effect("§4.7 answers 405 with Allow to GET and DELETE: it offers no streams and no sessions", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const answers = yield* Effect.forEach(["GET", "DELETE", "PUT"], (method) =>
        post(url, "", { token, method })
      )

      expect(answers.map(({ headers, status }) => [status, headers.get("allow")])).toEqual([
        [405, "POST"],
        [405, "POST"],
        [405, "POST"]
      ])
    })
  )

  it.effect("§4.7 answers 415 to any type but JSON, and 413 to bodies that are too large", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const text = yield* post(url, PING, { token, headers: { "content-type": "text/plain" } })
      const large = yield* post(url, `"${"x".repeat(1_048_577)}"`, { token })

      expect([text.status, large.status]).toEqual([415, 413])
    })
  )

  it.effect("§4.7 lets no cache keep an answer", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const { call } = yield* TestServer

      const answer = yield* post(url, PING, { token })

      expect(answer.headers.get("cache-control")).toBe("no-store")
      for (const [method, path] of [
        ["POST", "/mcp/"],
        ["GET", "/console/session/"],
        ["POST", "/console/link/"]
      ] as const)
        expect([path, (yield* call(method, path)).headers.get("cache-control")]).toEqual([path, "no-store"])
      expect(answer.headers.get("x-trace-id")).toMatch(/^[0-9a-f]{32}$/)
    })
  )
})

layer(testServer(), { excludeTestServices: true })("the protocol at /mcp", (it) => {
  const codeOf = (text: string) =>
    (JSON.parse(text) as { readonly error: { readonly code: number } }).error.code

  it.effect("§4.7 answers invalid messages with the protocol's errors", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const texts = [
        "",
        "{",
        "[]",
        "1",
        '{"id":1,"method":"ping"}',
        '{"jsonrpc":"2.0","id":null,"method":"ping"}'
      ]

      const answers = yield* Effect.forEach(texts, (text) => post(url, text, { token }))

      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400])
      expect(answers.map(({ text }) => codeOf(text))).toEqual([
        -32700, -32700, -32600, -32600, -32600, -32600
      ])
      expect(answers.every(({ body }) => body.id === null)).toBe(true)
    })
  )

  it.effect("§4.7 answers a request whose members do not have the protocol's shape", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const members = ['"params":"x"', '"params":[]', '"params":{"_meta":5}', '"more":1']

      const answers = yield* Effect.forEach(members, (member) =>
        post(url, `{"jsonrpc":"2.0","id":7,"method":"tools/list",${member}}`, { token })
      )

      expect(answers.map(({ body }) => [body.id, body.error?.code])).toEqual(members.map(() => [7, -32600]))
    })
  )

  it.effect("§4.7 answers unknown methods, tools and resources with the protocol's errors", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const answers = [
        yield* rpc(url, token, "tools/call", { name: "no_such_tool" }),
        yield* rpc(url, token, "tools/call", {}),
        yield* rpc(url, token, "resources/read", { uri: "posthorn://nothing" }),
        yield* rpc(url, token, "prompts/get", { name: "nothing" }),
        yield* rpc(url, token, "prompts/get", { name: "diagnose_endpoint" }),
        yield* rpc(url, token, "tools/list", { cursor: "abc" }),
        yield* rpc(url, token, "sampling/createMessage"),
        yield* rpc(url, token, "initialize", { protocolVersion: 7 })
      ]

      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      expect(answers.map(({ body }) => body.error?.code)).toEqual([
        -32602, -32602, -32002, -32602, -32602, -32602, -32601, -32602
      ])
      expect(answers.map(({ text }) => text).join()).not.toMatch(/zod|invalid_type|expected/i)
    })
  )

  it.effect("§4.7 answers 202 and nothing to notifications, and a batch with a batch", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const notified = yield* post(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}', { token })
      const batch = yield* post(
        url,
        `[${PING},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"no/such"}]`,
        { token }
      )

      expect([notified.status, notified.text]).toEqual([202, ""])
      const answers = JSON.parse(batch.text) as ReadonlyArray<{ readonly id: unknown }>
      expect(answers.map(({ id }) => id).toSorted()).toEqual([1, "b"])
    })
  )

  it.effect("§4.7 answers a request although a cancellation for it comes in the same batch", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const list =
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_members","arguments":{"limit":1}}}'
      const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'

      const batch = yield* post(url, `[${list},${cancel}]`, { token })

      expect(JSON.parse(batch.text)).toMatchObject([
        { id: 1, result: { structuredContent: { nextCursor: null } } }
      ])
    })
  )

  it.effect("§4.7 refuses unsupported versions of the protocol, but negotiates at initialize", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const headers = { "mcp-protocol-version": "1999-01-01" }
      const params = {
        protocolVersion: "1999-01-01",
        capabilities: {},
        clientInfo: { name: "t", version: "1" }
      }
      const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })

      const unknown = yield* post(url, PING, { token, headers })
      const initialized = yield* post(url, text, { token, headers })

      expect([unknown.status, codeOf(unknown.text)]).toEqual([400, -32022])
      expect(initialized.body.result).toMatchObject({
        protocolVersion: "2025-11-25",
        serverInfo: { name: "posthorn" },
        capabilities: { tools: {}, resources: {}, prompts: {} }
      })
    })
  )

  it.effect("§4.7 treats null arguments as none, and refuses anything but an object", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered

      const answers = yield* Effect.forEach(["null", "[]", '"x"', "7"], (args) =>
        callToolRaw(url, token, "list_members", args)
      )

      expect(answers.map(({ body }) => body.result.isError)).toEqual([undefined, true, true, true])
      expect(JSON.parse(answers[1]!.body.result.content[0]!.text)).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ path: "", message: "Expected an object of arguments" }]
      })
    })
  )

  it.effect("§4.7 lists only what a token may call, and refuses the rest as REST does", () =>
    Effect.gen(function* () {
      const { url, ws } = yield* entered
      const reader = yield* ws.tokenWith("webhook:list")
      const endpointId = yield* makeEndpoint(ws)

      const listed = yield* rpc(url, reader, "tools/list")
      const refused = yield* callTool(url, reader, "delete_webhook_endpoint", { endpointId })

      const tools = listed.body.result as unknown as {
        readonly tools: ReadonlyArray<{
          readonly name: string
          readonly annotations: { readonly readOnlyHint: boolean }
        }>
      }
      expect(tools.tools.map(({ name }) => name)).toContain("list_webhook_delivery_attempts")
      const changing = tools.tools.filter(({ annotations }) => !annotations.readOnlyHint)
      expect(changing.map(({ name }) => name)).toEqual(["end_console_session"])
      expect(refused.isError).toBe(true)
      expect(JSON.parse(refused.content[0]!.text)).toMatchObject({
        _tag: "Forbidden",
        permission: "webhook:delete"
      })
    })
  )

  it.effect(
    "§4.7 tells of each tool that sends something to receivers or token servers that it reaches out",
    () =>
      Effect.gen(function* () {
        const { url, ws } = yield* entered
        const listed = yield* rpc(url, ws.token, "tools/list")
        const { tools } = listed.body.result as unknown as {
          readonly tools: ReadonlyArray<{
            readonly name: string
            readonly annotations: { readonly openWorldHint: boolean }
          }>
        }
        const open = tools.filter(({ annotations }) => annotations.openWorldHint).map(({ name }) => name)
        expect(open.toSorted()).toEqual([
          // By its permission: it only stops what others started.
          "cancel_webhook_replay",
          "check_webhook_authentication",
          "publish_event",
          "publish_events",
          "replay_webhook_delivery",
          "resend_webhook_delivery",
          "send_webhook_test_event",
          "start_webhook_replay"
        ])
      })
  )

  it.effect("§4.7 needs slug with the operator's token, and only then", () =>
    Effect.gen(function* () {
      const { url, ws } = yield* entered
      const requiredBy = (token: string) =>
        Effect.map(rpc(url, token, "tools/list"), ({ body }) => {
          const { tools } = body.result as unknown as {
            readonly tools: ReadonlyArray<{
              readonly name: string
              readonly inputSchema: { readonly required?: ReadonlyArray<string> }
            }>
          }
          const inWorkspace = tools.filter(({ name }) =>
            entries.some(({ inWorkspace, rules }) => inWorkspace && rules.tool === name)
          )
          return new Set(
            inWorkspace.map(({ inputSchema }) => inputSchema.required?.includes("slug") ?? false)
          )
        })

      const without = yield* callTool(url, OPERATOR_TOKEN, "get_workspace_overview")
      const given = yield* callTool(url, OPERATOR_TOKEN, "get_workspace_overview", { slug: ws.slug })
      const unknown = yield* callTool(url, OPERATOR_TOKEN, "get_workspace_overview", { slug: "nobody" })

      expect(JSON.parse(without.content[0]!.text)).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ path: "/slug", message: "is missing" }]
      })
      expect(given.structuredContent).toMatchObject({ workspace: { slug: ws.slug } })
      expect(JSON.parse(unknown.content[0]!.text)).toMatchObject({ _tag: "WorkspaceNotFound" })
      expect([yield* requiredBy(OPERATOR_TOKEN), yield* requiredBy(ws.token)]).toEqual([
        new Set([true]),
        new Set([false])
      ])
    })
  )

  it.effect("§4.7 clamps limit, takes null for left out, and refuses arguments a tool does not have", () =>
    Effect.gen(function* () {
      const { url, ws } = yield* entered
      yield* makeEndpoint(ws)
      yield* makeEndpoint(ws)

      const clamped = yield* callTool(url, ws.token, "list_webhook_endpoints", { limit: -3 })
      const nulls = yield* callTool(url, ws.token, "list_webhook_endpoints", {
        limit: 9999,
        cursor: null,
        slug: null
      })
      const misspelt = yield* callTool(url, ws.token, "list_webhook_endpoints", { limits: 3 })

      expect((clamped.structuredContent as { readonly items: ReadonlyArray<unknown> }).items).toHaveLength(1)
      expect((nulls.structuredContent as { readonly items: ReadonlyArray<unknown> }).items).toHaveLength(2)
      expect(JSON.parse(misspelt.content[0]!.text)).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ path: "/limits" }]
      })
    })
  )
})

layer(testServer(), { excludeTestServices: true })("payloads through /mcp", (it) => {
  const PAYLOAD =
    '{"10":1.0,"2":1e3,"big":9007199254740993,"nul":"\\u0000","lone":"\\ud800","at":{"__proto__":-0}}'

  it.effect("§2.7 carries a payload to the letter, in and out, as text and as structured content", () =>
    Effect.gen(function* () {
      const { call, url, ws } = yield* entered
      yield* makeEndpoint(ws)

      const single = yield* callToolRaw(
        url,
        ws.token,
        "publish_event",
        `{"eventType":"a.b","payload":${PAYLOAD}}`
      )
      const batch = yield* callToolRaw(
        url,
        ws.token,
        "publish_events",
        `{"events":[{"eventType":"a.b","payload":1.50},{"payload":${PAYLOAD},"eventType":"a.c"}]}`
      )
      const listed = yield* rpc(url, ws.token, "tools/call", {
        name: "list_workspace_webhook_deliveries",
        arguments: { payload: "include" }
      })
      const rest = yield* call("GET", `/workspaces/${ws.slug}/webhooks/deliveries`, { token: ws.token })

      expect([single.body.result.isError, batch.body.result.isError]).toEqual([undefined, undefined])
      expect(rest.text.split(`"payload":${PAYLOAD}`)).toHaveLength(3)
      expect(rest.text).toContain('"payload":1.50')
      expect(listed.body.result.content[0]!.text).toBe(rest.text)
      expect(listed.text).toContain(`"structuredContent":${rest.text}`)
    })
  )

  it.effect("§2.7 refuses a payload that is too deep as REST does", () =>
    Effect.gen(function* () {
      const { call, url, ws } = yield* entered
      const deep = (levels: number) =>
        `{"eventType":"a.b","payload":${"[".repeat(levels)}${"]".repeat(levels)}}`

      for (const levels of [101, 5_000]) {
        const tool = yield* callToolRaw(url, ws.token, "publish_event", deep(levels))
        const rest = yield* call("POST", `/workspaces/${ws.slug}/events`, {
          token: ws.token,
          text: deep(levels)
        })

        const { traceId: _, ...refusal } = JSON.parse(tool.body.result.content[0]!.text)
        const { traceId: __, ...same } = JSON.parse(rest.text)
        expect(rest.status).toBe(400)
        expect(refusal).toEqual(same)
      }
    })
  )
})

layer(testServer({ quotas: { mcp: { limit: 3, windowSeconds: 60 } } }), { excludeTestServices: true })(
  "the bucket of /mcp",
  (it) => {
    it.effect(
      "§8.1 answers 429 at the gate when bucket mcp is empty, and counts each request of a batch",
      () =>
        Effect.gen(function* () {
          const { call, token, url, ws } = yield* entered

          const first = yield* post(url, PING, { token })
          const batch = yield* post(url, `[${PING},${PING.replace("1", "2")}]`, { token })
          const over = yield* post(url, PING, { token })
          const rest = yield* call("GET", `/workspaces/${ws.slug}/overview`, { token })

          expect([first.status, batch.status, over.status]).toEqual([200, 200, 429])
          expect(first.headers.get("ratelimit-policy")).toBe('"mcp";q=3;w=60')
          expect(over.headers.get("retry-after")).toMatch(/^\d+$/)
          expect(JSON.parse(over.text)).toMatchObject({ _tag: "RateLimited", bucket: "mcp" })
          expect(rest.status).toBe(200)
        })
    )
  }
)

/** Keeps expected failures out of the log. */
const silent = Layer.provide(testServer(), Logger.minimumLogLevel(LogLevel.None))

layer(silent, { excludeTestServices: true })("a tool that breaks", (it) => {
  it.effect("§7.1 is a tool error with nothing in it but the trace id", () =>
    Effect.gen(function* () {
      const { token, url } = yield* entered
      const sql = yield* SqlClient
      yield* sql`alter table posthorn.members rename to lost_members`

      const answer = yield* rpc(url, token, "tools/call", { name: "list_members", arguments: {} })

      const { content, isError } = answer.body.result
      expect([answer.status, isError]).toEqual([200, true])
      expect(JSON.parse(content[0]!.text)).toMatchObject({
        _tag: "InternalError",
        status: 500,
        traceId: answer.headers.get("x-trace-id")
      })
      expect(answer.text).not.toMatch(/members|SqlError|relation/)
    })
  )
})
