/**
 * The MCP door: streamable HTTP at `/mcp`, stateless, JSON answers.
 *
 * The transport gate has REST's statuses and bodies: 403 for a page of another origin, 401 without a valid token, 429
 * when bucket `mcp` is empty, of which each request of a batch takes one. What a tool refuses is a tool error instead.
 * No stream is offered, so GET and DELETE are 405. On loopback the `Host` must be this machine's: a name that a web
 * page has pointed at 127.0.0.1 is refused even before its token is looked at. Source: decision §4 (MCP).
 */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import {
  ForeignOrigin,
  MethodNotAllowed,
  type PublicError,
  UnsupportedMediaType
} from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import { Effect, Either, Option } from "effect"
import { Calls } from "../Calls.ts"
import { type Caller, Gate, keyOf, workspaceIdOf } from "../Gate.ts"
import { isJson, readBody } from "../http/Body.ts"
import { ConnectionLimits } from "../http/ConnectionLimits.ts"
import { toResponse } from "../http/Rest.ts"
import { type BucketState, headersOf, RateLimits } from "../RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { errorWithoutId, type Incoming, isRequest, parseMessages, type RpcError } from "./JsonRpc.ts"
import { McpServer } from "./McpServer.ts"
import type { McpContext } from "./Methods.ts"
import { Modern } from "./Modern.ts"

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

type Request = HttpServerRequest.HttpServerRequest

const json = (value: unknown, status: number) =>
  HttpServerResponse.text(stringify(value), { status, contentType: "application/json" })

const rejected = (error: RpcError) => json(errorWithoutId(error), 400)

export class McpRoute extends Effect.Service<McpRoute>()("@posthorn/server/McpRoute", {
  dependencies: [Calls.Default, Gate.Default, McpServer.Default, Modern.Default, RateLimits.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const gate = yield* Gate
    const limits = yield* RateLimits
    const modern = yield* Modern
    const server = yield* McpServer
    const { baseUrl, host } = yield* ServerConfig
    const { bodyMs } = yield* ConnectionLimits
    const home = new URL(baseUrl)
    const onLoopback = LOOPBACK.test(host) || host === "::1"

    const comesFromHome = ({ host: name = "", origin }: Readonly<Record<string, string | undefined>>) => {
      if (onLoopback && !LOOPBACK.test(name) && name !== home.host) return false
      return (
        origin === undefined || origin === home.origin || (LOOPBACK.test(name) && origin === `http://${name}`)
      )
    }

    /** The answers to the messages in the body. */
    const exchange = (request: Request, incoming: Incoming, context: McpContext) => {
      const answered = modern.answer(incoming, request.headers, context)
      if (answered !== undefined) return Effect.map(answered, ({ body, status }) => json(body, status))
      return Effect.map(server.answer(incoming.messages, context), (answers) =>
        answers.length === 0
          ? HttpServerResponse.empty({ status: 202 })
          : json(incoming.isBatch ? answers : answers[0], 200)
      )
    }

    const takeOne = (caller: Caller) => limits.takeFor("mcp", keyOf(caller), workspaceIdOf(caller))

    const enter = (request: Request, traceId: string) =>
      Effect.gen(function* () {
        if (request.method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
        if (!comesFromHome(request.headers)) return yield* new ForeignOrigin()
        const address = Option.getOrElse(request.remoteAddress, () => "")
        const caller = yield* gate.authenticate(request.headers.authorization, address)
        const bucket = yield* takeOne(caller)
        if (!isJson(request.headers)) return yield* new UnsupportedMediaType()
        const incoming = parseMessages(yield* readBody(request, bodyMs))
        if (Either.isLeft(incoming)) return finish(rejected(incoming.left), bucket, traceId)
        const more = incoming.right.messages.filter(isRequest).slice(1)
        const states = yield* Effect.forEach(more, () => takeOne(caller))
        const response = yield* exchange(request, incoming.right, { caller, traceId })
        return finish(response, states.at(-1) ?? bucket, traceId)
      })

    const handle = (request: Request, traceId: string) =>
      Effect.catchAll(enter(request, traceId), (error: PublicError) => {
        const refusal = toResponse(calls.refuse(error, traceId), traceId)
        return Effect.succeed(HttpServerResponse.setHeader(refusal, "cache-control", "no-store"))
      })

    return { handle } as const
  })
}) {}

/** Answers may hold a secret that is shown once: no cache may keep them. */
const finish = (
  response: HttpServerResponse.HttpServerResponse,
  bucket: BucketState | null,
  traceId: string
) =>
  HttpServerResponse.setHeaders(response, {
    ...(bucket === null ? {} : headersOf(bucket)),
    "cache-control": "no-store",
    "x-trace-id": traceId
  })
