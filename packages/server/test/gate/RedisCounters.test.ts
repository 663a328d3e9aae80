/** Tested with a real redis-server, on its own port; skipped when it is not installed. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { expect, it } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { freePort } from "@posthorn/testkit/FreePort"
import { until } from "@posthorn/testkit/Until"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { describe } from "vitest"
import { RateCounters } from "../../src/gate/RateCounters.ts"
import { redisLive } from "../../src/gate/RedisCounters.ts"

const installed = (() => {
  try {
    execFileSync("redis-server", ["--version"])
    return true
  } catch {
    return false
  }
})()

/** Starts it, and waits until it answers. */
const redisAt = (port: number): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<ChildProcess>((resume) => {
      const child = spawn("redis-server", [
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no"
      ])
      child.stdout.on("data", (text: Buffer) => {
        if (text.includes("Ready to accept connections")) resume(Effect.succeed(child))
      })
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const ended = (child: ChildProcess, signal: NodeJS.Signals) =>
  Effect.async<void>((resume) => {
    child.once("exit", () => resume(Effect.void))
    child.kill(signal)
  })

const countersAt = (port: number) =>
  Effect.map(Layer.build(redisLive(Redacted.make(`redis://127.0.0.1:${port}`))), (context) =>
    Context.get(context, RateCounters)
  )

let probes = 0

/** Waits until the answer is the shared count; polls with a key of its own. */
const shared = (one: Context.Tag.Service<RateCounters>, other: Context.Tag.Service<RateCounters>) =>
  Effect.suspend(() => {
    const key = `probe ${probes++}`
    return Effect.zipRight(one.hit(key, 10_000), other.hit(key, 10_000))
  }).pipe((asking) => until(asking, ({ count }) => count === 2), Effect.orDie)

/** The result, and its duration in milliseconds. */
const timed = <A>(self: Effect.Effect<A>) =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.map(self, (value) => [value, performance.now() - began] as const)
  })

describe.skipIf(!installed)("Redis (needs the program redis-server)", () => {
  it.scopedLive("§8 two processes share one count, and each window ends", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      yield* redisAt(port)
      const [one, other] = [yield* countersAt(port), yield* countersAt(port)]

      let round = 0
      const together = Effect.gen(function* () {
        const key = `key ${round++}`
        yield* shared(one, other)
        return yield* timed(
          Effect.gen(function* () {
            const counts = yield* Effect.all(
              Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one : other).hit(key, 300)),
              { concurrency: "unbounded" }
            )
            // biome-ignore lint/plugin: the window's end is tested
            yield* Effect.sleep(Math.max(...counts.map(({ leftMs }) => leftMs)) + 20)
            return { counts, next: yield* one.hit(key, 300) }
          })
        )
      })
      // Repeated when the machine stalled for a window, or for as long as Redis may take.
      const [{ counts, next }] = yield* atBest(450, together, ([, ms]) => ms)

      expect(counts.map(({ count }) => count).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, at) => at + 1)
      )
      expect(counts.every(({ leftMs }) => leftMs > 0 && leftMs <= 300)).toBe(true)
      expect(next.count).toBe(1)
    })
  )

  it.scopedLive(
    "§8 while Redis is unreachable this process counts alone, without waiting, and afterwards shares again",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const redis = yield* redisAt(port)
        const [one, other] = [yield* countersAt(port), yield* countersAt(port)]
        yield* shared(one, other)

        yield* ended(redis, "SIGKILL")
        let round = 0
        const alone = timed(
          Effect.suspend(() => {
            const key = `alone ${round++}`
            return Effect.all(Array.from({ length: 200 }, () => one.hit(key, 60_000)))
          })
        )
        const [counts, took] = yield* atBest(500, alone, ([, ms]) => ms)
        yield* redisAt(port)
        yield* shared(one, other)

        expect(counts.at(-1)!.count).toBe(200)
        expect(took).toBeLessThan(500)
      })
  )

  it.scopedLive("§8 a Redis that hangs delays one call a second, and no others", () =>
    Effect.gen(function* () {
      const port = yield* freePort
      const redis = yield* redisAt(port)
      const [one, other] = [yield* countersAt(port), yield* countersAt(port)]
      yield* shared(one, other)
      yield* Effect.addFinalizer(() => Effect.sync(() => redis.kill("SIGCONT")))

      redis.kill("SIGSTOP")
      const hit = one.hit("hung", 60_000)
      // Each time late enough that it asks Redis again.
      // biome-ignore lint/plugin: it asks again after this time
      const asking = Effect.zipRight(Effect.sleep("1100 millis"), timed(hit))
      const [, first] = yield* atBest(400, asking, ([, ms]) => ms)
      const rest = timed(Effect.all(Array.from({ length: 100 }, () => hit)))
      const [, least] = yield* atBest(100, rest, ([, ms]) => ms)

      expect(first).toBeLessThan(400)
      expect(least).toBeLessThan(100)
    })
  )
})
