/**
 * The order in which waiting deliveries get slots. First attempts go before retries, but every eighth slot is offered to a
 * retry first, so that none waits forever. Within each kind, workspaces and lanes take turns (RoundRobin.ts). Before them go
 * test sends, and before all, one at a time, those in quarantine (Quarantine.ts).
 */
import { type Lane, RETRY_TURN, type Waiting } from "./Lane.ts"
import { Quarantine } from "./Quarantine.ts"
import { RoundRobin } from "./RoundRobin.ts"
import { mayTake } from "./SlotShares.ts"

export class Order {
  private readonly tests = new RoundRobin<Lane>()
  private readonly firsts = new RoundRobin<Lane>()
  private readonly retries = new RoundRobin<Lane>()
  private readonly quarantine = new Quarantine()
  private turn = 0
  private free = 0
  private reserve = 0
  /** Whether a workspace was skipped the last time, because it has its share of the slots. */
  refused = false

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

  /** One permit of the lane is free again. */
  freePermit(lane: Lane): void {
    lane.permitsTaken--
    this.offer(lane)
  }

  /** Its attempt is recorded, or was not made. */
  over(row: Waiting): void {
    this.quarantine.over(row)
  }

  /** Attempts of this endpoint cannot be recorded now. */
  heldUp(lane: Lane): void {
    this.quarantine.heldUp(lane)
  }

  /** No attempt of this endpoint can start now. */
  withheld(lane: Lane): void {
    this.quarantine.withheld(lane)
  }

  /** Puts the lane in line for the kinds of deliveries it has. */
  offer(lane: Lane): void {
    if (lane.tests.length > 0 && lane.openToTests) this.tests.offer(lane)
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

  /**
   * Removes and returns the next delivery. Its lane goes back in line if it can use another turn. Of the `free` slots, a
   * workspace leaves up to `reserve` to others (SlotShares.ts).
   */
  next(free: number, reserve: number): Waiting | undefined {
    this.refused = false
    this.free = free
    this.reserve = reserve
    const quarantined = this.quarantine.next(this.admitted)
    if (quarantined !== undefined) return start(quarantined)
    const test = this.from(this.tests, "tests")
    if (test !== undefined) return test
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.from(this.retries, "again") ?? this.from(this.firsts, "fresh"))
      : (this.from(this.firsts, "fresh") ?? this.from(this.retries, "again"))
  }

  /** Made once: it is called for each delivery. */
  private readonly admitted = ({ workspace }: Lane): boolean => {
    const may = mayTake(this.free, workspace.inFlight, this.reserve)
    this.refused ||= !may
    return may
  }

  private from(turns: RoundRobin<Lane>, line: "tests" | "fresh" | "again"): Waiting | undefined {
    for (let lane = turns.next(this.admitted); lane !== undefined; lane = turns.next(this.admitted)) {
      if (!(line === "tests" ? lane.openToTests : lane.open)) continue
      const row = lane.shift(line)
      if (row === undefined) continue
      start(row)
      this.offer(lane)
      return row
    }
    return undefined
  }
}

const start = (row: Waiting): Waiting => {
  row.lane.picked(row)
  return row
}
