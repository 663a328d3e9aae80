/** Lets code outside of fibers notify a fiber: dispatcher methods and callbacks open a `Latch` by hand, here alone. */
import { type Clock, Effect } from "effect"

/** Milliseconds since 1970. This clock may be set back. */
export const wallTime = (clock: Clock.Clock): number => clock.unsafeCurrentTimeMillis()

/** A notification while the loop works is not lost. */
export class Signal {
  private readonly latch = Effect.unsafeMakeLatch(false)

  readonly notify = (): void => this.latch.unsafeOpen()

  /** For one loop. */
  readonly wait: Effect.Effect<void> = Effect.zipRight(this.latch.await, this.latch.close)

  waitAtMost(milliseconds: number): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(this.wait, milliseconds))
  }
}
