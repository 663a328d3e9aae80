/**
 * Finds every waiting delivery that is not in memory, without any hint: those from before the shard was taken, those whose
 * notification was lost, and those committed long after their due time.
 *
 * A sweep reads the first due row of each endpoint. If the row is not in memory, the endpoint's lane reads on from it at once;
 * otherwise the lane reads on when it runs low. So a sweep costs one index step for each endpoint with a backlog, however large.
 * Polls go on between its steps. All steps together take at most a twentieth of the time.
 *
 * Source: docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import type { LaneRef } from "@posthorn/persistence/engine/Queue"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect } from "effect"
import type { PollerParts } from "../Parts.ts"

export class Sweep {
  private readonly parts: PollerParts
  private running = false
  private after: LaneRef | null = null
  private runs = 0
  private cost = 0
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(parts: PollerParts) {
    this.parts = parts
  }

  /** Restarts from the first endpoint, at once. */
  begin(): void {
    this.running = true
    this.after = null
    this.runs++
  }

  /** One step, if it is time for one. True if there are more steps. */
  readonly step: Effect.Effect<boolean, SqlError> = Effect.flatMap(elapsedNow, (since) => {
    const { dispatcher, queue, tuning } = this.parts
    if (dispatcher.memory.room === 0 || (!this.running && since < this.nextAt)) return Effect.succeed(false)
    if (!this.running) this.begin()
    const { runs } = this
    dispatcher.ids.readStarted()
    return queue.firstOfEndpoints(this.after, tuning.sweepStep).pipe(
      Effect.tap(({ rows }) => Effect.sync(() => dispatcher.intake.sweep(rows))),
      Effect.ensuring(Effect.sync(() => dispatcher.ids.readEnded())),
      Effect.zipWith(elapsedNow, ({ next }, now) => this.went(since, now, next, runs))
    )
  })

  private went(since: number, now: number, next: LaneRef | null, runs: number): boolean {
    const { sweepMs, sweepShare } = this.parts.tuning
    this.cost += now - since
    // It was restarted meanwhile.
    if (runs !== this.runs) return true
    this.after = next
    if (next !== null) return true
    this.running = false
    this.nextAt = now + Math.max(sweepMs, sweepShare * this.cost)
    this.cost = 0
    return false
  }
}
