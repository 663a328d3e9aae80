/**
 * The adapter to the MCP SDK with the conformance suite's own tools, resources and prompts instead of ours.
 * scripts/ci/mcp-conformance.mjs runs it, so that tests which need the suite's names run against this adapter.
 *
 * It has no gate (the suite tests that on the real server) and no database. Prints its URL.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { HttpServerRequest } from "@effect/platform"
import { defaultQuotas } from "@posthorn/domain/Bucket"
import { stringify } from "@posthorn/domain/JsonText"
import { Effect, Either, Layer, ManagedRuntime } from "effect"
import {
  argumentsOf,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  parseMessages,
  RESOURCE_NOT_FOUND,
  RpcError
} from "../../src/mcp/JsonRpc.ts"
import { McpServer } from "../../src/mcp/McpServer.ts"
import { Methods } from "../../src/mcp/Methods.ts"
import { Protocol20260728 } from "../../src/mcp/Protocol20260728.ts"
import { ServerConfig } from "../../src/ServerConfig.ts"

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

const text = (words: string) => ({ type: "text", text: words })
const image = { type: "image", data: PNG, mimeType: "image/png" }
const embedded = (uri: string) => ({
  type: "resource",
  resource: { uri, mimeType: "text/plain", text: "This is an embedded resource content." }
})

const results: Readonly<Record<string, object>> = {
  test_simple_text: { content: [text("This is a simple text response for testing.")] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] },
  test_embedded_resource: { content: [embedded("test://embedded-resource")] },
  test_multiple_content_types: {
    content: [text("Multiple content types test:"), image, embedded("test://mixed-content-resource")]
  },
  test_error_handling: {
    content: [text("This tool intentionally returns an error for testing")],
    isError: true
  },
  json_schema_2020_12_tool: { content: [text("Called.")] }
}

const nothing = { type: "object", properties: {} }
const schema202012 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "address",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } }
    }
  },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
  if: { required: ["address"] },
  then: { required: ["name"] },
  else: {},
  additionalProperties: false
}

const tools = Object.keys(results).map((name) => ({
  name,
  description: `The suite's ${name}.`,
  inputSchema: name === "json_schema_2020_12_tool" ? schema202012 : nothing
}))

const resources: Readonly<Record<string, object>> = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG }
}

const templated = (uri: string) => {
  const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1]
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return id === undefined ? undefined : { mimeType: "application/json", text: data }
}

type Arguments = Readonly<Record<string, string>>

const user = (content: object) => ({ role: "user", content })
const prompts: Readonly<Record<string, (args: Arguments) => ReadonlyArray<object>>> = {
  test_simple_prompt: () => [user(text("This is a simple prompt for testing."))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))
  ],
  test_prompt_with_embedded_resource: ({ resourceUri = "" }) => [
    user(embedded(resourceUri)),
    user(text("Please process the embedded resource above."))
  ],
  test_prompt_with_image: () => [user(image), user(text("Please analyze the image above."))]
}

const wanted: Readonly<Record<string, ReadonlyArray<string>>> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"]
}

const listedPrompts = Object.keys(prompts).map((name) => ({
  name,
  description: `The suite's ${name}.`,
  arguments: (wanted[name] ?? []).map((argument) => ({
    name: argument,
    description: "Any text.",
    required: true
  }))
}))

const orFail = <A>(value: A | undefined, code: number) =>
  value === undefined
    ? Effect.fail(new RpcError({ code, message: "There is no such thing." }))
    : Effect.succeed(value)

const argsOf = (params: unknown): Arguments => JSON.parse(argumentsOf(params)?.text ?? "{}")

type Named = { readonly name: string; readonly uri: string }

const methods: Readonly<Record<string, (params: unknown) => Effect.Effect<object, RpcError>>> = {
  "tools/list": () => Effect.succeed({ tools }),
  "tools/call": (params) => orFail(results[(params as Named).name], INVALID_PARAMS),
  "resources/list": () =>
    Effect.succeed({ resources: Object.keys(resources).map((uri) => ({ uri, name: uri })) }),
  "resources/templates/list": () =>
    Effect.succeed({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }] }),
  "resources/read": (params) => {
    const { uri } = params as Named
    return Effect.map(orFail(resources[uri] ?? templated(uri), RESOURCE_NOT_FOUND), (found) => ({
      contents: [{ uri, ...found }]
    }))
  },
  "prompts/list": () => Effect.succeed({ prompts: listedPrompts }),
  "prompts/get": (params) =>
    Effect.map(orFail(prompts[(params as Named).name], INVALID_PARAMS), (make) => ({
      messages: make(argsOf(params))
    }))
}

const fixture = new Methods({
  run: (name, params) =>
    methods[name]?.(params) ??
    Effect.fail(new RpcError({ code: METHOD_NOT_FOUND, message: "No such method." }))
})

const config = Layer.succeed(ServerConfig, {
  host: "127.0.0.1",
  port: 0,
  baseUrl: "http://127.0.0.1",
  operatorTokens: [],
  quotas: defaultQuotas,
  publicCatalogue: false,
  trustedProxies: [],
  drainSeconds: 0,
  version: "0.0.0-conformance"
})

const runtime = ManagedRuntime.make(
  Layer.merge(McpServer.DefaultWithoutDependencies, Protocol20260728.DefaultWithoutDependencies).pipe(
    Layer.provide(Layer.succeed(Methods, fixture)),
    Layer.provide(config)
  )
)

const context = {
  caller: { kind: "operator" as const, operator: { name: null, epoch: "" } },
  traceId: "0".repeat(32),
  choice: { names: null, outputSchemas: false },
  request: HttpServerRequest.fromWeb(new Request("http://127.0.0.1/mcp"))
}

const server = createServer(async (request, response) => {
  let body = ""
  for await (const chunk of request) body += chunk
  const incoming = parseMessages(body)
  if (request.method !== "POST" || Either.isLeft(incoming)) return void response.writeHead(405).end()
  const newest = (await runtime.runPromise(Protocol20260728)).answer(
    incoming.right,
    request.headers as Readonly<Record<string, string | undefined>>,
    context
  )
  if (newest !== undefined) {
    const answered = await runtime.runPromise(newest)
    return void response
      .writeHead(answered.status, { "content-type": "application/json" })
      .end(stringify(answered.body))
  }
  const { answer } = await runtime.runPromise(McpServer)
  const answers = await runtime.runPromise(answer(incoming.right.messages, context))
  if (answers.length === 0) return void response.writeHead(202).end()
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(stringify(incoming.right.isBatch ? answers : answers[0]))
})

server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
)
