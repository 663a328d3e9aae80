/** The one way to tell the Poller that something may be due. Moments are microseconds by the database's clock. */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Effect } from "effect"
import { Signal } from "../internal/Signal.ts"

type News =
  /** Something may be due from this moment on, which may be in the future. */
  | { readonly kind: "from"; readonly moment: number }
  /** Something may be due anywhere, and endpoints may have been enabled: the Poller looks some time back. */
  | { readonly kind: "anywhere" }
  /** There is room in memory, or another shard: read on from the cursors. */
  | { readonly kind: "goOn" }
  /** This delivery was published a moment ago. */
  | { readonly kind: "delivery"; readonly row: DueRow }

export class PollInbox {
  private readonly signal = new Signal()
  private readonly news: Array<News> = []

  tell(news: News): void {
    this.news.push(news)
    this.signal.notify()
  }

  /** Takes all that was told since the last call. */
  take(): ReadonlyArray<News> {
    return this.news.splice(0)
  }

  /** Waits until something was told. For the Poller only. */
  readonly told: Effect.Effect<void> = this.signal.wait
}
