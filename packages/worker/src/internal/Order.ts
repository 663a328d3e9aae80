/**
 * The order in which waiting deliveries get slots: first attempts before retries, but each eighth slot is offered to a
 * retry first, so that none waits for ever; among either, workspaces and lanes in turn (Turns.ts). Before them all, one at
 * a time, those that go alone (Alone.ts).
 */
import type { Waiting } from "@posthorn/persistence/Queue"
import { Alone, type Turn } from "./Alone.ts"
import type { Lane } from "./Lane.ts"
import { mayTake } from "./Places.ts"
import { Turns } from "./Turns.ts"

const RETRY_TURN = 8

export class Order {
  private readonly firsts = new Turns<Lane>()
  private readonly retries = new Turns<Lane>()
  private readonly alone = new Alone()
  private turn = 0
  /** Whether the last time a workspace had to leave its turn to others. */
  refused = false

  /** At the end of its line. */
  push(lane: Lane, row: Waiting): void {
    if (Alone.concerns(row)) this.alone.push({ lane, row })
    else lane.lineOf(row).push(row)
    this.offer(lane)
  }

  /** At the front of its line: it was not sent after all. */
  putBack(lane: Lane, row: Waiting): void {
    if (Alone.concerns(row)) this.alone.putBack({ lane, row })
    else lane.lineOf(row).unshift(row)
    this.offer(lane)
  }

  /** Takes everything out that waits in the lane. */
  empty(lane: Lane): ReadonlyArray<Waiting> {
    const rows = [...this.alone.drop(lane)]
    for (let row = lane.popLast(); row !== undefined; row = lane.popLast()) rows.push(row)
    return rows
  }

  /** One place in the lane is free again. */
  leave(lane: Lane): void {
    lane.inFlight--
    this.offer(lane)
  }

  /** Its attempt is written down, or was not made. */
  over(row: Waiting): void {
    this.alone.over(row)
  }

  /** Nothing of this endpoint can be written down now. */
  heldUp(endpointId: string): void {
    this.alone.heldUp(endpointId)
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
  next(free: number, reserve: number): Turn | undefined {
    this.refused = false
    const admitted = ({ tenant }: Lane) => {
      const may = mayTake(free, tenant.inFlight, reserve)
      this.refused ||= !may
      return may
    }
    const alone = this.alone.next(admitted)
    if (alone !== undefined) return start(alone)
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.from(this.retries, "again", admitted) ?? this.from(this.firsts, "fresh", admitted))
      : (this.from(this.firsts, "fresh", admitted) ?? this.from(this.retries, "again", admitted))
  }

  private from(
    turns: Turns<Lane>,
    line: "fresh" | "again",
    admitted: (lane: Lane) => boolean
  ): Turn | undefined {
    for (let lane = turns.next(admitted); lane !== undefined; lane = turns.next(admitted)) {
      if (!lane.open) continue
      const row = lane[line].shift()
      if (row === undefined) continue
      const turn = start({ lane, row })
      this.offer(lane)
      return turn
    }
    return undefined
  }
}

const start = (turn: Turn): Turn => {
  turn.lane.inFlight++
  turn.lane.turn = turn.row.deliveryId
  return turn
}
