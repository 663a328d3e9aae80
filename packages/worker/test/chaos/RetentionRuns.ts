/**
 * Runs retention like a worker's daily run, but keeps only a part of the run's time, so that there is something to remove.
 * (HISTORY_RETENTION itself is at least a day.) Repeats until it has completed once.
 */
import * as Database from "@posthorn/persistence/client/Database"
import * as Retention from "@posthorn/persistence/operations/Retention"
import { Duration, Effect, Redacted, Schedule } from "effect"

/** What a run kept, and the interval in which it may have removed something. */
export interface RetentionRun {
  readonly keptMs: number
  readonly from: number
  readonly to: number
}

export const retain = async (url: string, keptMs: number): Promise<RetentionRun> => {
  const from = Date.now()
  await Effect.flatMap(Retention.Retention, ({ run }) => run).pipe(
    Effect.provide(Retention.layer),
    Effect.provideService(Retention.HistoryKept, Duration.millis(keptMs)),
    Effect.provide(
      Database.layer({ url: Redacted.make(url), applicationName: "posthorn-retain", maxConnections: 2 })
    ),
    Effect.retry(Schedule.spaced("500 millis")),
    Effect.runPromise
  )
  return { keptMs, from, to: Date.now() }
}
