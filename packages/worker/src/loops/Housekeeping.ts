/**
 * What becomes old: history, in a daily run; and every minute the secrets in answers kept under idempotency keys, and the hours
 * that statistics have not counted yet. Each has a loop of its own, so that none waits for another, or fails with it.
 *
 * The daily run is asked for every minute and done once a day (UTC): the database remembers, so it does not matter how
 * often workers start. Source: spec §8, §3.4 (Retention) and §4.3.
 */
import { HourlyRollups } from "@posthorn/persistence/operations/HourlyRollups"
import { Retention } from "@posthorn/persistence/operations/Retention"
import { Effect, LogLevel } from "effect"
import { housekeeping } from "../Schedules.ts"

/** Not while everything is starting. */
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
  return {
    /** `here`: whether it is this worker's job now. */
    run: (here: () => boolean): Effect.Effect<unknown> =>
      Effect.forEach(
        [look, erase, count],
        (work) =>
          Effect.suspend((): Effect.Effect<unknown> => (here() ? work : Effect.void)).pipe(
            Effect.repeat(housekeeping),
            Effect.delay(FIRST_LOOK)
          ),
        { concurrency: "unbounded", discard: true }
      )
  }
})
