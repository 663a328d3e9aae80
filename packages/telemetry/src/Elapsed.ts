/** Monotonic milliseconds, for durations: the wall clock may be set back by an hour, or by a year. */
import { Clock, Effect } from "effect"

export const elapsed = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export const elapsedNow: Effect.Effect<number> = Effect.map(
  Clock.currentTimeNanos,
  (nanos) => Number(nanos) / 1e6
)
