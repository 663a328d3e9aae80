import { describe, expect, it } from "@effect/vitest"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect, Exit, Fiber, Scope } from "effect"
import { BODY, dispatcher, failed, HEADERS, LATENESS_MS, ok, seen, to } from "./Sending.ts"

describe("the request", () => {
  it.scopedLive("§3.4 is a POST with exactly these headers and the signed bytes", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send, fixedHeaders } = yield* dispatcher()

      yield* send(to(receiver.url("/ok?team=%C3%A9&x=1")))

      const [request] = yield* receiver.waitFor(1)
      expect(request).toMatchObject({ method: "POST", target: "/ok?team=%C3%A9&x=1" })
      expect(request!.body.toString()).toBe(BODY)
      expect(request!.headers).toEqual([
        ["host", `127.0.0.1:${receiver.port}`],
        ["connection", "keep-alive"],
        ["content-type", "application/json"],
        ["user-agent", "Posthorn/0.0.0-test"],
        ["accept-encoding", "identity"],
        ...Object.entries(HEADERS),
        ["content-length", String(Buffer.byteLength(BODY))]
      ])
      expect(Object.entries(fixedHeaders)).toEqual(request!.headers.slice(2, 5))
      yield* send(to(receiver.url("/ok?")))
      expect((yield* receiver.waitFor(2))[1]!.target).toBe("/ok?")
    })
  )

  it.scopedLive("§4.1 carries bytes unchanged, from nothing to a mebibyte", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher()
      const bodies = [new Uint8Array(0), Buffer.from([0, 255, 254, 10, 13]), Buffer.alloc(1024 * 1024, "€")]

      for (const body of bodies) yield* send({ ...to(receiver.url("/ok")), body })

      const received = yield* receiver.waitFor(3)
      for (const [i, { body }] of received.entries()) expect(body.equals(Buffer.from(bodies[i]!))).toBe(true)
    })
  )

  it.scopedLive("§3.4 sends back no cookie that it received", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher()

      for (const path of ["/set-cookie", "/set-cookie", "/ok"]) yield* send(to(receiver.url(path)))

      const names = receiver.received.flatMap(({ headers }) => headers.map(([name]) => name.toLowerCase()))
      expect(names).toHaveLength(30)
      expect(names).not.toContain("cookie")
    })
  )
})

describe("deadlines", () => {
  it.scopedLive("§8 keeps the request deadline, whatever came before it", () =>
    Effect.gen(function* () {
      const stalled = yield* makeReceiver({ tls: "valid", accept: "stall" })
      const receiver = yield* makeReceiver()
      const { send } = yield* dispatcher({ requestTimeoutMs: 300 })

      const observations = yield* Effect.all(
        [
          send(to(stalled.url("/"))),
          send(to(receiver.url("/hang"))),
          send(to(receiver.url("/interim-drip")))
        ],
        { concurrency: "unbounded" }
      )

      expect(observations.map(({ failureDetail }) => failureDetail)).toEqual([
        "connect_timeout",
        undefined,
        undefined
      ])
      for (const observation of observations) {
        expect(observation.failureReason).toBe("request_timeout")
        expect(observation.durationMs).toBeGreaterThanOrEqual(299)
        expect(observation.durationMs).toBeLessThan(300 + LATENESS_MS)
      }
      yield* Effect.all([stalled.waitForConnections(0), receiver.waitForConnections(0)])
    }).pipe(Effect.timeout("30 seconds"))
  )

  it.scopedLive("§8 reads what arrived before a deadline that passed while this process was stopped", () =>
    Effect.gen(function* () {
      const standStill = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      const receiver = yield* makeReceiver({
        behaviours: {
          "/head": (a) => {
            a.reply(200, "ok")
            standStill()
          },
          "/body": (a) => {
            a.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
            // After its head has been read, and where the event loop checks timers next.
            // biome-ignore lint/plugin: a slow receiver
            setTimeout(() => {
              setImmediate(() => {
                a.raw("ok")
                standStill()
              })
            }, 50)
          }
        }
      })
      const { send } = yield* dispatcher({ requestTimeoutMs: 400, bodyTimeoutMs: 400 })

      const observations = yield* Effect.forEach(["/head", "/body"], (path) => send(to(receiver.url(path))))

      expect(observations.map(seen)).toEqual([ok, ok])
    })
  )

  it.scopedLive("§8 counts the wait for an address against the deadline", () =>
    Effect.gen(function* () {
      const { send } = yield* dispatcher({ requestTimeoutMs: 100, resolve: () => undefined })

      const observation = yield* send(to("https://slow.example/"))

      expect(seen(observation)).toEqual(failed("request_timeout", "connect_timeout"))
    })
  )

  it.scopedLive("§4.1 gives the body a deadline of its own, which begins at the head", () =>
    Effect.gen(function* () {
      const late: Behaviour = (a) => {
        // biome-ignore lint/plugin: a slow receiver
        setTimeout(() => a.raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"), 500)
        // biome-ignore lint/plugin: a slow receiver
        setTimeout(() => a.raw("ok"), 3_100)
      }
      const receiver = yield* makeReceiver({ behaviours: { "/late": late } })
      const { send } = yield* dispatcher({ requestTimeoutMs: 3_000, bodyTimeoutMs: 6_000 })

      const observation = yield* send(to(receiver.url("/late")))

      expect(seen(observation)).toEqual(ok)
      expect(observation.durationMs).toBeGreaterThan(3_000)
    })
  )

  it.scopedLive("interruption closes the connection at once", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { send, connections } = yield* dispatcher({ requestTimeoutMs: 60_000 })
      const fiber = yield* Effect.fork(send(to(receiver.url("/hang"))))
      yield* receiver.waitFor(1)

      const exit = yield* Fiber.interrupt(fiber)

      expect(Exit.isInterrupted(exit)).toBe(true)
      expect(connections()).toEqual({ open: 0, idle: 0 })
      yield* receiver.waitForConnections(0)
    }).pipe(Effect.timeout("30 seconds"))
  )

  it.scopedLive("closing the dispatcher interrupts what is in flight, and observes nothing", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const scope = yield* Scope.make()
      const { send } = yield* Scope.extend(dispatcher({ requestTimeoutMs: 60_000 }), scope)
      yield* send(to(receiver.url("/ok")))
      const fiber = yield* Effect.fork(send(to(receiver.url("/hang"))))
      yield* receiver.waitFor(2)

      yield* Scope.close(scope, Exit.void)

      expect(Exit.isInterrupted(yield* Fiber.await(fiber))).toBe(true)
      expect(Exit.isInterrupted(yield* Effect.exit(send(to(receiver.url("/ok")))))).toBe(true)
      yield* receiver.waitForConnections(0)
    }).pipe(Effect.timeout("30 seconds"))
  )
})
