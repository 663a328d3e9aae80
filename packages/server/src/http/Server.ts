/**
 * The HTTP server: the way of a request from Node to whoever answers it.
 *
 * An operation of the contract is answered straight on Node's request and response, because that is on the way of
 * everything: the platform's own server takes half as long again per request. Everything else (MCP, the pages) goes
 * through the platform. A request is given up after `ANSWER_MS`, with 503; one whose body is late is 408 before that.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { ServiceUnavailable } from "@posthorn/domain/Errors"
import { continueTrace } from "@posthorn/domain/TraceId"
import { Context, Effect, FiberId, Layer, Runtime } from "effect"
import { Calls } from "../Calls.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { Edge, split } from "./Edge.ts"
import { Listener, makeListener } from "./Listener.ts"
import { Readiness } from "./Readiness.ts"
import { amended } from "./Refusal.ts"
import { Rest } from "./Rest.ts"
import * as Routes from "./Routes.ts"
import { send } from "./Send.ts"

const ANSWER_MS = 15_000
const RETRY_AFTER_SECONDS = 2

/** Listens; the address is in `HttpServer`. */
export const listenLive = Layer.unwrapEffect(
  Effect.map(ServerConfig, ({ baseUrl, host, port }) => {
    const server = makeListener(baseUrl)
    return Layer.merge(
      NodeHttpServer.layer(() => server, { host, port }),
      Layer.succeed(Listener, server)
    )
  })
)

/** Answers operations on Node's own request and response. */
const operations = Effect.gen(function* () {
  const calls = yield* Calls
  const rest = yield* Rest
  // Everything an operation needs it holds already: an empty context, because each step that adds to a context copies
  // and compares all of it, and the server's has some forty entries.
  const runtime = yield* Effect.runtime<never>()
  const runFork = Runtime.runFork(Runtime.make({ ...runtime, context: Context.empty() }))
  const tooLate = new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })

  return (message: IncomingMessage, response: ServerResponse, match: Routes.Match, search: string) => {
    const traceId = continueTrace(message.headers.traceparent as string | undefined)
    const fiber = runFork(rest.handle(message, match, search, traceId))
    const giveUp = () => {
      const refusal = calls.refuse(tooLate, traceId)
      send(message, response, message.complete ? refusal : amended(refusal, {}), traceId)
      fiber.unsafeInterruptAsFork(FiberId.none)
    }
    const timer = setTimeout(giveUp, ANSWER_MS)
    fiber.addObserver((exit) => {
      clearTimeout(timer)
      if (exit._tag === "Success") send(message, response, exit.value, traceId)
      else giveUp()
    })
  }
})

/** The answer while stopping. */
const unavailable =
  ({ refuse }: Calls) =>
  (message: IncomingMessage, response: ServerResponse) => {
    const traceId = continueTrace(message.headers.traceparent as string | undefined)
    const refusal = refuse(new ServiceUnavailable({ retryAfterSeconds: 1 }), traceId)
    const detail = "This server is stopping: try again in 1 s."
    send(message, response, amended(refusal, { detail }), traceId)
  }

/** Serves on whatever `listenLive` listens; on the way out first no longer ready, then closed. */
export const serveLive = Layer.scopedDiscard(
  Effect.gen(function* () {
    yield* HttpServer.HttpServer
    const server = yield* Listener
    const calls = yield* Calls
    const { app } = yield* Edge
    const readiness = yield* Readiness
    const answerOperation = yield* operations
    const answerOther = yield* NodeHttpServer.makeHandler(app)
    const answer = (message: IncomingMessage, response: ServerResponse) => {
      const { pathname, search } = split(message.url!)
      const match = Routes.find(message.method!, pathname)
      return match === undefined
        ? answerOther(message, response)
        : answerOperation(message, response, match, search)
    }
    server.on("request", answer)
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        readiness.stop,
        Effect.sync(() => server.off("request", answer).on("request", unavailable(calls)))
      )
    )
  })
).pipe(Layer.provide([Calls.Default, Edge.Default, Readiness.Default, Rest.Default]))
