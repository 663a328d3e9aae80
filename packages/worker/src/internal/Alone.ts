/**
 * Deliveries that were taken up twice without a trace: one of them may be what kills workers, so at most one is in
 * flight, and the others do not look guilty beside it. Source: docs/adr/0012-poison.md.
 */
import type { Waiting } from "@posthorn/persistence/Queue"
import type { Lane } from "./Lane.ts"

export interface Turn {
  readonly lane: Lane
  readonly row: Waiting
}

/** From this many take-ups on. */
const FROM_TAKE_UPS = 2

export class Alone {
  private waiting: Array<Turn> = []
  private inFlight: string | null = null

  static concerns(row: Waiting): boolean {
    return row.takeUps >= FROM_TAKE_UPS
  }

  push(turn: Turn): void {
    this.waiting.push(turn)
  }

  next(): Turn | undefined {
    if (this.inFlight !== null) return undefined
    const next = this.waiting.findIndex(({ lane }) => lane.open)
    if (next === -1) return undefined
    const [turn] = this.waiting.splice(next, 1)
    if (turn !== undefined) this.inFlight = turn.row.deliveryId
    return turn
  }

  over(row: Waiting): void {
    if (this.inFlight === row.deliveryId) this.inFlight = null
  }

  /** Gives what waited of the lane. */
  drop(lane: Lane): ReadonlyArray<Waiting> {
    const dropped = this.waiting.filter((turn) => turn.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((turn) => turn.lane !== lane)
    return dropped.map(({ row }) => row)
  }
}
