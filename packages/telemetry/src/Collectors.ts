/**
 * What is looked up only when somebody reads the meters: sizes, pools, the state of the queue.
 *
 * One set for the process, as the registry is one. A collector that fails is that collector's loss: the others are read.
 */
import { Effect, type Scope } from "effect"

const collectors = new Set<Effect.Effect<void>>()

/** From now on, until the scope closes. */
export const collecting = (collector: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => void collectors.add(collector)),
    () => Effect.sync(() => void collectors.delete(collector))
  )

/** Bring all gauges up to date. */
export const collect: Effect.Effect<void> = Effect.suspend(() =>
  Effect.forEach(collectors, (collector) => Effect.catchAllCause(collector, () => Effect.void), {
    concurrency: "unbounded",
    discard: true
  })
)
