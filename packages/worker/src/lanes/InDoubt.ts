/**
 * Deliveries that a dead worker may have held: each claim of theirs is written down before they are sent, once, however
 * often they are given back, loaded again, or written down anew because an answer was lost. What this worker has counted
 * and not sent, it remembers as long as nobody else had the shard in between.
 * Source: docs/adr/0012-poison.md.
 */
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import type { Claim, DueRow } from "@posthorn/persistence/engine/Queue"

/** A dead worker wrote nothing down: it is assumed to have claimed once what was due. */
const ASSUMED = 1

interface Count {
  readonly shard: number
  readonly count: number
  written: boolean
}

export class InDoubt {
  /** By shard: rows due by then may have been in flight at an owner that died. */
  private readonly until = new Map<number, number>()
  private readonly counts = new Map<string, Count>()

  /** Null: the shard's last owner gave it back, or nothing is left of what it held. The same as before: that was this worker. */
  taken(shard: number, until: number | null): void {
    if (until === (this.until.get(shard) ?? null)) return
    for (const [deliveryId, count] of this.counts) if (count.shard === shard) this.counts.delete(deliveryId)
    if (until === null) this.until.delete(shard)
    else this.until.set(shard, until)
  }

  doubtsIn(shard: number): boolean {
    return this.until.has(shard)
  }

  has(row: DueRow): boolean {
    return row.claims >= MAX_CLAIMS || row.due <= (this.until.get(row.shard) ?? Number.NEGATIVE_INFINITY)
  }

  /** Those of the rows whose claim has to be written down before they are sent. */
  toCount(rows: ReadonlyArray<DueRow>): ReadonlyArray<Claim> {
    return rows
      .filter((row) => this.has(row) && this.counts.get(row.deliveryId)?.written !== true)
      .map((row) => ({ row, count: this.begun(row).count }))
  }

  private begun(row: DueRow): Count {
    const known = this.counts.get(row.deliveryId)
    if (known !== undefined) return known
    const count = { shard: row.shard, count: Math.max(row.claims, ASSUMED) + 1, written: false }
    this.counts.set(row.deliveryId, count)
    return count
  }

  written(row: DueRow): void {
    this.begun(row).written = true
  }

  /** The claim that ended without an observation: it is not counted again when it was counted before. */
  ended(row: DueRow): Claim {
    return { row, count: this.counts.get(row.deliveryId)?.count ?? row.claims + 1 }
  }

  /** It is recorded, gone, or counted after the fact: its next claim is another one. */
  forget(row: DueRow): void {
    this.counts.delete(row.deliveryId)
  }
}
