/**
 * A bound on how long something takes, on a machine that may stand still meanwhile: what is prompt is so once in a few tries,
 * and what is slow never is. Each try is made from the start, so `ask` must not need what an earlier one used up.
 */
import { Effect } from "effect"

const TRIES = 5

/** The first answer that took less, or else the one that took least. */
export const atBest = <A, E, R>(
  mostMs: number,
  ask: Effect.Effect<A, E, R>,
  tookMs: (answer: A) => number
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    let best = yield* ask
    for (let tries = 1; tries < TRIES && tookMs(best) >= mostMs; tries++) {
      const next = yield* ask
      if (tookMs(next) < tookMs(best)) best = next
    }
    return best
  })
