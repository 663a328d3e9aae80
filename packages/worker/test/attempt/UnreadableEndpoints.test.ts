import { assert, it } from "@effect/vitest"
import { Effect, Logger, TestClock } from "effect"
import { UnreadableEndpoints } from "../../src/attempt/UnreadableEndpoints.ts"

it.effect("§3.4 says once a minute how many endpoints no key opens, and counts those that still fail", () => {
  const said: Array<string> = []
  return Effect.gen(function* () {
    const unreadable = new UnreadableEndpoints(yield* Effect.clock)
    for (let second = 0; second < 150; second++) {
      for (let n = 0; n < 50; n++) yield* unreadable.found(`whe_${n % 2}`, "why")
      yield* TestClock.adjust("1 second")
    }
    assert.strictEqual(unreadable.count, 2)
    unreadable.readable("whe_0")
    assert.strictEqual(unreadable.count, 1)
    yield* TestClock.adjust("2 minutes")
    assert.strictEqual(unreadable.count, 0)
    assert.deepStrictEqual(said, [
      "Deliveries of 1 endpoint cannot be prepared: why",
      "Deliveries of 2 endpoints cannot be prepared: why",
      "Deliveries of 2 endpoints cannot be prepared: why"
    ])
  }).pipe(
    Effect.provide(
      Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void said.push(String(message)))
      )
    )
  )
})
