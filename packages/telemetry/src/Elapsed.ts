/** Monotonic milliseconds, for durations: the wall clock may be set back by an hour, or by a year. */
import { Brand, type Clock, Effect } from "effect"

/** A moment of this process; a difference of two is a plain number. */
export type MonotonicMs = number & Brand.Brand<"MonotonicMs">

export const monotonicMs = Brand.nominal<MonotonicMs>()

export const elapsed = (clock: Clock.Clock): MonotonicMs =>
  monotonicMs(Number(clock.unsafeCurrentTimeNanos()) / 1e6)

export const elapsedNow: Effect.Effect<MonotonicMs> = Effect.map(Effect.clock, elapsed)
