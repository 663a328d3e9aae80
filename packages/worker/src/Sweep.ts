/**
 * Finds whatever waits and is not in memory, without any hint: what waited before a shard was taken, what no notification told
 * of, what was committed long after its moment.
 *
 * It looks for the first due row of each endpoint, from which the endpoint's lane reads on: at once when that row is not in
 * memory, else when the lane runs low, as what comes after it waits for it anyway. So a sweep costs a step in an index for
 * each endpoint that has something waiting, however much it is, and rows of disabled endpoints are never read again. It goes
 * step by step, between which new rows are read, and all its steps together take at most a twentieth of the time.
 *
 * Source: docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import type { LaneRef } from "@posthorn/persistence/Queue"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Effect } from "effect"
import type { ReaderParts } from "./Parts.ts"

export class Sweep {
  private readonly parts: ReaderParts
  private running = false
  private after: LaneRef | null = null
  private begun = 0
  private cost = 0
  private nextAt = Number.NEGATIVE_INFINITY

  constructor(parts: ReaderParts) {
    this.parts = parts
  }

  /** From the beginning, at once. */
  begin(): void {
    this.running = true
    this.after = null
    this.begun++
  }

  /** One step, if it is time for one; true when there are more to make. */
  readonly step: Effect.Effect<boolean, SqlError> = Effect.suspend(() => {
    const { clock, lanes, queue, tuning } = this.parts
    const since = elapsed(clock)
    if (!this.running && since < this.nextAt) return Effect.succeed(false)
    if (!this.running) this.begin()
    const { begun } = this
    lanes.readStarted()
    return queue.heads(this.after, tuning.sweepStep).pipe(
      Effect.map(({ next, rows }) => {
        lanes.sweep(rows)
        return this.went(since, next, begun)
      }),
      Effect.ensuring(Effect.sync(() => lanes.readEnded()))
    )
  })

  private went(since: number, next: LaneRef | null, begun: number): boolean {
    const { clock, tuning } = this.parts
    const now = elapsed(clock)
    this.cost += now - since
    // Begun again meanwhile.
    if (begun !== this.begun) return true
    this.after = next
    if (next !== null) return true
    this.running = false
    this.nextAt = now + Math.max(tuning.sweepMs, tuning.sweepShare * this.cost)
    this.cost = 0
    return false
  }
}
