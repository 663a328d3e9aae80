/**
 * Marks given-up deliveries `dead_lettered`, and notifies their workspaces (`posthorn.dead_letter`): when this worker has queued a
 * dead letter, and every 5 s for those of other workers. Source: spec §3.1 and §3.4.
 */
import type { DeadLettered } from "@posthorn/persistence/engine/Records"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import { deadLettered } from "../EngineMeters.ts"
import type { Parts } from "../Parts.ts"
import { deadLettersMs } from "../Schedules.ts"

const BATCH = 100

const tell = ({ marked }: DeadLettered) => {
  if (marked === 0) return Effect.void
  deadLettered(marked)
  return Effect.logInfo(`Deliveries given up: ${marked}. Their workspaces have been notified`)
}

export const makeDeadLetters = ({ dispatcher, records }: Parts): Effect.Effect<never> => {
  const trouble = makeTrouble("Dead letters cannot be marked", "Dead letters can be marked again")
  const markAll: Effect.Effect<void> = records.deadLetter(BATCH).pipe(
    Effect.tap(tell),
    Effect.flatMap(({ processed }) => (processed < BATCH ? Effect.void : markAll)),
    reporting(trouble),
    Effect.ignore,
    Effect.uninterruptible
  )
  return Effect.forever(Effect.zipRight(markAll, dispatcher.givenUp.waitAtMost(deadLettersMs)))
}
