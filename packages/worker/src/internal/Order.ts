/**
 * The order in which waiting deliveries get slots: first attempts before retries, but each eighth slot is offered to a
 * retry first, so that none waits for ever; among either, workspaces and lanes in turn (Turns.ts).
 */
import type { Waiting } from "@posthorn/persistence/Queue"
import type { Lane } from "./Lane.ts"
import { Turns } from "./Turns.ts"

const RETRY_TURN = 8

export class Order {
  private readonly firsts = new Turns<Lane>()
  private readonly retries = new Turns<Lane>()
  private turn = 0

  /** Lets a lane stand in line for whatever it has. */
  offer(lane: Lane): void {
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

  /** The next delivery, taken out of its lane; its lane stands in line again if it can use another turn. */
  next(): { readonly lane: Lane; readonly row: Waiting } | undefined {
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.from(this.retries, "again") ?? this.from(this.firsts, "fresh"))
      : (this.from(this.firsts, "fresh") ?? this.from(this.retries, "again"))
  }

  private from(turns: Turns<Lane>, line: "fresh" | "again") {
    for (let lane = turns.next(); lane !== undefined; lane = turns.next()) {
      if (!lane.open) continue
      const row = lane[line].shift()
      if (row === undefined) continue
      lane.inFlight++
      this.offer(lane)
      return { lane, row }
    }
    return undefined
  }
}
