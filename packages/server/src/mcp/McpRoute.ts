/**
 * The MCP door: streamable HTTP at `/mcp`, stateless, JSON answers.
 *
 * The transport gate has REST's statuses and bodies: 403 for a page of another origin, 401 without a valid token, 429
 * when bucket `mcp` is empty, of which each request of a batch takes one. What a tool refuses is a tool error instead.
 * No stream is offered, so GET and DELETE are 405. On loopback the `Host` must be this machine's: a name that a web
 * page has pointed at 127.0.0.1 is refused even before its token is looked at. Source: decision §4 (MCP).
 */
import { HttpServerResponse } from "@effect/platform"
import {
  ForeignOrigin,
  MethodNotAllowed,
  type PublicError,
  UnsupportedMediaType
} from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import { Effect, Either } from "effect"
import { Gate, keyOf, workspaceIdOf } from "../Gate.ts"
import { isJson, readBody } from "../http/Body.ts"
import { ConnectionLimits } from "../http/ConnectionLimits.ts"
import type { Exchange } from "../http/Exchange.ts"
import { RateLimits } from "../RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { errorWithoutId, type Incoming, isRequest, parseMessages, type RpcError } from "./JsonRpc.ts"
import { McpServer } from "./McpServer.ts"
import type { McpContext } from "./Methods.ts"
import { Modern } from "./Modern.ts"

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

const json = (value: unknown, status: number) =>
  HttpServerResponse.text(stringify(value), { status, contentType: "application/json" })

const rejected = (error: RpcError) => json(errorWithoutId(error), 400)

export class McpRoute extends Effect.Service<McpRoute>()("@posthorn/server/McpRoute", {
  dependencies: [Gate.Default, McpServer.Default, Modern.Default, RateLimits.Default],
  effect: Effect.gen(function* () {
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
    const respond = ({ headers }: Exchange, incoming: Incoming, context: McpContext) => {
      const answered = modern.answer(incoming, headers, context)
      if (answered !== undefined) return Effect.map(answered, ({ body, status }) => json(body, status))
      return Effect.map(server.answer(incoming.messages, context), (answers) =>
        answers.length === 0
          ? HttpServerResponse.empty({ status: 202 })
          : json(incoming.isBatch ? answers : answers[0], 200)
      )
    }

    const handle = (exchange: Exchange): Effect.Effect<HttpServerResponse.HttpServerResponse, PublicError> =>
      Effect.gen(function* () {
        const { address, headers, method, traceId } = exchange
        if (method !== "POST") return yield* new MethodNotAllowed({ allow: "POST" })
        if (!comesFromHome(headers)) return yield* new ForeignOrigin()
        const caller = yield* gate.authenticate(exchange, headers.authorization, address)
        const takeOne = () => limits.take(exchange, "mcp", keyOf(caller), workspaceIdOf(caller))
        yield* takeOne()
        if (!isJson(headers)) return yield* new UnsupportedMediaType()
        const incoming = parseMessages(yield* readBody(exchange, bodyMs))
        if (Either.isLeft(incoming)) return rejected(incoming.left)
        yield* Effect.forEach(incoming.right.messages.filter(isRequest).slice(1), takeOne)
        return yield* respond(exchange, incoming.right, { caller, traceId })
      })

    return { handle } as const
  })
}) {}
