/**
 * Deliveries that a dead worker may have held: each take-up of theirs is written down before they are sent, once, however
 * often they are given back, loaded again, or written down anew because an answer was lost. What this worker has counted
 * and not sent, it remembers as long as nobody else had the shard in between.
 * Source: docs/adr/0012-poison.md.
 */
import { MAX_TAKE_UPS } from "@posthorn/domain/Verdict"
import type { TakeUp, Waiting } from "@posthorn/persistence/Queue"

/** A dead worker wrote nothing down: it is assumed to have taken up once what was due. */
const ASSUMED = 1

interface Count {
  readonly shard: number
  readonly count: number
  written: boolean
}

export class Suspects {
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

  suspectsIn(shard: number): boolean {
    return this.until.has(shard)
  }

  has(row: Waiting): boolean {
    return row.takeUps >= MAX_TAKE_UPS || row.due <= (this.until.get(row.shard) ?? Number.NEGATIVE_INFINITY)
  }

  /** Those of the rows whose take-up has to be written down before they are sent. */
  toCount(rows: ReadonlyArray<Waiting>): ReadonlyArray<TakeUp> {
    return rows
      .filter((row) => this.has(row) && this.counts.get(row.deliveryId)?.written !== true)
      .map((row) => ({ row, count: this.begun(row).count }))
  }

  private begun(row: Waiting): Count {
    const known = this.counts.get(row.deliveryId)
    if (known !== undefined) return known
    const count = { shard: row.shard, count: Math.max(row.takeUps, ASSUMED) + 1, written: false }
    this.counts.set(row.deliveryId, count)
    return count
  }

  written(row: Waiting): void {
    this.begun(row).written = true
  }

  /** The take-up that ended without an observation: it is not counted again when it was counted before. */
  ended(row: Waiting): TakeUp {
    return { row, count: this.counts.get(row.deliveryId)?.count ?? row.takeUps + 1 }
  }

  /** It is recorded, gone, or counted after the fact: its next take-up is another one. */
  forget(row: Waiting): void {
    this.counts.delete(row.deliveryId)
  }
}
