/** The one way to tell the Poller that something may be due. */
import type { DatabaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Effect } from "effect"
import type { LaneKey } from "../dispatcher/Lane.ts"
import { Signal } from "../internal/Signal.ts"

type News =
  /** May be in the future. */
  | { readonly kind: "from"; readonly moment: DatabaseMicros }
  /** The Poller looks some time back. */
  | { readonly kind: "anywhere" }
  /** There is room in memory, or another shard. */
  | { readonly kind: "goOn" }
  /** The endpoint was enabled, or has another secret or request profile. */
  | { readonly kind: "usable"; readonly endpoint: LaneKey }
  | { readonly kind: "delivery"; readonly row: DueRow }

export class PollInbox {
  private readonly signal = new Signal()
  private readonly news: Array<News> = []

  tell(news: News): void {
    this.news.push(news)
    this.signal.notify()
  }

  take(): ReadonlyArray<News> {
    return this.news.splice(0)
  }

  readonly told: Effect.Effect<void> = this.signal.wait
}
