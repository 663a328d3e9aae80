/**
 * Counts the take-ups that ended without an observation, so that a delivery that breaks the worker, or that the database
 * refuses, is given up some day. Counted, it is read again.
 * Source: decision §7 (Poison), docs/adr/0012-poison.md.
 */
import { MAX_TAKE_UPS } from "@posthorn/domain/Verdict"
import { Array as Arrays, Effect } from "effect"
import type { Row } from "./lanes/Lane.ts"
import type { Parts } from "./Parts.ts"

export const makeTakeUps = ({ lanes, queue, tuning }: Parts): Effect.Effect<never> => {
  /** Gives those whose rows somebody holds, or all when the statement failed. Counted twice, they are counted once. */
  const count = (rows: ReadonlyArray<Row>, posted: boolean): Effect.Effect<ReadonlyArray<Row>> =>
    rows.length === 0
      ? Effect.succeed(rows)
      : Effect.suspend(() =>
          queue.takeUp(
            rows.map((row) => lanes.suspects.ended(row)),
            MAX_TAKE_UPS,
            posted
          )
        ).pipe(
          Effect.map((outcomes) => {
            const [done, held] = Arrays.partition(rows, (row) => outcomes.get(row.deliveryId) === "held")
            for (const row of done) lanes.suspects.forget(row)
            lanes.readAgain(done)
            return held
          }),
          Effect.orElseSucceed(() => rows)
        )

  const countUntilDone = (rows: ReadonlyArray<Row>): Effect.Effect<void> => {
    const [unsent, posted] = Arrays.partition(rows, (row) => row.posted)
    return Effect.zipWith(count(unsent, false), count(posted, true), (a, b) => [...a, ...b]).pipe(
      Effect.delay(tuning.defectPauseMs),
      Effect.flatMap((left) => (left.length === 0 ? Effect.void : countUntilDone(left)))
    )
  }

  return Effect.forever(
    Effect.zipRight(
      lanes.settled.toCount.wait,
      Effect.suspend(() => countUntilDone(lanes.settled.takeUnobserved()))
    )
  )
}
