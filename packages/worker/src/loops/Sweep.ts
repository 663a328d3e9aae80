/**
 * Finds whatever waits and is not in memory, without any hint: what waited before a shard was taken, what no notification
 * told of, what was committed long after its moment.
 *
 * It looks for the first due row of each endpoint, from which the endpoint's lane reads on: at once when that row is not in
 * memory, else when the lane runs low. So a sweep costs a step in an index for each endpoint that has something waiting,
 * however much it is, and rows of disabled endpoints are never read again. New rows are read between its steps, and all its
 * steps together take at most a twentieth of the time.
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
  private begun = 0
  private cost = 0
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(parts: PollerParts) {
    this.parts = parts
  }

  /** From the beginning, at once. */
  begin(): void {
    this.running = true
    this.after = null
    this.begun++
  }

  /** One step, if it is time for one; true when there are more to make. */
  readonly step: Effect.Effect<boolean, SqlError> = Effect.flatMap(elapsedNow, (since) => {
    const { lanes, queue, tuning } = this.parts
    if (lanes.room === 0 || (!this.running && since < this.nextAt)) return Effect.succeed(false)
    if (!this.running) this.begin()
    const { begun } = this
    lanes.readStarted()
    return queue.heads(this.after, tuning.sweepStep).pipe(
      Effect.tap(({ rows }) => Effect.sync(() => lanes.sweep(rows))),
      Effect.ensuring(Effect.sync(() => lanes.readEnded())),
      Effect.zipWith(elapsedNow, ({ next }, now) => this.went(since, now, next, begun))
    )
  })

  private went(since: number, now: number, next: LaneRef | null, begun: number): boolean {
    const { sweepMs, sweepShare } = this.parts.tuning
    this.cost += now - since
    // Begun again meanwhile.
    if (begun !== this.begun) return true
    this.after = next
    if (next !== null) return true
    this.running = false
    this.nextAt = now + Math.max(sweepMs, sweepShare * this.cost)
    this.cost = 0
    return false
  }
}
