import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { MAX_KEYS, memoryCounters } from "../../src/gate/RateCounters.ts"
import { clientKey } from "../../src/gate/RateLimits.ts"

it.effect("§8 a window begins with its first call and ends exactly when announced", () =>
  Effect.gen(function* () {
    const { hit } = memoryCounters(yield* Effect.clock)

    const first = yield* hit("a", 10_000)
    yield* TestClock.adjust("2 seconds")
    const second = yield* hit("a", 10_000)
    yield* TestClock.adjust("7999 millis")
    const last = yield* hit("a", 10_000)
    yield* TestClock.adjust("1 millis")
    const next = yield* hit("a", 10_000)

    expect([first, second, last, next]).toEqual([
      { count: 1, leftMs: 10_000 },
      { count: 2, leftMs: 8_000 },
      { count: 3, leftMs: 1 },
      { count: 1, leftMs: 10_000 }
    ])
  })
)

it.effect("§8 a window ends in time, although the clock was set back meanwhile", () =>
  Effect.gen(function* () {
    const real = yield* Effect.clock
    let behindMs = 0
    const unsafeCurrentTimeMillis = () => real.unsafeCurrentTimeMillis() - behindMs
    const { hit } = memoryCounters({
      ...real,
      unsafeCurrentTimeMillis,
      currentTimeMillis: Effect.sync(unsafeCurrentTimeMillis),
      unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos()
    })
    yield* hit("a", 10_000)
    yield* TestClock.adjust("10 seconds")
    behindMs = 3_600_000

    expect(yield* hit("a", 10_000)).toEqual({ count: 1, leftMs: 10_000 })
  })
)

it.effect("§8 memory stays bounded however many clients there are, and ended windows are removed first", () =>
  Effect.gen(function* () {
    const { hit, size } = memoryCounters(yield* Effect.clock)
    for (let client = 0; client < MAX_KEYS / 2; client++) yield* hit(`short ${client}`, 1_000)
    yield* hit("patient", 60_000)
    yield* TestClock.adjust("2 seconds")

    for (let client = 0; client < MAX_KEYS * 1.2; client++) yield* hit(`long ${client}`, 60_000)
    const patient = yield* hit("patient", 60_000)

    expect(size()).toBeLessThanOrEqual(MAX_KEYS)
    expect(size()).toBeGreaterThan(MAX_KEYS / 2)
    expect(patient.count).toBeLessThanOrEqual(2)
  })
)

it("§5.1 an IPv4 address counts as itself, and an IPv6 address as its /64", () => {
  expect(clientKey("192.0.2.7")).toBe("192.0.2.7")
  expect(clientKey("::ffff:192.0.2.7")).toBe("192.0.2.7")
  expect(clientKey("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2")
  expect(clientKey("2001:db8:1:2::9")).toBe("2001:db8:1:2")
  expect(clientKey("2001:db8::1%eth0")).toBe("2001:db8:0:0")
  expect(clientKey("::1")).toBe("0:0:0:0")
})
