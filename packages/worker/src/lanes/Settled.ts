/**
 * Deliveries whose attempts are over, until they are recorded. With an observation, for the Ledger: how many there are is how
 * far sending has run ahead of recording. Without one, for TakeUps.
 */
import type { Observed } from "@posthorn/persistence/Records"
import { Signal } from "../internal/Signal.ts"
import type { Row } from "./Lane.ts"

export class Settled {
  readonly toRecord = new Signal()
  readonly toCount = new Signal()
  private readonly rows: Array<Row> = []
  private readonly unobserved: Array<Row> = []
  /** Not counting those that were set aside: their lanes stay within their caps. */
  unrecorded = 0
  private aside = 0

  /** Observations that nobody has begun to record. */
  get length(): number {
    return this.rows.length
  }

  /** Observations in memory. */
  get all(): number {
    return this.unrecorded + this.aside
  }

  add(row: Row, observed: Observed): void {
    row.observed = observed
    this.unrecorded++
    this.rows.push(row)
    this.toRecord.raise()
  }

  addUnobserved(row: Row): void {
    this.leave(row)
    this.unobserved.push(row)
    this.toCount.raise()
  }

  take(most: number): ReadonlyArray<Row> {
    return this.rows.splice(0, most)
  }

  takeUnobserved(): ReadonlyArray<Row> {
    return this.unobserved.splice(0)
  }

  /** It waits by itself until it can be recorded. */
  setAside(row: Row): void {
    if (row.aside) return
    row.aside = true
    this.unrecorded--
    this.aside++
  }

  leave(row: Row): void {
    if (row.observed === null) return
    if (row.aside) this.aside--
    else this.unrecorded--
    row.observed = null
  }
}
