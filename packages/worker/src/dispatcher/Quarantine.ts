/**
 * Deliveries that were claimed at least twice without an observation: one of them may crash workers. The more often they were
 * claimed, the fewer are sent at a time, and from four claims on one alone. So the poison is found without suspecting the
 * others. One at a time from the start would be too slow: a worker that crashes leaves hundreds of healthy deliveries in doubt,
 * which took 26 s with receivers that answer in 250 ms. A delivery ends its turn only when its observation is stored. If it
 * did when it was answered, the next one could crash the worker before that observation is stored, and the healthy delivery
 * would be counted again.
 * Source: docs/adr/0012-poison.md.
 */
import type { Lane, Waiting } from "./Lane.ts"

/** Deliveries with this many claims are quarantined. */
const FROM_CLAIMS = 2
/** How many may be in flight together, by the highest number of claims among them. Beyond this list: one. */
const TOGETHER = [0, 0, 32, 6]

const togetherWith = ({ claims }: Waiting) => TOGETHER[claims] ?? 1

export class Quarantine {
  private waiting: Array<Waiting> = []
  private readonly inFlight = new Set<Waiting>()
  /** How many more may be in flight. */
  private together = Number.POSITIVE_INFINITY
  /** Given back after its turn. Its claim may already be counted, so it goes first. */
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
    // Its lane waits for a trial or a permit; others do not.
    if (this.returned !== null && !this.returned.lane.open) this.waitAgain()
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

  endTurn(row: Waiting): void {
    if (this.inFlight.delete(row)) this.limit()
  }

  /** A row of this endpoint is locked. Other endpoints do not wait for it. */
  skip(lane: Lane): void {
    for (const row of this.inFlight) if (row.lane === lane) this.inFlight.delete(row)
    this.limit()
    if (this.returned?.lane === lane) this.waitAgain()
  }

  /** Removes and returns the lane's waiting deliveries. */
  drop(lane: Lane): ReadonlyArray<Waiting> {
    if (this.returned?.lane === lane) this.waitAgain()
    const dropped = this.waiting.filter((row) => row.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((row) => row.lane !== lane)
    return dropped
  }

  /** The lane cannot be sent to now. Others do not wait for it. */
  waits(lane: Lane): void {
    if (this.returned?.lane === lane) this.waitAgain()
  }

  private limit(): void {
    this.together = Math.min(Number.POSITIVE_INFINITY, ...[...this.inFlight].map(togetherWith))
  }

  private waitAgain(): void {
    this.push(this.returned!)
    this.returned = null
  }
}
