/**
 * Deliveries that were taken up twice without a trace: one of them may be what kills workers, so at most one is in
 * flight, and the others do not look guilty beside it. It is over when its observation is written down, not when it was
 * answered: else the next one, if it kills the worker, takes that observation with it, and this one is counted as well.
 * Source: docs/adr/0012-poison.md.
 */
import type { Lane, Row } from "./Lane.ts"

/** From this many take-ups on. */
const FROM_TAKE_UPS = 2

export class Alone {
  private waiting: Array<Row> = []
  private inFlight: Row | null = null
  /** It had its turn and could not be sent, but is counted perhaps: nobody goes before it. */
  private returned: Row | null = null

  static concerns(row: Row): boolean {
    return row.takeUps >= FROM_TAKE_UPS
  }

  push(row: Row): void {
    this.waiting.push(row)
  }

  next(admitted: (lane: Lane) => boolean): Row | undefined {
    if (this.inFlight !== null || (this.returned === null && this.waiting.length === 0)) return undefined
    const may = ({ lane }: Row) => lane.open && admitted(lane)
    const next = this.returned ?? this.waiting.find(may)
    if (next === undefined || !may(next)) return undefined
    if (next === this.returned) this.returned = null
    else this.waiting.splice(this.waiting.indexOf(next), 1)
    this.inFlight = next
    return next
  }

  /** It was not sent after all. */
  putBack(row: Row): void {
    if (this.returned === null) this.returned = row
    else this.push(row)
  }

  over(row: Row): void {
    if (this.inFlight === row) this.inFlight = null
  }

  /** Somebody holds rows of this endpoint: no other endpoint waits for that. */
  heldUp(lane: Lane): void {
    if (this.inFlight?.lane === lane) this.inFlight = null
    if (this.returned?.lane === lane) this.waitAgain()
  }

  /** Gives what waited of the lane. */
  drop(lane: Lane): ReadonlyArray<Row> {
    if (this.returned?.lane === lane) this.waitAgain()
    const dropped = this.waiting.filter((row) => row.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((row) => row.lane !== lane)
    return dropped
  }

  private waitAgain(): void {
    this.push(this.returned!)
    this.returned = null
  }
}
