/**
 * Retention as a worker's daily run makes it, with a shorter memory: history is kept for a part of the run's time, so that
 * there is something to remove. (HISTORY_RETENTION itself is a day at least.) Until it has gone through once.
 */
import * as Database from "@posthorn/persistence/Database"
import * as Retention from "@posthorn/persistence/Retention"
import { Duration, Effect, Layer, Redacted, Schedule } from "effect"

/** A run of retention: what it keeps, and between which moments it may have removed something. */
export interface Tidied {
  readonly keptMs: number
  readonly from: number
  readonly to: number
}

export const tidy = (url: string, keptMs: number): Promise<void> =>
  Effect.flatMap(Retention.Retention, ({ run }) => run).pipe(
    Effect.provide(
      Retention.layer.pipe(
        Layer.provide(Layer.succeed(Retention.HistoryKept, Duration.millis(keptMs))),
        Layer.provide(
          Database.layer({ url: Redacted.make(url), applicationName: "posthorn-tidy", maxConnections: 2 })
        )
      )
    ),
    Effect.retry(Schedule.spaced("500 millis")),
    Effect.asVoid,
    Effect.runPromise
  )

export class Tidying {
  readonly runs: Array<Tidied> = []
  private readonly url: string

  constructor(url: string) {
    this.url = url
  }

  async tidy(keptMs: number): Promise<void> {
    const from = Date.now()
    await tidy(this.url, keptMs)
    this.runs.push({ keptMs, from, to: Date.now() })
  }
}
