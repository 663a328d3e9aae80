/** Housekeeping jobs run on time, whatever else there is to do. Time stands still until the test moves it. */
import { expect, it } from "@effect/vitest"
import { HourlyRollups } from "@posthorn/persistence/operations/HourlyRollups"
import { Retention } from "@posthorn/persistence/operations/Retention"
import { Effect, Layer, TestClock } from "effect"
import * as Housekeeping from "../../src/loops/Housekeeping.ts"

/** What has been begun in 140 seconds, of which `hangs` never ends. */
const begun = (hangs: "daily" | "erased" | "forgotten" | "counted") =>
  Effect.gen(function* () {
    const times = { daily: 0, erased: 0, forgotten: 0, counted: 0 }
    const step = (what: keyof typeof times) =>
      Effect.suspend(() => {
        times[what] += 1
        return what === hangs ? Effect.never : Effect.succeed(0)
      })
    const old = Layer.succeed(Retention, {
      daily: Effect.as(step("daily"), null),
      erase: step("erased"),
      forget: step("forgotten"),
      removeDeleted: Effect.succeed(0),
      run: Effect.never
    })
    const { run } = yield* Effect.provide(
      Housekeeping.make,
      Layer.merge(old, Layer.succeed(HourlyRollups, { count: step("counted") }))
    )
    yield* Effect.forkScoped(run(() => true))
    yield* TestClock.adjust("140 seconds")
    return times
  })

it.scoped("§4.3 erases secrets every minute, however long rolling up hours and removing history take", () =>
  Effect.gen(function* () {
    expect(yield* begun("counted")).toEqual({ daily: 3, erased: 3, forgotten: 3, counted: 1 })
    expect(yield* begun("daily")).toEqual({ daily: 1, erased: 3, forgotten: 3, counted: 3 })
  })
)

it.scoped("§4.5 rolls hours up every minute, however long erasing secrets takes", () =>
  Effect.gen(function* () {
    expect(yield* begun("erased")).toEqual({ daily: 3, erased: 1, forgotten: 3, counted: 3 })
  })
)
