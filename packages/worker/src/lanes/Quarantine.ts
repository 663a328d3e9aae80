/**
 * Deliveries that were claimed twice and left no observation: one of them may be what kills workers. So at most one of
 * them is in flight, and the others do not look guilty beside it. It is over when its observation is written down, not when it was
 * answered: else the next one, if it kills the worker, takes that observation with it, and this one is counted as well.
 * Source: docs/adr/0012-poison.md.
 */
import type { Lane, Waiting } from "./Lane.ts"

/** From this many claims on. */
const FROM_CLAIMS = 2

export class Quarantine {
  private waiting: Array<Waiting> = []
  private inFlight: Waiting | null = null
  /** It had its turn and could not be sent, but is counted perhaps: nobody goes before it. */
  private returned: Waiting | null = null

  static concerns(row: Waiting): boolean {
    return row.claims >= FROM_CLAIMS
  }

  push(row: Waiting): void {
    this.waiting.push(row)
  }

  next(admitted: (lane: Lane) => boolean): Waiting | undefined {
    if (this.inFlight !== null || (this.returned === null && this.waiting.length === 0)) return undefined
    const may = ({ lane }: Waiting) => lane.open && admitted(lane)
    const next = this.returned ?? this.waiting.find(may)
    if (next === undefined || !may(next)) return undefined
    if (next === this.returned) this.returned = null
    else this.waiting.splice(this.waiting.indexOf(next), 1)
    this.inFlight = next
    return next
  }

  /** It was not sent after all. */
  putBack(row: Waiting): void {
    if (this.returned === null) this.returned = row
    else this.push(row)
  }

  over(row: Waiting): void {
    if (this.inFlight === row) this.inFlight = null
  }

  /** Somebody holds rows of this endpoint: no other endpoint waits for that. */
  heldUp(lane: Lane): void {
    if (this.inFlight?.lane === lane) this.inFlight = null
    if (this.returned?.lane === lane) this.waitAgain()
  }

  /** Gives what waited of the lane. */
  drop(lane: Lane): ReadonlyArray<Waiting> {
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
