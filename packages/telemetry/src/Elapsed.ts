/** Milliseconds that only go forward, for durations: the wall clock may be set back by an hour, or by a year. */
import { type Clock, Effect } from "effect"

export const elapsed = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export const elapsedNow: Effect.Effect<number> = Effect.clockWith((clock) =>
  Effect.sync(() => elapsed(clock))
)
