/**
 * The order in which waiting deliveries get slots. First attempts go before retries, but every eighth slot is offered to a
 * retry first, so that none waits forever. Within each kind, workspaces and lanes take turns (RoundRobin.ts). Before them go
 * test sends, and before all, a few at a time, those in quarantine (Quarantine.ts).
 */
import { type Lane, RETRY_TURN, type Waiting } from "./Lane.ts"
import { Quarantine } from "./Quarantine.ts"
import { RoundRobin } from "./RoundRobin.ts"

type Admitted = (lane: Lane) => boolean

export class Order {
  readonly quarantine = new Quarantine()
  private readonly tests = new RoundRobin()
  private readonly firsts = new RoundRobin()
  private readonly retries = new RoundRobin()
  private turn = 0

  /** Adds it to the end of its lane. */
  push(row: Waiting): void {
    if (Quarantine.concerns(row)) this.quarantine.push(row)
    else row.lane.lineOf(row).push(row)
    this.offer(row.lane)
  }

  /** Puts it back to the front of its lane: it was not sent after all. */
  putBack(row: Waiting): void {
    if (Quarantine.concerns(row)) this.quarantine.putBack(row)
    else row.lane.lineOf(row).unshift(row)
    this.offer(row.lane)
  }

  /** Removes all waiting deliveries of the lane. */
  empty(lane: Lane): ReadonlyArray<Waiting> {
    const rows = [...this.quarantine.drop(lane)]
    for (let row = lane.popLast(); row !== undefined; row = lane.popLast()) rows.push(row)
    return rows
  }

  freeLanePermit(row: Waiting): void {
    row.hasLanePermit = false
    row.lane.permitsTaken--
    this.offer(row.lane)
  }

  /** Puts the lane in line for the kinds of deliveries it has. */
  offer(lane: Lane): void {
    if (lane.tests.length > 0 && lane.openToTests) this.tests.offer(lane)
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

  /** Removes and returns the next delivery. Its lane goes back in line if it can use another turn. */
  next(admitted: Admitted): Waiting | undefined {
    const quarantined = this.quarantine.next(admitted)
    if (quarantined !== undefined) return pick(quarantined)
    const test = this.from(this.tests, "tests", admitted)
    if (test !== undefined) return test
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.from(this.retries, "again", admitted) ?? this.from(this.firsts, "fresh", admitted))
      : (this.from(this.firsts, "fresh", admitted) ?? this.from(this.retries, "again", admitted))
  }

  private from(turns: RoundRobin, line: "tests" | "fresh" | "again", admitted: Admitted) {
    for (let lane = turns.next(admitted); lane !== undefined; lane = turns.next(admitted)) {
      if (!(line === "tests" ? lane.openToTests : lane.open)) continue
      const row = lane.shift(line)
      if (row === undefined) continue
      pick(row)
      this.offer(lane)
      return row
    }
    return undefined
  }
}

const pick = (row: Waiting): Waiting => {
  row.lane.picked(row)
  return row
}
