/**
 * Once a UTC day: removes old history. Each minute: erases expired secrets in kept answers, deletes starts that no rate limit
 * counts, removes deliveries of deleted endpoints, and sums up finished hours. Each of the five has a loop of its own. The database
 * remembers the last daily run. Source: spec §8, §3.4 (Retention) and §4.3.
 */
import { HourlyRollups } from "@posthorn/persistence/operations/HourlyRollups"
import { Retention } from "@posthorn/persistence/operations/Retention"
import { Effect, LogLevel } from "effect"
import { housekeeping } from "../Schedules.ts"

const FIRST_LOOK = "20 seconds"

export const make = Effect.map(Effect.all([Retention, HourlyRollups]), ([retention, hours]) => {
  const look = retention.daily.pipe(
    Effect.tap((removed) =>
      removed === null
        ? Effect.void
        : Effect.logWithLevel(
            Object.values(removed).some((count) => count > 0) ? LogLevel.Info : LogLevel.Debug,
            "Old history was removed",
            removed
          )
    ),
    Effect.catchAll((error) => Effect.logWarning("Old history could not be removed", error))
  )
  const erase = retention.erase.pipe(
    Effect.catchAll((error) => Effect.logWarning("Secrets in kept answers could not be erased", error))
  )
  const count = hours.count.pipe(
    Effect.catchAll((error) => Effect.logWarning("Hours could not be counted for statistics", error))
  )
  const removeDeleted = retention.removeDeleted.pipe(
    Effect.catchAll((error) =>
      Effect.logWarning("Deliveries of deleted endpoints could not be removed", error)
    )
  )
  const forget = retention.forget.pipe(
    Effect.catchAll((error) => Effect.logWarning("Starts of attempts could not be forgotten", error))
  )
  return {
    run: (here: () => boolean): Effect.Effect<unknown> =>
      Effect.forEach(
        [look, erase, forget, count, removeDeleted],
        (work) =>
          Effect.suspend((): Effect.Effect<unknown> => (here() ? work : Effect.void)).pipe(
            Effect.repeat(housekeeping),
            Effect.delay(FIRST_LOOK)
          ),
        { concurrency: "unbounded", discard: true }
      )
  }
})
