/**
 * The HTTP server: the way of a request from Node to whoever answers it.
 *
 * Everything is answered straight on Node's request and response: the platform's own server takes half as long again
 * per request. A fiber runs what is no step (`domain/AtOnce`); a publish needs none. An operation is given up `ANSWER_MS` after
 * its body was waited for, with 503; anything else, when its connection is gone.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { Going } from "@posthorn/domain/AtOnce"
import { invalid, type PublicError, ServiceUnavailable } from "@posthorn/domain/Errors"
import { Effect, type Exit, FiberId, FiberRef, FiberRefs, Layer, Runtime, RuntimeFlags } from "effect"
import { type Answer, Calls } from "../Calls.ts"
import { answered } from "../RequestMeters.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { ConnectionLimits } from "./ConnectionLimits.ts"
import { Edge } from "./Edge.ts"
import { Exchange } from "./Exchange.ts"
import { Listener, makeListener, UNKNOWN_VERSION } from "./Listener.ts"
import { Readiness } from "./Readiness.ts"
import { type Sent, send } from "./Send.ts"

const ANSWER_MS = 15_000
const RETRY_AFTER_SECONDS = 2

/** Listens; the address is in `HttpServer`. */
export const listenLive = Layer.unwrapEffect(
  Effect.map(Effect.all([ServerConfig, ConnectionLimits]), ([{ baseUrl, host, port }, limits]) => {
    const listening = makeListener(baseUrl, limits)
    return Layer.merge(
      NodeHttpServer.layer(() => listening.server, { host, port }),
      Layer.succeed(Listener, listening)
    )
  })
)

const tooLate = new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS })

/** The connection ends with this answer: what is still to come on it belongs to no request. */
const closing = (answer: Answer): Answer => ({
  ...answer,
  headers: { ...answer.headers, connection: "close" }
})

/** Answers requests with what `Edge` makes of them. */
const answering = Effect.gen(function* () {
  const calls = yield* Calls
  const edge = yield* Edge
  const runtime = yield* Effect.runtime<never>()
  // Counters of fibers, which nobody reads: labels are compared for each.
  const runtimeFlags = RuntimeFlags.disable(runtime.runtimeFlags, RuntimeFlags.RuntimeMetrics)
  // Nothing around it: each step that adds to a context copies, and compares, all of it.
  const fiberRefs = FiberRefs.delete(runtime.fiberRefs, FiberRef.currentContext)
  /** With what is known by then of who calls. */
  const goingOf = ({ known: context }: Exchange) =>
    new Going(context, (effect, done) => {
      const fiber = Runtime.runFork(Runtime.make({ context, fiberRefs, runtimeFlags }), effect)
      fiber.addObserver(done)
      return () => fiber.unsafeInterruptAsFork(FiberId.none)
    })

  /** Gives the operation up when it takes too long; gives what ends this. A body has a deadline of its own. */
  const watch = (exchange: Exchange, { rules }: ContractEntry, giveUp: () => void) => {
    const late = () => (exchange.isArriving ? undefined : giveUp())
    const timer = setTimeout(late, ANSWER_MS + (rules.waitsMs ?? 0))
    exchange.arrived = () => timer.refresh()
    return () => clearTimeout(timer)
  }

  /** Nobody waits for it any more. */
  const whenGone = ({ response }: Exchange, going: Going) => {
    response.once("close", () => response.writableEnded || going.stop())
    return () => undefined
  }

  return (message: IncomingMessage, response: ServerResponse) => {
    const exchange = new Exchange(message, response)
    const answering = edge.answer(exchange)
    const going = goingOf(exchange)
    exchange.isUnderWay = true
    let isFinished = false
    /** Sends the answer, and counts the operation; what comes after the first is too late. */
    const finish = (sent: Sent) => {
      if (isFinished) return
      isFinished = true
      const { began, match, via } = exchange
      const status = send(exchange, sent)
      if (match !== undefined) answered(match.entry, via, status, began)
    }
    const giveUp = () => {
      const refusal = calls.refuse(tooLate, exchange)
      finish(message.complete ? refusal : closing(refusal))
      going.stop()
    }
    const ended =
      exchange.match === undefined ? whenGone(exchange, going) : watch(exchange, exchange.match.entry, giveUp)
    going.go(answering, (exit: Exit.Exit<Sent>) => {
      ended()
      if (exit._tag === "Success") finish(exit.value)
      else giveUp()
    })
  }
})

type Answering = (message: IncomingMessage, response: ServerResponse) => void

/** Answers every request with this refusal, and ends its connection. */
const refusing =
  ({ refuse }: Calls, error: PublicError): Answering =>
  (message, response) => {
    const exchange = new Exchange(message, response)
    send(exchange, closing(refuse(error, exchange)))
  }

/** What Node takes for a request and is none here. */
const oddities = (calls: Calls) => {
  const ofVersion = refusing(calls, invalid("", UNKNOWN_VERSION))
  // Programs disagree on whether it ends the path: one that checks a path must not see another than the one answered.
  const withFragment = refusing(calls, invalid("", "The request target holds a #: write it as %23"))
  return ({ httpVersion, url }: IncomingMessage): Answering | undefined =>
    httpVersion !== "1.1" && httpVersion !== "1.0" ? ofVersion : url!.includes("#") ? withFragment : undefined
}

const stopping = Object.assign(new ServiceUnavailable({ retryAfterSeconds: 1 }), {
  explanation: "This server is stopping"
})

const SAID_EVERY_MS = 60_000

/** Says, once a minute at most, that connections are turned away: nobody could tell from outside. */
const sayWhenFull = Effect.gen(function* () {
  const { server } = yield* Listener
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
    const { attend, server } = yield* Listener
    const calls = yield* Calls
    const readiness = yield* Readiness
    const answer = yield* answering
    const oddity = oddities(calls)
    yield* sayWhenFull
    const attending: Answering = (message, response) => (oddity(message) ?? answer)(message, response)
    attend(attending)
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        readiness.stop,
        Effect.sync(() => server.off("request", attending).on("request", refusing(calls, stopping)))
      )
    )
  })
).pipe(Layer.provide([Calls.Default, Edge.Default, Readiness.Default]))
