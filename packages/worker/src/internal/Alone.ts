/**
 * Deliveries that were taken up twice without a trace: one of them may be what kills workers, so at most one is in
 * flight, and the others do not look guilty beside it. Source: docs/adr/0012-poison.md.
 */
import type { Waiting } from "@posthorn/persistence/Queue"

/** From this many take-ups on. */
const FROM_TAKE_UPS = 2

export class Alone {
  private rows: Array<Waiting> = []
  private inFlight: string | null = null

  static concerns(row: Waiting): boolean {
    return row.takeUps >= FROM_TAKE_UPS
  }

  push(row: Waiting): void {
    this.rows.push(row)
  }

  next(): Waiting | undefined {
    if (this.inFlight !== null) return undefined
    const row = this.rows.shift()
    if (row !== undefined) this.inFlight = row.deliveryId
    return row
  }

  over(row: Waiting): void {
    if (this.inFlight === row.deliveryId) this.inFlight = null
  }

  /** Gives what waited of the endpoint. */
  drop(endpointId: string): ReadonlyArray<Waiting> {
    if (this.rows.length === 0) return this.rows
    const dropped = this.rows.filter((row) => row.endpointId === endpointId)
    if (dropped.length > 0) this.rows = this.rows.filter((row) => row.endpointId !== endpointId)
    return dropped
  }
}
