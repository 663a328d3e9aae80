/**
 * Finds every waiting delivery that is not in memory, without any hint. A sweep reads the first due row of each endpoint. If the
 * row is not in memory, its lane reads on at once; otherwise once the lane runs low. A sweep costs two index steps for each
 * endpoint. Sweeps take at most a twentieth of the time. Source: docs/adr/0010-engine.md.
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

  begin(): void {
    this.running = true
    this.after = null
    this.runs++
  }

  /** True if there are more steps. */
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
    if (runs !== this.runs) return true
    this.after = next
    if (next !== null) return true
    this.running = false
    this.nextAt = now + Math.max(sweepMs, sweepShare * this.cost)
    this.cost = 0
    return false
  }
}
