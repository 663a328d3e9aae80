/** Up to where each shard was read, and when the next known row is due. */
import { type DatabaseMicros, databaseMicros, earliest } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Cursor, Due, DueRow } from "@posthorn/persistence/engine/Queue"
import { type MonotonicMs, monotonicMs } from "@posthorn/telemetry/Elapsed"
import { isBefore } from "../dispatcher/Lane.ts"
import type { LeaseTerm } from "../dispatcher/Leases.ts"

export const NEVER = databaseMicros(Number.POSITIVE_INFINITY)

export class ReadCursor implements Cursor {
  readonly term: LeaseTerm
  /** A new cursor lies past all rows: its first read returns only the database's time. The sweep finds the rows that wait. */
  due = databaseMicros(Number.MAX_SAFE_INTEGER)
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
  /** The time of the last read: `horizon` by the database's clock, `horizonAt` by this worker's. */
  horizon = databaseMicros(0)
  private horizonAt = monotonicMs(0)
  /** Null: not known. */
  private nextDue: DatabaseMicros | null = null

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

  recently(lookBackMs: number): DatabaseMicros {
    return this.horizon === 0 ? NEVER : databaseMicros(this.horizon - lookBackMs * 1000)
  }

  /** True if the shard has been read, and this row is due after its last read. */
  isUnread({ due, shard }: DueRow): boolean {
    return due > this.horizon && this.list.some((one) => one.shard === shard && !one.isNew && !one.term.lost)
  }

  goBack(to: DatabaseMicros): void {
    for (const cursor of this.list) {
      if (cursor.due < to) continue
      cursor.due = databaseMicros(Math.max(0, to))
      cursor.deliveryId = ""
    }
  }

  /** True if a shard has more rows. */
  advance(
    read: ReadonlyArray<ReadCursor>,
    { horizon, rows, stopped }: Due,
    perShard: number,
    now: MonotonicMs
  ) {
    const last = new Map<number, { readonly row: DueRow; readonly count: number }>()
    for (const row of rows) {
      const known = last.get(row.shard)
      const later = known === undefined || isBefore(known.row, row) ? row : known.row
      last.set(row.shard, { row: later, count: (known?.count ?? 0) + 1 })
    }
    const stops = new Map(stopped.map((position) => [position.shard, position]))
    let more = false
    for (const cursor of read) {
      // A lost shard is left out: if this worker takes it again, it gets a new cursor.
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

  foundNextDue(due: DatabaseMicros | null): void {
    this.nextDue = due ?? NEVER
  }

  expect(due: DatabaseMicros): void {
    if (this.nextDue !== null) this.nextDue = earliest(this.nextDue, due)
  }

  /** In milliseconds. */
  untilDue(now: MonotonicMs): number {
    return this.nextDue === null ? NEVER : this.until(this.nextDue, now)
  }

  until(moment: DatabaseMicros, now: MonotonicMs): number {
    return (moment - this.horizon) / 1000 - (now - this.horizonAt)
  }
}
