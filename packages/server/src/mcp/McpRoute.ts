/**
 * The MCP door: streamable HTTP at `/mcp`, stateless, JSON answers.
 *
 * The transport gate is REST's: bearer (401), bucket `mcp` (429), and no foreign `Origin` (403). What a tool refuses is a
 * tool error that carries the REST error body. The SDK is used here and in `McpServer.ts`, nowhere else.
 * Source: decision §4 (MCP).
 */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Forbidden, MethodNotAllowed, type PublicError } from "@posthorn/domain/Errors"
import { parseJson } from "@posthorn/domain/JsonText"
import { Effect, Either, Option } from "effect"
import { Calls } from "../Calls.ts"
import { Gate, keyOf } from "../Gate.ts"
import { readBody } from "../http/Body.ts"
import { toResponse } from "../http/Rest.ts"
import { headersOf, RateLimits } from "../RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { McpServer } from "./McpServer.ts"

/** Payloads in tool arguments are carried as the exact text that was sent, as in REST. */
const RAW = [["params", "arguments", "payload"]]

const PARSE_ERROR = { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "The request is not valid JSON." } }

export class McpRoute extends Effect.Service<McpRoute>()("@posthorn/server/McpRoute", {
  dependencies: [Calls.Default, Gate.Default, McpServer.Default, RateLimits.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const gate = yield* Gate
    const limits = yield* RateLimits
    const server = yield* McpServer
    const { baseUrl } = yield* ServerConfig
    const home = new URL(baseUrl).origin

    const checkOrigin = (origin: string | undefined) =>
      origin === undefined || origin === home ? Effect.void : Effect.fail(new Forbidden({ permission: "same origin" }))

    const enter = (request: HttpServerRequest.HttpServerRequest, traceId: string) =>
      Effect.gen(function* () {
        if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
        yield* checkOrigin(request.headers.origin)
        const address = Option.getOrElse(request.remoteAddress, () => "")
        const caller = yield* gate.authenticate(request.headers.authorization, address)
        const bucket = yield* limits.take("mcp", keyOf(caller))
        const message = parseJson(yield* readBody(request), RAW)
        const response = Either.isLeft(message)
          ? HttpServerResponse.unsafeJson(PARSE_ERROR, { status: 400 })
          : yield* server.answer(request, message.right, caller, traceId)
        return HttpServerResponse.setHeaders(response, {
          ...(bucket === null ? {} : headersOf(bucket)),
          "x-trace-id": traceId
        })
      })

    const handle = (request: HttpServerRequest.HttpServerRequest, traceId: string) =>
      Effect.catchAll(enter(request, traceId), (error: PublicError) =>
        Effect.succeed(toResponse(calls.refuse(error, traceId), traceId))
      )

    return { handle } as const
  })
}) {}
