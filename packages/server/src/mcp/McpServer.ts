/**
 * The adapter to `@modelcontextprotocol/sdk`: one fresh server per request, because a stateless transport cannot be
 * used twice. Its low-level server takes our JSON Schemas; the high-level one insists on a second schema language.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Runtime } from "effect"
import { type Answer, Calls } from "../Calls.ts"
import type { Caller } from "../Gate.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { dealerOf, tools } from "./Tools.ts"

const dealers = new Map(tools.map((tool) => [tool.name, { tool, deal: dealerOf(tool) }]))

const listed = tools.map(({ annotations, description, inputSchema, name, title }) => ({
  name,
  title,
  description,
  inputSchema: inputSchema as never,
  annotations
}))

/** The REST body as the tool's text; only a success is also given as structured content. */
const toResult = (answer: Answer) => {
  const text = answer.body === "" ? "{}" : answer.body
  const content = [{ type: "text" as const, text }]
  return answer.status < 400 ? { content, structuredContent: JSON.parse(text) } : { content, isError: true }
}

export class McpServer extends Effect.Service<McpServer>()("@posthorn/server/McpServer", {
  dependencies: [Calls.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const { version } = yield* ServerConfig
    const runtime = yield* Effect.runtime<never>()

    const callTool = (name: string, args: Readonly<Record<string, unknown>>, caller: Caller, traceId: string) => {
      const dealt = dealers.get(name)
      if (dealt === undefined) return undefined
      const slug = typeof args.slug === "string" ? args.slug : undefined
      const read = Effect.sync(() => dealt.deal(args, slug ?? slugOf(caller)))
      const passage = { via: "mcp" as const, traceId, slug, bucket: null }
      return Effect.map(calls.call({ entry: dealt.tool.entry, caller, passage, read }), toResult)
    }

    const sdkServer = (caller: Caller, traceId: string) => {
      const server = new Server({ name: "posthorn", version }, { capabilities: { tools: {} } })
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }))
      server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
        const result = callTool(params.name, params.arguments ?? {}, caller, traceId)
        if (result === undefined) throw new Error(`There is no tool ${params.name}`)
        return Runtime.runPromise(runtime)(result, { signal: extra.signal })
      })
      return server
    }

    /** Answer one JSON-RPC message of a caller the gate has let in. */
    const answer = (
      request: HttpServerRequest.HttpServerRequest,
      message: unknown,
      caller: Caller,
      traceId: string
    ) =>
      Effect.acquireUseRelease(
        Effect.promise(async () => {
          const server = sdkServer(caller, traceId)
          const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
          await server.connect(transport)
          return { server, transport }
        }),
        ({ transport }) =>
          Effect.promise(async () => {
            const web = new Request(new URL(request.url, "http://localhost"), {
              method: request.method,
              headers: request.headers as Record<string, string>
            })
            return HttpServerResponse.fromWeb(await transport.handleRequest(web, { parsedBody: message }))
          }),
        ({ server }) => Effect.promise(() => server.close())
      )

    return { answer } as const
  })
}) {}

const slugOf = (caller: Caller) => (caller.kind === "token" ? caller.identity.workspaceSlug : "")
