/**
 * Deliveries that a dead worker may have been sending. Each claim of one is stored before it is sent, and counted once, even if
 * the delivery is given back and loaded again, or the statement is repeated because its answer was lost. The worker remembers
 * what it has counted and not sent, as long as no other worker owned the shard in between.
 * Source: docs/adr/0012-poison.md.
 */
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import type { Claim, DueRow } from "@posthorn/persistence/engine/Queue"

/** A dead owner is assumed to have claimed each row that was due once, if it stored no claim. */
const ASSUMED = 1

interface Count {
  readonly shard: number
  readonly count: number
  written: boolean
}

export class InDoubt {
  /** By shard: rows due by this moment may have been in flight at a dead owner. */
  private readonly moments = new Map<number, number>()
  private readonly counts = new Map<string, Count>()

  /**
   * `until` is null when the last owner released the shard, or nothing is left of what it held. It is unchanged when this
   * worker itself was the last owner.
   */
  taken(shard: number, until: number | null): void {
    if (until === this.until(shard)) return
    for (const [deliveryId, count] of this.counts) if (count.shard === shard) this.counts.delete(deliveryId)
    if (until === null) this.moments.delete(shard)
    else this.moments.set(shard, until)
  }

  /** Null: nothing is in doubt. */
  until(shard: number): number | null {
    return this.moments.get(shard) ?? null
  }

  doubtsIn(shard: number): boolean {
    return this.moments.has(shard)
  }

  has(row: DueRow): boolean {
    return row.claims >= MAX_CLAIMS || row.due <= (this.moments.get(row.shard) ?? Number.NEGATIVE_INFINITY)
  }

  /** The rows whose claim must be stored before they are sent. */
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

  /** The claim that ended without an observation. One that was already counted is not counted again. */
  ended(row: DueRow): Claim {
    return { row, count: this.counts.get(row.deliveryId)?.count ?? row.claims + 1 }
  }

  /** It is recorded, gone, or its claim was counted afterwards. Its next claim is a new one. */
  forget(row: DueRow): void {
    this.counts.delete(row.deliveryId)
  }
}
