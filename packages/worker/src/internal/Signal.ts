/**
 * Lets one fiber sleep until something happened, however often and whoever said so. What happens between two waits is
 * not lost: the next wait returns at once.
 */
import { Effect } from "effect"

export class Signal {
  private happened = false
  private waiter: (() => void) | null = null

  raise(): void {
    this.happened = true
    this.waiter?.()
  }

  get isRaised(): boolean {
    return this.happened
  }

  /** Until raised. One waiter at a time. */
  readonly wait: Effect.Effect<void> = Effect.async<void>((resume) => {
    const done = () => {
      this.happened = false
      this.waiter = null
      resume(Effect.void)
    }
    if (this.happened) return done()
    this.waiter = done
    return Effect.sync(() => {
      this.waiter = null
    })
  })

  /** Until raised, or until the time is over. */
  waitAtMost(milliseconds: number): Effect.Effect<void> {
    return this.happened ? this.wait : Effect.asVoid(Effect.timeoutOption(this.wait, milliseconds))
  }
}
