/**
 * Deliveries that a dead worker may have been sending. A claim is stored before sending, and counted once, however often the
 * delivery is loaded or the statement repeated. Source: docs/adr/0012-poison.md.
 */
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import type { Claim, DueRow } from "@posthorn/persistence/engine/Queue"

/** Claims that are assumed of a dead owner which stored none. */
const ASSUMED = 1

interface Count {
  readonly shard: number
  readonly count: number
  written: boolean
}

export class InDoubt {
  /** By shard, the moment up to which due rows are in doubt. */
  private readonly moments = new Map<number, number>()
  private readonly counts = new Map<string, Count>()

  /** `until` is null when nothing is in doubt, and unchanged when this worker was the last owner. */
  taken(shard: number, until: number | null): void {
    if (until === this.until(shard)) return
    for (const [deliveryId, count] of this.counts) if (count.shard === shard) this.counts.delete(deliveryId)
    if (until === null) this.moments.delete(shard)
    else this.moments.set(shard, until)
  }

  until(shard: number): number | null {
    return this.moments.get(shard) ?? null
  }

  doubtsIn(shard: number): boolean {
    return this.moments.has(shard)
  }

  has(row: DueRow): boolean {
    return row.claims >= MAX_CLAIMS || row.due <= (this.moments.get(row.shard) ?? Number.NEGATIVE_INFINITY)
  }

  toCount(rows: ReadonlyArray<DueRow>): ReadonlyArray<Claim> {
    return rows
      .filter((row) => this.has(row) && this.counts.get(row.deliveryId)?.written !== true)
      .map((row) => ({ row, count: this.countOf(row).count }))
  }

  private countOf(row: DueRow): Count {
    const known = this.counts.get(row.deliveryId)
    if (known !== undefined) return known
    const count = { shard: row.shard, count: Math.max(row.claims, ASSUMED) + 1, written: false }
    this.counts.set(row.deliveryId, count)
    return count
  }

  written(row: DueRow): void {
    this.countOf(row).written = true
  }

  ended(row: DueRow): Claim {
    return { row, count: this.counts.get(row.deliveryId)?.count ?? row.claims + 1 }
  }

  forget(row: DueRow): void {
    this.counts.delete(row.deliveryId)
  }
}
