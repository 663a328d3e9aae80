import { describe, expect, it } from "@effect/vitest"
import {
  type Behaviour,
  make as makeReceiver,
  type Received,
  type Receiver
} from "@posthorn/testkit/Receiver"
import { Effect, Fiber } from "effect"
import { BODY, dispatcher, failed, LATENESS_MS, ok, seen, to } from "./Sending.ts"

/** The deadline of requests whose receiver is dead. */
const DEAD_MS = 600

describe("connections", () => {
  const connectionsOf = (received: ReadonlyArray<Received>) => received.map(({ connection }) => connection)

  it.scopedLive("§3.4 keeps one connection for consecutive requests", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher()

      for (const path of ["/ok", "/chunked", "/status/500", "/body-2048"]) yield* send(to(receiver.url(path)))

      expect(connectionsOf(receiver.received)).toEqual([1, 1, 1, 1])
    })
  )

  it.scopedLive("§3.4 keeps one TLS connection too", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({ tls: "valid" })
      const { send } = yield* dispatcher()

      for (const path of ["/ok", "/ok", "/ok"]) expect(seen(yield* send(to(receiver.url(path))))).toEqual(ok)

      expect(connectionsOf(receiver.received)).toEqual([1, 1, 1])
    })
  )

  it.scopedLive("§4.1 does not reuse a connection that it stopped reading", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send, connections } = yield* dispatcher()

      yield* send(to(receiver.url("/endless")))
      yield* send(to(receiver.url("/ok")))

      expect(connectionsOf(receiver.received)).toEqual([1, 2])
      expect(connections()).toEqual({ open: 1, idle: 1 })
    })
  )

  it.scopedLive("§3.4 sends again on a new connection when a kept one was stale, every time", () =>
    Effect.gen(function* () {
      const stale: Behaviour = (a) => (a.nthOnConnection === 1 ? a.reply(200, "ok") : a.close())
      const staleReset: Behaviour = (a) => (a.nthOnConnection === 1 ? a.reply(200, "ok") : a.reset())
      const receiver = yield* makeReceiver({ behaviours: { "/stale": stale, "/stale-reset": staleReset } })
      const { send } = yield* dispatcher()

      for (let i = 0; i < 50; i++) {
        expect(seen(yield* send(to(receiver.url(i % 2 === 0 ? "/stale" : "/stale-reset"))))).toEqual(ok)
      }

      expect(receiver.received).toHaveLength(99)
      expect(new Set(receiver.received.map(({ body }) => body.toString()))).toEqual(new Set([BODY]))
    })
  )

  it.scopedLive("§3.4 survives receivers that close right after a kept-alive answer", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher()
      const paths = ["/keep-alive-then-close", "/keep-alive-then-reset"]

      const race = Effect.forEach(Array.from({ length: 200 }), (_, i) =>
        send(to(receiver.url(paths[i % 2]!)))
      )
      const observations = (yield* Effect.all([race, race], { concurrency: 2 })).flat()

      expect(observations.map(seen)).toEqual(Array(400).fill(ok))
    })
  )

  it.scopedLive("§3.4 sends again once only: a second end without an answer is a failure", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher()
      yield* send(to(receiver.url("/ok")))

      const observation = yield* send(to(receiver.url("/empty-reply")))

      expect(seen(observation)).toEqual(failed("connection_failed", "closed_early"))
      expect(receiver.received.map(({ target }) => target)).toEqual(["/ok", "/empty-reply", "/empty-reply"])
    })
  )

  it.scopedLive("§3.4 does not send again after a byte of an answer, nor after the deadline", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher({ requestTimeoutMs: 200 })
      yield* Effect.forEach(["/ok", "/few-bytes", "/ok", "/hang"], (path) => send(to(receiver.url(path))))

      const paths = receiver.received.map(({ target }) => target)

      expect(paths).toEqual(["/ok", "/few-bytes", "/ok", "/hang"])
    })
  )

  it.scopedLive("bounds the idle connections of one origin, and those of all", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* makeReceiver(), yield* makeReceiver()]
      const { send, connections } = yield* dispatcher({ connectionsPerOrigin: 2, idleConnections: 3 })
      const burst = (receiver: Receiver) =>
        Effect.forEach(Array.from({ length: 5 }), () => send(to(receiver.url("/ok"))), {
          concurrency: "unbounded"
        })

      yield* burst(first)
      expect(connections()).toEqual({ open: 2, idle: 2 })
      yield* burst(second)

      expect(connections()).toEqual({ open: 3, idle: 3 })
      yield* Effect.all([first.waitForConnections(1), second.waitForConnections(2)])
    }).pipe(Effect.timeout("30 seconds"))
  )

  it.scopedLive("closes the idle connections of the origin that was not used for longest", () =>
    Effect.gen(function* () {
      const receivers = yield* Effect.all(Array.from({ length: 3 }, () => makeReceiver()))
      const { send, connections } = yield* dispatcher({ maxOrigins: 2 })

      for (const index of [0, 1, 0, 2, 0]) yield* send(to(receivers[index]!.url("/ok")))

      expect(connections()).toEqual({ open: 2, idle: 2 })
      expect(receivers.map(({ connections: { opened } }) => opened)).toEqual([1, 1, 1])
      yield* receivers[1]!.waitForConnections(0)
    }).pipe(Effect.timeout("30 seconds"))
  )

  it.scopedLive("a dead origin costs a live one no connection and no time", () =>
    Effect.gen(function* () {
      const [live, dead] = [yield* makeReceiver(), yield* makeReceiver({ accept: "stall" })]
      const { send } = yield* dispatcher({
        requestTimeoutMs: DEAD_MS,
        connectionsPerOrigin: 1,
        idleConnections: 1
      })
      yield* send(to(live.url("/ok")))

      const hanging = yield* Effect.fork(
        Effect.forEach(Array.from({ length: 50 }), () => send(to(dead.url("/"))), {
          concurrency: "unbounded"
        })
      )
      const durations = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.map(send(to(live.url("/ok"))), ({ durationMs }) => durationMs)
      )

      // A request behind a dead origin would wait for its deadline; a stalling machine delays only some of them.
      expect(durations.toSorted((a, b) => a - b)[10]).toBeLessThan(DEAD_MS / 2)
      expect(live.connections.opened).toBe(1)
      for (const observation of yield* Fiber.join(hanging))
        expect(seen(observation)).toEqual(failed("request_timeout"))
    })
  )

  it.scopedLive("hung requests do not delay others of the same origin", () =>
    Effect.gen(function* () {
      const never: Behaviour = () => undefined
      const receiver = yield* makeReceiver({ behaviours: { "/never": never } })
      const { send } = yield* dispatcher({ connectionsPerOrigin: 1 })
      yield* Effect.fork(
        Effect.forEach(Array.from({ length: 30 }), () => send(to(receiver.url("/never"))), {
          concurrency: "unbounded"
        })
      )
      yield* receiver.waitFor(30, "/never")

      const observation = yield* send(to(receiver.url("/ok")))

      expect(seen(observation)).toEqual(ok)
      expect(observation.durationMs).toBeLessThan(LATENESS_MS)
    })
  )
})
