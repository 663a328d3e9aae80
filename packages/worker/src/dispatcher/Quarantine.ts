/**
 * Deliveries with two or more claims and no observation: one of them may crash workers. The more claims, the fewer are sent at
 * a time, and from four on one alone. One at a time from the start took 26 s: a crash leaves hundreds of healthy deliveries in
 * doubt.
 *
 * A turn ends when the observation is stored. Otherwise the next delivery could crash the worker first, and the healthy one
 * would be counted again. Source: docs/adr/0012-poison.md.
 */
import type { Lane, Waiting } from "./Lane.ts"

const FROM_CLAIMS = 2
/** How many may be in flight together, by the highest number of claims. Beyond this list: one. */
const TOGETHER = [0, 0, 32, 6]

const togetherWith = ({ claims }: Waiting) => TOGETHER[claims] ?? 1

export class Quarantine {
  private waiting: Array<Waiting> = []
  private readonly inFlight = new Set<Waiting>()
  private together = Number.POSITIVE_INFINITY
  /** Requeued after its turn: its claim may be counted, so it goes first. */
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
    // If the lane of the returned delivery may not send now, the delivery goes back in line, and other lanes go on.
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

  putBack(row: Waiting): void {
    if (this.returned === null) this.returned = row
    else this.push(row)
  }

  endTurn(row: Waiting): void {
    if (this.inFlight.delete(row)) this.limit()
  }

  skip(lane: Lane): void {
    for (const row of this.inFlight) if (row.lane === lane) this.inFlight.delete(row)
    this.limit()
    if (this.returned?.lane === lane) this.waitAgain()
  }

  drop(lane: Lane): ReadonlyArray<Waiting> {
    if (this.returned?.lane === lane) this.waitAgain()
    const dropped = this.waiting.filter((row) => row.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((row) => row.lane !== lane)
    return dropped
  }

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
