/**
 * The consumer of the dead-letter queue: marks spent deliveries terminal and tells the workspace, in
 * `posthorn.bury`. Runs when something was put there, and now and then for what another worker left behind.
 * Source: spec §3.1, decision §7.
 */
import { Records } from "@posthorn/persistence/Records"
import { Effect } from "effect"
import { Signal } from "./internal/Signal.ts"

const BATCH = 100
const LOOK_MS = 5_000

export const make = Effect.map(Records, (records) => {
  const signal = new Signal()
  const buryAll: Effect.Effect<void> = records.bury(BATCH).pipe(
    Effect.flatMap((buried) => (buried < BATCH ? Effect.void : buryAll)),
    Effect.catchAll((error) => Effect.logWarning("Dead letters cannot be marked", error)),
    Effect.uninterruptible
  )
  return {
    arrived: () => signal.raise(),
    run: Effect.forever(Effect.zipRight(buryAll, signal.waitAtMost(LOOK_MS)))
  }
})
