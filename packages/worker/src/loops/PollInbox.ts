/**
 * How others tell the Poller that there may be something due, by one method. Moments are microseconds by the database's clock.
 */
import { Wake } from "../internal/Wake.ts"

/** Nobody knows since when: look back a while, and at endpoints that may have been enabled. */
export const SOMETIME = null

export class PollInbox {
  private readonly wake = new Wake()
  private readonly moments: Array<number> = []
  private sometime = false

  /** There may be something due from this moment on, which may be in the future; infinity: only look on. */
  readonly lookFrom = (moment: number | typeof SOMETIME): void => {
    if (moment === SOMETIME) this.sometime = true
    else this.moments.push(moment)
    this.wake.raise()
  }

  /** What was told since the last time. */
  take(): { readonly moments: ReadonlyArray<number>; readonly sometime: boolean } {
    const { sometime } = this
    this.sometime = false
    return { moments: this.moments.splice(0), sometime }
  }

  waitAtMost(milliseconds: number) {
    return this.wake.waitAtMost(milliseconds)
  }
}
