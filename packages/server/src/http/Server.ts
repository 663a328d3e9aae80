/**
 * The HTTP server: the way of a request from Node to whoever answers it.
 *
 * An operation of the contract is answered straight on Node's request and response, because that is on the way of
 * everything: the platform's own server takes half as long again per request. Everything else (MCP, the pages) goes
 * through the platform. A request is given up `ANSWER_MS` after all of it has arrived, with 503.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { invalid, type PublicError, ServiceUnavailable } from "@posthorn/domain/Errors"
import { continueTrace } from "@posthorn/domain/TraceId"
import { Context, Effect, FiberId, Layer, Option, Runtime } from "effect"
import { Calls } from "../Calls.ts"
import { SessionDoor } from "../console/SessionDoor.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { isArriving } from "./Body.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import { Edge, split } from "./Edge.ts"
import { attend, Listener, makeListener, UNKNOWN_VERSION } from "./Listener.ts"
import { Readiness } from "./Readiness.ts"
import { closing } from "./Refusal.ts"
import { type Door, Rest } from "./Rest.ts"
import * as Routes from "./Routes.ts"
import { send } from "./Send.ts"

/** Under it the operations again, for the console's sessions. */
const CONSOLE_API = "/console/api/"
const ANSWER_MS = 15_000
const RETRY_AFTER_SECONDS = 2

/** Listens; the address is in `HttpServer`. */
export const listenLive = Layer.unwrapEffect(
  Effect.map(Effect.all([ServerConfig, ConnectionLimits]), ([{ baseUrl, host, port }, limits]) => {
    const server = makeListener(baseUrl, limits)
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
  const { authenticate } = yield* SessionDoor
  const console: Door = { via: "console", authenticate }
  // Everything an operation needs it holds already: an empty context, because each step that adds to a context copies
  // and compares all of it, and the server's has some forty entries.
  const runtime = yield* Effect.runtime<never>()
  const runFork = Runtime.runFork(Runtime.make({ ...runtime, context: Context.empty() }))
  const tooLate = new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })

  return (
    message: IncomingMessage,
    response: ServerResponse,
    match: Routes.Match,
    search: string,
    isConsole: boolean
  ) => {
    const traceId = continueTrace(message.headers.traceparent as string | undefined)
    if (isConsole)
      response.setHeader("cache-control", "no-store").setHeader("x-content-type-options", "nosniff")
    const fiber = runFork(rest.handle(message, match, search, traceId, isConsole ? console : undefined))
    const giveUp = () => {
      // A body has a deadline of its own; what is left to do is counted from its end.
      if (isArriving(message)) return
      const refusal = calls.refuse(tooLate, traceId)
      send(message, response, message.complete ? refusal : closing(refusal), traceId)
      fiber.unsafeInterruptAsFork(FiberId.none)
    }
    const answerMs = ANSWER_MS + (match.entry.rules.waitsMs ?? 0)
    let timer = setTimeout(giveUp, answerMs)
    const arrived = () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, answerMs)
    }
    if (Option.isSome(match.entry.bodySchema)) message.once("end", arrived)
    fiber.addObserver((exit) => {
      message.off("end", arrived)
      clearTimeout(timer)
      if (exit._tag === "Success") send(message, response, exit.value, traceId)
      else giveUp()
    })
  }
})

type Answering = (message: IncomingMessage, response: ServerResponse) => void

/** Answers every request with this refusal, and ends its connection. */
const refusing =
  ({ refuse }: Calls, error: PublicError, detail?: string): Answering =>
  (message, response) => {
    const traceId = continueTrace(message.headers.traceparent as string | undefined)
    send(message, response, closing(refuse(error, traceId), detail), traceId)
  }

/** What Node takes for a request and is none here. */
const oddities = (calls: Calls) => {
  const ofVersion = refusing(calls, invalid("", UNKNOWN_VERSION))
  // Programs disagree on whether it ends the path: one that checks a path must not see another than the one answered.
  const withFragment = refusing(calls, invalid("", "The request target holds a #: write it as %23"))
  return ({ httpVersion, url }: IncomingMessage): Answering | undefined =>
    httpVersion !== "1.1" && httpVersion !== "1.0" ? ofVersion : url!.includes("#") ? withFragment : undefined
}

const stopping = new ServiceUnavailable({ retryAfterSeconds: 1 })
const STOPPING = "This server is stopping: try again in 1 s."

const SAID_EVERY_MS = 60_000

/** Says, once a minute at most, that connections are turned away: nobody could tell from outside. */
const sayWhenFull = Effect.gen(function* () {
  const server = yield* Listener
  const runFork = Runtime.runFork(yield* Effect.runtime<never>())
  let saidAt = Number.NEGATIVE_INFINITY
  server.on("drop", () => {
    if (performance.now() - saidAt < SAID_EVERY_MS) return
    saidAt = performance.now()
    const taken = `All ${server.maxConnections} connections are taken: new ones are closed at once.`
    runFork(Effect.logWarning(`${taken} Look who holds them, or start one more process.`))
  })
})

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
    const oddity = oddities(calls)
    yield* sayWhenFull
    const answer: Answering = (message, response) => {
      const refused = oddity(message)
      if (refused !== undefined) return refused(message, response)
      const { pathname, search } = split(message.url!)
      const isConsole = pathname.startsWith(CONSOLE_API)
      const match = Routes.find(
        message.method!,
        isConsole ? pathname.slice(CONSOLE_API.length - 1) : pathname
      )
      return match === undefined
        ? answerOther(message, response)
        : answerOperation(message, response, match, search, isConsole)
    }
    attend(server, answer)
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        readiness.stop,
        Effect.sync(() => server.off("request", answer).on("request", refusing(calls, stopping, STOPPING)))
      )
    )
  })
).pipe(Layer.provide([Calls.Default, Edge.Default, Readiness.Default, Rest.Default, SessionDoor.Default]))
