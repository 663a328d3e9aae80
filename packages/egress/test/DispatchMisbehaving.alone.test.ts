import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { misbehaving, type ReceiverCase } from "@posthorn/testkit/MisbehavingReceivers"
import { make as makeReceiver, type Receiver } from "@posthorn/testkit/Receiver"
import { Effect, Exit, Scope } from "effect"
import type { Observation } from "../src/Observation.ts"
import {
  BODY_TIMEOUT_MS,
  dispatcher,
  LATENESS_MS,
  REQUEST_TIMEOUT_MS,
  type Sender,
  seen,
  to
} from "./Sending.ts"

/** When an observation may come. Timers may be a millisecond early; a body's deadline begins at its head. */
const span = (until: ReceiverCase["until"]): readonly [number, number] => {
  if (until === null) return [0, REQUEST_TIMEOUT_MS - 1]
  return until === "request deadline"
    ? [REQUEST_TIMEOUT_MS - 2, REQUEST_TIMEOUT_MS + LATENESS_MS]
    : [BODY_TIMEOUT_MS - 2, REQUEST_TIMEOUT_MS - 1]
}

describe("misbehaving receivers", () => {
  const observations = new Map<string, Observation>()
  let scope: Scope.CloseableScope
  let receiver: Receiver
  let connections: Sender["connections"]

  beforeAll(async () => {
    scope = await Effect.runPromise(Scope.make())
    const visit = Effect.gen(function* () {
      receiver = yield* makeReceiver()
      const { send, ...rest } = yield* dispatcher()
      connections = rest.connections
      yield* Effect.forEach(
        misbehaving,
        ({ path }) =>
          Effect.map(send(to(receiver.url(path))), (observation) => observations.set(path, observation)),
        { concurrency: "unbounded", discard: true }
      )
    })
    await Effect.runPromise(Scope.extend(visit, scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it.each(misbehaving)("§4.1 observes $path as it must", ({ path, leadsTo, until }) => {
    const observation = observations.get(path)!

    const [earliest, latest] = span(until)

    expect(seen(observation)).toEqual(leadsTo)
    expect(observation.durationMs).toBeGreaterThanOrEqual(earliest)
    expect(observation.durationMs).toBeLessThanOrEqual(latest)
  })

  it("§3.4 follows no redirect and sends each request once", () => {
    const paths = receiver.received.map(({ target }) => target)

    expect(paths).not.toContain("/trap")
    expect([...paths].sort()).toEqual(misbehaving.map(({ path }) => path).sort())
  })

  it("§2.3 stores bodies that are valid UTF-8 without NUL, of at most 2,048 bytes", () => {
    for (const [path, { responseBody }] of observations) {
      if (responseBody === null) continue
      expect(Buffer.byteLength(responseBody), path).toBeLessThanOrEqual(2048)
      expect(Buffer.from(responseBody).toString(), path).toBe(responseBody)
      expect(responseBody.includes("\0"), path).toBe(false)
    }
  })

  it.scopedLive("§4.1 notices a reset even when the process was stopped before it", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({
        behaviours: {
          "/reset": (a) => {
            a.raw("HTTP/1.1 200 OK\r\n\r\npart of it").reset()
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40)
          }
        }
      })
      const { send } = yield* dispatcher()

      const observation = yield* send(to(receiver.url("/reset")))

      expect(seen(observation)).toEqual({ httpStatus: 200, failureReason: null, responseBody: null })
    })
  )

  it.scopedLive("keeps memory flat while twenty endless answers come at once", () =>
    Effect.gen(function* () {
      const { send } = yield* dispatcher()
      const before = process.memoryUsage().rss

      const paths = ["/endless", "/endless-chunks", "/gzip-bomb", "/chunk-extension-endless"]
      const twenty = Array.from({ length: 20 }, (_, i) => receiver.url(paths[i % paths.length]!))
      yield* Effect.forEach(twenty, (url) => send(to(url)), { concurrency: "unbounded", discard: true })

      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024)
    })
  )

  it("leaves no connection open but idle ones that it may reuse", () =>
    Effect.gen(function* () {
      const { open, idle } = connections()

      expect(open).toBe(idle)
      expect(idle).toBeGreaterThan(0)
      yield* receiver.waitForConnections(idle)
    }).pipe(Effect.timeout("30 seconds"), Effect.runPromise))
})
