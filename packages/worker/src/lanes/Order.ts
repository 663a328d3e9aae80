/**
 * The order in which waiting deliveries get slots: first attempts before retries, but each eighth slot is offered to a
 * retry first, so that none waits for ever; among either, workspaces and lanes in turn (Turns.ts). Before them all, one at
 * a time, those that go alone (Alone.ts).
 */
import { Alone } from "./Alone.ts"
import type { Lane, Row } from "./Lane.ts"
import { mayTake } from "./Places.ts"
import { Turns } from "./Turns.ts"

const RETRY_TURN = 8

export class Order {
  private readonly firsts = new Turns<Lane>()
  private readonly retries = new Turns<Lane>()
  private readonly alone = new Alone()
  private turn = 0
  private free = 0
  private reserve = 0
  /** Whether the last time a workspace had to leave its turn to others. */
  refused = false

  /** At the end of its line. */
  push(row: Row): void {
    if (Alone.concerns(row)) this.alone.push(row)
    else row.lane.lineOf(row).push(row)
    this.offer(row.lane)
  }

  /** At the front of its line: it was not sent after all. */
  putBack(row: Row): void {
    if (Alone.concerns(row)) this.alone.putBack(row)
    else row.lane.lineOf(row).unshift(row)
    this.offer(row.lane)
  }

  /** Takes everything out that waits in the lane. */
  empty(lane: Lane): ReadonlyArray<Row> {
    const rows = [...this.alone.drop(lane)]
    for (let row = lane.popLast(); row !== undefined; row = lane.popLast()) rows.push(row)
    return rows
  }

  /** One place in the lane is free again. */
  freePlace(lane: Lane): void {
    lane.placesTaken--
    this.offer(lane)
  }

  /** Its attempt is written down, or was not made. */
  over(row: Row): void {
    this.alone.over(row)
  }

  /** Nothing of this endpoint can be written down now. */
  heldUp(lane: Lane): void {
    this.alone.heldUp(lane)
  }

  /** Lets a lane stand in line for whatever it has. */
  offer(lane: Lane): void {
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

  /**
   * The next delivery, taken out of its lane; its lane stands in line again if it can use another turn. So many slots are
   * `free`, of which a workspace leaves up to `reserve` to others (Places.ts).
   */
  next(free: number, reserve: number): Row | undefined {
    this.refused = false
    this.free = free
    this.reserve = reserve
    const alone = this.alone.next(this.admitted)
    if (alone !== undefined) return start(alone)
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.from(this.retries, "again") ?? this.from(this.firsts, "fresh"))
      : (this.from(this.firsts, "fresh") ?? this.from(this.retries, "again"))
  }

  /** Made once, as it is asked for each delivery. */
  private readonly admitted = ({ tenant }: Lane): boolean => {
    const may = mayTake(this.free, tenant.inFlight, this.reserve)
    this.refused ||= !may
    return may
  }

  private from(turns: Turns<Lane>, line: "fresh" | "again"): Row | undefined {
    for (let lane = turns.next(this.admitted); lane !== undefined; lane = turns.next(this.admitted)) {
      if (!lane.open) continue
      const row = lane[line].shift()
      if (row === undefined) continue
      start(row)
      this.offer(lane)
      return row
    }
    return undefined
  }
}

const start = (row: Row): Row => {
  row.lane.placesTaken++
  row.lane.turn = row
  return row
}
