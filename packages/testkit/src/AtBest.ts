/**
 * Checks a latency bound on a machine that may stall: something fast is fast in at least one of a few tries, something slow in
 * none. Each try starts anew, so `ask` must not depend on what an earlier try used up.
 */
import { Effect } from "effect"

const TRIES = 5

/** The first answer within the bound, otherwise the fastest. */
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
