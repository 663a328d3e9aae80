/** Up to where each shard was read, and when the next known row is due. Moments are microseconds by the database's clock. */
import type { Cursor, Due, DueRow } from "@posthorn/persistence/engine/Queue"
import { isBefore } from "../dispatcher/Lane.ts"
import type { LeaseTerm } from "../dispatcher/Leases.ts"

export const NEVER = Number.POSITIVE_INFINITY

export class ReadCursor implements Cursor {
  readonly term: LeaseTerm
  /** Past all rows: the first read only tells the time, and the sweep finds what waits. */
  due = Number.MAX_SAFE_INTEGER
  deliveryId = ""
  isNew = true

  constructor(term: LeaseTerm) {
    this.term = term
  }

  get shard(): number {
    return this.term.shard
  }
}

export class ReadCursors {
  private all = new Map<LeaseTerm, ReadCursor>()
  /** By the database's clock, and by this worker's. */
  horizon = 0
  private horizonAt = 0
  /** Null: not known. */
  private nextDue: number | null = null

  /** True if the terms have changed. */
  follow(terms: ReadonlyArray<LeaseTerm>): boolean {
    if (terms.length === this.all.size && terms.every((term) => this.all.has(term))) return false
    this.all = new Map(terms.map((term) => [term, this.all.get(term) ?? new ReadCursor(term)]))
    this.nextDue = null
    return true
  }

  get list(): ReadonlyArray<ReadCursor> {
    return [...this.all.values()]
  }

  get shards(): ReadonlyArray<number> {
    return this.list.map(({ shard }) => shard)
  }

  recently(lookBackMs: number): number {
    return this.horizon === 0 ? NEVER : this.horizon - lookBackMs * 1000
  }

  /** No read has returned the row, and the shard was read. */
  isUnread({ due, shard }: DueRow): boolean {
    return due > this.horizon && this.list.some((one) => one.shard === shard && !one.isNew && !one.term.lost)
  }

  goBack(to: number): void {
    for (const cursor of this.list) {
      if (cursor.due < to) continue
      cursor.due = Math.max(0, to)
      cursor.deliveryId = ""
    }
  }

  /** True if a shard has more rows. */
  advance(read: ReadonlyArray<ReadCursor>, { horizon, rows, stopped }: Due, perShard: number, now: number) {
    const last = new Map<number, { readonly row: DueRow; readonly count: number }>()
    for (const row of rows) {
      const known = last.get(row.shard)
      const later = known === undefined || isBefore(known.row, row) ? row : known.row
      last.set(row.shard, { row: later, count: (known?.count ?? 0) + 1 })
    }
    const stops = new Map(stopped.map((position) => [position.shard, position]))
    let more = false
    for (const cursor of read) {
      // If this worker takes it again, it is read anew.
      if (cursor.term.lost) continue
      const found = last.get(cursor.shard)
      const end = found?.count === perShard ? found.row : stops.get(cursor.shard)
      more ||= end !== undefined
      cursor.isNew = false
      cursor.due = end?.due ?? horizon
      cursor.deliveryId = end?.deliveryId ?? ""
    }
    this.horizon = horizon
    this.horizonAt = now
    if (this.nextDue !== null && this.nextDue <= horizon) this.nextDue = null
    return more
  }

  get knowsNextDue(): boolean {
    return this.nextDue !== null
  }

  foundNextDue(due: number | null): void {
    this.nextDue = due ?? NEVER
  }

  expect(due: number): void {
    if (this.nextDue !== null) this.nextDue = Math.min(this.nextDue, due)
  }

  /** In milliseconds. */
  untilDue(now: number): number {
    return this.nextDue === null ? NEVER : this.until(this.nextDue, now)
  }

  until(moment: number, now: number): number {
    return (moment - this.horizon) / 1000 - (now - this.horizonAt)
  }
}
