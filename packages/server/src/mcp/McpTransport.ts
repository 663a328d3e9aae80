/**
 * The MCP transport: streamable HTTP at `/mcp`, stateless, JSON answers.
 *
 * It refuses with REST's statuses and bodies: 403 for a page of another origin, 401 without a valid token, 429 when bucket
 * `mcp` is empty. Each request of a batch takes one call from that bucket. A tool's refusal is a tool error. No stream is
 * offered, so GET and DELETE are 405. On loopback the `Host` must be this machine's: a DNS name that points at 127.0.0.1 is
 * refused before its token is checked. Source: spec §4.7.
 */
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { ForeignOrigin } from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import { Effect, Either, Layer } from "effect"
import { countedAs, keyOf, workspaceIdOf } from "../gate/AuthenticatedCaller.ts"
import { CurrentCall } from "../gate/CurrentCall.ts"
import { RateLimits } from "../gate/RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { errorWithoutId, type Incoming, isRequest, parseMessages, type RpcError } from "./JsonRpc.ts"
import type { McpContext } from "./McpContext.ts"
import { McpServer } from "./McpServer.ts"
import { Protocol20260728 } from "./Protocol20260728.ts"
import { choiceOf } from "./Tools.ts"

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

const json = (value: unknown, status: number) =>
  HttpServerResponse.text(stringify(value), { status, contentType: "application/json" })

const rejected = (error: RpcError) => json(errorWithoutId(error), 400)

type Headers = HttpServerRequest.HttpServerRequest["headers"]

export const mcpLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const limits = yield* RateLimits
    const newest = yield* Protocol20260728
    const server = yield* McpServer
    const { baseUrl, host } = yield* ServerConfig
    const home = new URL(baseUrl)
    const onLoopback = LOOPBACK.test(host) || host === "::1"

    const comesFromHome = ({ host: name = "", origin }: Headers) => {
      if (onLoopback && !LOOPBACK.test(name) && name !== home.host) return false
      return (
        origin === undefined || origin === home.origin || (LOOPBACK.test(name) && origin === `http://${name}`)
      )
    }

    const respond = (headers: Headers, incoming: Incoming, context: McpContext) => {
      const answered = newest.answer(incoming, headers, context)
      if (answered !== undefined) return Effect.map(answered, ({ body, status }) => json(body, status))
      return Effect.map(server.answer(incoming.messages, context), (answers) =>
        answers.length === 0
          ? HttpServerResponse.empty({ status: 202 })
          : json(incoming.isBatch ? answers : answers[0], 200)
      )
    }

    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { authenticate, holder, traceId } = yield* CurrentCall
      if (!comesFromHome(request.headers)) return yield* new ForeignOrigin()
      const caller = yield* authenticate(undefined)
      holder.key = countedAs(caller)
      const choice = yield* choiceOf(new URL(request.url, home).searchParams)
      const takeOne = limits.take("mcp", keyOf(caller), workspaceIdOf(caller))
      yield* takeOne
      const incoming = parseMessages(yield* Effect.orDie(request.text))
      if (Either.isLeft(incoming)) return rejected(incoming.left)
      yield* Effect.forEach(incoming.right.messages.filter(isRequest).slice(1), () => takeOne)
      return yield* respond(request.headers, incoming.right, { caller, choice, traceId, request })
    })

    yield* router.post("/mcp", handle)
  })
).pipe(Layer.provide([McpServer.Default, Protocol20260728.Default, RateLimits.Default]))
