/**
 * What plain code asks of Effect's runtime. The hub's methods run between two steps of fibers, and what the driver or a timer
 * calls back has no fiber at all. So they open a `Latch` by hand. This file is the only one of the worker that does such things.
 */
import { type Clock, Effect } from "effect"

/** Milliseconds since 1970, by a clock that may be set back. */
export const wallTime = (clock: Clock.Clock): number => clock.unsafeCurrentTimeMillis()

/** Wakes one loop. What happens while the loop works is not lost: its next wait is over at once. */
export class Wake {
  private readonly latch = Effect.unsafeMakeLatch(false)

  readonly raise = (): void => this.latch.unsafeOpen()

  /** Until raised. One loop at a time. */
  readonly wait: Effect.Effect<void> = Effect.zipRight(this.latch.await, this.latch.close)

  /** Until raised, or until the time is over. */
  waitAtMost(milliseconds: number): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(this.wait, milliseconds))
  }
}
