/** Protocol revision 2026-07-28: with the official client of that revision, and by hand for what it would not send. */
import { expect, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { bundleFile, freshShell, makeBundle } from "@posthorn/testkit/Command"
import { Effect } from "effect"
import { beforeAll } from "vitest"
import { makeDelivery } from "../Fixtures.ts"
import { type PostOptions, post } from "../McpCalls.ts"
import { TestServer, testServer } from "../TestServer.ts"

const MODERN = "2026-07-28"
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {}
}

const overHttp = (url: string, token: string) =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } }
  })

const overStdio = (url: string, token: string) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [bundleFile, "mcp"],
    env: { ...freshShell, POSTHORN_URL: url, POSTHORN_TOKEN: token },
    stderr: "inherit"
  })

interface Rpc {
  readonly id: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const entered = Effect.gen(function* () {
  const { enter, url } = yield* TestServer
  const ws = yield* enter
  /** One request with its required headers, or others. */
  const ask = (
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    {
      headers = {},
      meta = META as object
    }: { readonly headers?: PostOptions["headers"]; readonly meta?: object } = {}
  ) =>
    Effect.map(
      post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }), {
        token: ws.token,
        headers: { "mcp-protocol-version": MODERN, "mcp-method": method, ...headers }
      }),
      ({ body, status }) => ({ status, ...(body as unknown as Rpc) })
    )
  return { ws, url, ask }
})

/** Lists, calls, reads and prompts, as a client of that revision does. */
const tour = (transportTo: typeof overHttp | typeof overStdio) =>
  Effect.gen(function* () {
    const { url, ws } = yield* entered
    const { deliveryId, endpointId } = yield* makeDelivery(ws)
    const client = new Client(
      { name: "agent", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: MODERN } } }
    )
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transportTo(url, ws.token))),
      () => Effect.promise(() => client.close())
    )

    const { tools } = yield* Effect.promise(() => client.listTools())
    const called = yield* Effect.promise(() =>
      client.callTool({ name: "list_webhook_deliveries", arguments: { endpointId } })
    )
    const refused = yield* Effect.promise(() =>
      client.callTool({ name: "get_webhook_endpoint", arguments: { endpointId: "whe_0" } })
    )
    const { resources } = yield* Effect.promise(() => client.listResources())
    const read = yield* Effect.promise(() => client.readResource({ uri: "posthorn://state-machine" }))
    const prompt = yield* Effect.promise(() =>
      client.getPrompt({ name: "diagnose_endpoint", arguments: { endpointId } })
    )

    expect(client.getNegotiatedProtocolVersion()).toBe(MODERN)
    expect(client.getInstructions()).toContain("diagnose_webhook_endpoint")
    expect(tools.map(({ name }) => name)).toContain("diagnose_webhook_endpoint")
    expect(called.structuredContent).toMatchObject({ items: [{ id: deliveryId, payload: null }] })
    expect(refused.isError).toBe(true)
    expect(resources.map(({ uri }) => uri)).toContain("posthorn://llms")
    expect(read.contents[0]).toMatchObject({ mimeType: "text/markdown" })
    expect(JSON.stringify(prompt.messages)).toContain(endpointId)
  })

beforeAll(makeBundle, 240_000)

layer(testServer(), { excludeTestServices: true, timeout: "240 seconds" })(
  "protocol revision 2026-07-28",
  (it) => {
    it.scoped("§4.7 the official client of that revision lists, calls, reads and prompts over HTTP", () =>
      tour(overHttp)
    )

    it.scoped("§4.7 and over stdio, where the command adds the headers that pipes do not have", () =>
      tour(overStdio)
    )

    it.effect("§4.7 says who answers, what may be cached, and for how long", () =>
      Effect.gen(function* () {
        const { ask } = yield* entered

        const discovered = yield* ask("server/discover")
        const listed = yield* ask("tools/list")

        expect(discovered).toMatchObject({
          status: 200,
          id: 1,
          result: {
            resultType: "complete",
            supportedVersions: [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
            capabilities: { tools: {}, resources: {}, prompts: {} },
            serverInfo: { name: "posthorn" },
            cacheScope: "public",
            _meta: { "io.modelcontextprotocol/serverInfo": { name: "posthorn" } }
          }
        })
        expect(listed.result).toMatchObject({ resultType: "complete", cacheScope: "private", ttlMs: 300_000 })
      })
    )

    it.effect("§4.7 refuses with 400 a request with missing or contradictory headers", () =>
      Effect.gen(function* () {
        const { ask } = yield* entered
        const { "io.modelcontextprotocol/clientCapabilities": _, ...bare } = META
        const later = { ...META, "io.modelcontextprotocol/protocolVersion": "2099-01-01" }
        const call = { name: "list_members", arguments: {} }

        const answers = [
          yield* ask("tools/list", {}, { meta: {} }),
          yield* ask("tools/list", {}, { meta: bare }),
          yield* ask("tools/list", {}, { meta: later, headers: { "mcp-protocol-version": "2099-01-01" } }),
          yield* ask("tools/list", {}, { meta: later }),
          yield* ask("tools/list", {}, { headers: { "mcp-protocol-version": "2025-11-25" } }),
          yield* ask("tools/list", {}, { headers: { "mcp-method": "tools/call" } }),
          yield* ask("tools/call", call, {}),
          yield* ask("tools/call", call, { headers: { "mcp-name": "delete_workspace" } })
        ]

        expect(answers.map(({ error, status }) => [status, error?.code])).toEqual([
          [400, -32602],
          [400, -32602],
          [400, -32022],
          [400, -32020],
          [400, -32020],
          [400, -32020],
          [400, -32020],
          [400, -32020]
        ])
        expect(answers[2]!.error!.data).toMatchObject({ requested: "2099-01-01" })
        expect(answers.every(({ id }) => id === 1)).toBe(true)
      })
    )

    it.effect("§4.7 accepts a name in the header as it is or in base64", () =>
      Effect.gen(function* () {
        const { ask } = yield* entered
        const encoded = `=?base64?${Buffer.from("list_members").toString("base64")}?=`
        const call = { name: "list_members", arguments: {} }

        const [plain, wrapped] = [
          yield* ask("tools/call", call, { headers: { "mcp-name": "list_members" } }),
          yield* ask("tools/call", call, { headers: { "mcp-name": encoded } })
        ]

        expect(plain.result).toMatchObject({ resultType: "complete", structuredContent: { items: [] } })
        expect(wrapped.result).toEqual(plain.result)
      })
    )

    it.effect("§4.7 has no handshake, no batches, and no error code of its own for resources", () =>
      Effect.gen(function* () {
        const { ask, url, ws } = yield* entered
        const batch = JSON.stringify([
          { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } }
        ])

        const ping = yield* ask("ping")
        const opening = yield* ask("initialize", { protocolVersion: "2025-11-25" })
        const listen = yield* ask("subscriptions/listen")
        const missing = yield* ask(
          "resources/read",
          { uri: "posthorn://no" },
          { headers: { "mcp-name": "posthorn://no" } }
        )
        const many = yield* post(url, batch, {
          token: ws.token,
          headers: { "mcp-protocol-version": MODERN }
        })

        expect([ping, listen, opening].map(({ error, status }) => [status, error?.code])).toEqual([
          [404, -32601],
          [404, -32601],
          [404, -32601]
        ])
        expect([missing.status, missing.error?.code]).toEqual([200, -32602])
        expect([many.status, many.body.error?.code]).toEqual([400, -32600])
      })
    )

    it.effect("§4.7 well-known OAuth paths answer 404 and say that a token is needed", () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer
        const paths = [
          "/.well-known/oauth-protected-resource",
          "/.well-known/oauth-protected-resource/mcp",
          "/.well-known/oauth-authorization-server",
          "/.well-known/openid-configuration"
        ]

        const answers = yield* Effect.forEach(paths, (path) => call("GET", path))
        const other = yield* call("GET", "/.well-known/security.txt")

        for (const { body, headers, status } of answers) {
          expect([status, headers.get("content-type"), body._tag]).toEqual([
            404,
            "application/problem+json",
            "RouteNotFound"
          ])
          expect(body.detail).toContain("Authorization: Bearer <token>")
        }
        expect(other.body.detail).not.toContain("OAuth")
      })
    )
  }
)
