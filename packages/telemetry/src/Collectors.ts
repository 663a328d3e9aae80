/**
 * Meters that are computed only when they are read: sizes, pools, the state of the queue. There is one set for the process,
 * like the registry. If a collector fails, the others are still read.
 */
import { Effect, type Scope } from "effect"

const collectors = new Set<Effect.Effect<void>>()

/** Registers a collector until the scope closes. */
export const collecting = (collector: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => void collectors.add(collector)),
    () => Effect.sync(() => void collectors.delete(collector))
  )

/** Updates all gauges. */
export const collect: Effect.Effect<void> = Effect.suspend(() =>
  Effect.forEach(collectors, (collector) => Effect.catchAllCause(collector, () => Effect.void), {
    concurrency: "unbounded",
    discard: true
  })
)
