/**
 * Deliveries that were claimed twice and left no observation: one of them may be what kills workers. It is found by taking
 * fewer at a time the more often they were claimed, and from four claims on one alone, so that the others do not look guilty beside
 * it. A worker that crashed with hundreds of healthy deliveries has left as many of these: one at a time they took 26 s where
 * receivers answer in 250 ms. A delivery leaves the group when its observation is written down, not when it was answered: else
 * the next one, if it kills the worker, takes that observation with it, and this one is counted as well.
 * Source: docs/adr/0012-poison.md.
 */
import type { Lane, Waiting } from "./Lane.ts"

/** From this many claims on. */
const FROM_CLAIMS = 2
/** How many may be in flight together, by the most claims that one of them has; more claims than here: one. */
const TOGETHER = [0, 0, 32, 6]

const togetherWith = ({ claims }: Waiting) => TOGETHER[claims] ?? 1

export class Quarantine {
  private waiting: Array<Waiting> = []
  private readonly inFlight = new Set<Waiting>()
  /** How many may be in flight beside those that are. */
  private together = Number.POSITIVE_INFINITY
  /** It had its turn and could not be sent, but is counted perhaps: nobody goes before it. */
  private returned: Waiting | null = null

  static concerns(row: Waiting): boolean {
    return row.claims >= FROM_CLAIMS
  }

  push(row: Waiting): void {
    this.waiting.push(row)
  }

  next(admitted: (lane: Lane) => boolean): Waiting | undefined {
    if (this.returned === null && this.waiting.length === 0) return undefined
    if (this.inFlight.size >= this.together) return undefined
    const may = (row: Waiting) =>
      this.inFlight.size < togetherWith(row) && row.lane.open && admitted(row.lane)
    const next = this.returned ?? this.waiting.find(may)
    if (next === undefined || !may(next)) return undefined
    if (next === this.returned) this.returned = null
    else this.waiting.splice(this.waiting.indexOf(next), 1)
    this.inFlight.add(next)
    this.together = Math.min(this.together, togetherWith(next))
    return next
  }

  /** It was not sent after all. */
  putBack(row: Waiting): void {
    if (this.returned === null) this.returned = row
    else this.push(row)
  }

  over(row: Waiting): void {
    if (this.inFlight.delete(row)) this.limit()
  }

  /** Somebody holds rows of this endpoint: no other endpoint waits for that. */
  heldUp(lane: Lane): void {
    for (const row of this.inFlight) if (row.lane === lane) this.inFlight.delete(row)
    this.limit()
    if (this.returned?.lane === lane) this.waitAgain()
  }

  /** Gives what waited of the lane. */
  drop(lane: Lane): ReadonlyArray<Waiting> {
    if (this.returned?.lane === lane) this.waitAgain()
    const dropped = this.waiting.filter((row) => row.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((row) => row.lane !== lane)
    return dropped
  }

  private limit(): void {
    this.together = Math.min(Number.POSITIVE_INFINITY, ...[...this.inFlight].map(togetherWith))
  }

  private waitAgain(): void {
    this.push(this.returned!)
    this.returned = null
  }
}
