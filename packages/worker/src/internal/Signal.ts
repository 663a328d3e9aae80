/**
 * Lets code outside of fibers notify a fiber. The dispatcher's methods run between two steps of fibers, and callbacks of the driver or
 * of timers have no fiber at all, so they open a `Latch` by hand. Only this file of the worker does such things.
 */
import { type Clock, Effect } from "effect"

/** Milliseconds since 1970. This clock may be set back. */
export const wallTime = (clock: Clock.Clock): number => clock.unsafeCurrentTimeMillis()

/** Notifies one loop. A notification while the loop works is not lost: the next wait ends at once. */
export class Signal {
  private readonly latch = Effect.unsafeMakeLatch(false)

  readonly notify = (): void => this.latch.unsafeOpen()

  /** Waits until notified. One loop at a time. */
  readonly wait: Effect.Effect<void> = Effect.zipRight(this.latch.await, this.latch.close)

  /** Waits until notified, or until the time is over. */
  waitAtMost(milliseconds: number): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(this.wait, milliseconds))
  }
}
