/** The one way to tell the Poller what was published, or that something may be due. Moments are microseconds by the database's clock. */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Effect } from "effect"
import { Signal } from "../internal/Signal.ts"

/** An unknown moment: the Poller looks some time back, and checks endpoints that may have been enabled. */
export const SOMETIME = null

export class PollInbox {
  private readonly wake = new Signal()
  private readonly moments: Array<number> = []
  private readonly rows: Array<DueRow> = []
  private sometime = false

  /** Something may be due from this moment on, which may be in the future. Infinity: read on without rewinding. */
  readonly pollFrom = (moment: number | typeof SOMETIME): void => {
    if (moment === SOMETIME) this.sometime = true
    else this.moments.push(moment)
    this.wake.notify()
  }

  /** A delivery that was published a moment ago. */
  readonly published = (row: DueRow): void => {
    this.rows.push(row)
    this.wake.notify()
  }

  /** Takes all that was told since the last call. */
  take() {
    const { sometime } = this
    this.sometime = false
    return { moments: this.moments.splice(0), published: this.rows.splice(0), sometime }
  }

  /** Waits until something was told. For the Poller only. */
  get news(): Effect.Effect<void> {
    return this.wake.wait
  }
}
