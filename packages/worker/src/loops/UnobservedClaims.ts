/**
 * Counts claims without an observation, so that a delivery that breaks workers, or that the database refuses, is given up.
 * Source: spec §3.4 (Poison), docs/adr/0012-poison.md.
 */
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import { Array as Arrays, Effect } from "effect"
import type { Unobserved } from "../dispatcher/Dispatched.ts"
import type { Parts } from "../Parts.ts"

export const makeUnobservedClaims = ({ dispatcher, queue, tuning }: Parts): Effect.Effect<never> => {
  /** Returns the claims still to count. A repeated call counts none twice. */
  const count = (
    lost: ReadonlyArray<Unobserved>,
    posted: boolean
  ): Effect.Effect<ReadonlyArray<Unobserved>> =>
    lost.length === 0
      ? Effect.succeed(lost)
      : Effect.suspend(() =>
          queue.countClaims(
            lost.map((one) => dispatcher.inDoubt.ended(one.row)),
            MAX_CLAIMS,
            posted
          )
        ).pipe(
          Effect.map((outcomes) => {
            const [done, blocked] = Arrays.partition(
              lost,
              ({ row }) => outcomes.get(row.deliveryId) === "blocked"
            )
            for (const one of done) dispatcher.counted(one)
            return blocked
          }),
          Effect.orElseSucceed(() => lost)
        )

  const countUntilDone = (lost: ReadonlyArray<Unobserved>): Effect.Effect<void> => {
    const [unsent, posted] = Arrays.partition(lost, (one) => one.posted)
    return Effect.zipWith(count(unsent, false), count(posted, true), (a, b) => [...a, ...b]).pipe(
      Effect.delay(tuning.defectPauseMs),
      Effect.flatMap((left) => (left.length === 0 ? Effect.void : countUntilDone(left)))
    )
  }

  return Effect.forever(
    Effect.zipRight(
      dispatcher.toCount.wait,
      Effect.suspend(() => countUntilDone(dispatcher.takeUnobserved()))
    )
  )
}
