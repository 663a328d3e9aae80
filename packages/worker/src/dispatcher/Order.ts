/**
 * The order in which deliveries get slots: quarantine (Quarantine.ts), test sends, first attempts, retries. Each eighth slot is
 * offered to a retry first. Within a kind, workspaces and lanes take turns (RoundRobin.ts).
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

  push(row: Waiting): void {
    if (Quarantine.concerns(row)) this.quarantine.push(row)
    else row.lane.lineOf(row).push(row)
    this.offer(row.lane)
  }

  putBack(row: Waiting): void {
    if (Quarantine.concerns(row)) this.quarantine.putBack(row)
    else row.lane.lineOf(row).unshift(row)
    this.offer(row.lane)
  }

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

  offer(lane: Lane): void {
    if (lane.tests.length > 0 && lane.openToTests) this.tests.offer(lane)
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

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
