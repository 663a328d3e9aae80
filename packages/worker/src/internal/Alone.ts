/**
 * Deliveries that were taken up twice without a trace: one of them may be what kills workers, so at most one is in
 * flight, and the others do not look guilty beside it. It is over when its observation is written down, not when it was
 * answered: else the next one, if it kills the worker, takes that observation with it, and this one is counted as well.
 * Source: docs/adr/0012-poison.md.
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
  private inFlight: Waiting | null = null
  /** It had its turn and could not be sent, but is counted perhaps: nobody goes before it. */
  private returned: Turn | null = null

  static concerns(row: Waiting): boolean {
    return row.takeUps >= FROM_TAKE_UPS
  }

  push(turn: Turn): void {
    this.waiting.push(turn)
  }

  next(admitted: (lane: Lane) => boolean): Turn | undefined {
    if (this.inFlight !== null) return undefined
    const may = ({ lane }: Turn) => lane.open && admitted(lane)
    if (this.returned !== null) return may(this.returned) ? this.takeReturned() : undefined
    const next = this.waiting.findIndex(may)
    if (next === -1) return undefined
    const [turn] = this.waiting.splice(next, 1)
    if (turn !== undefined) this.inFlight = turn.row
    return turn
  }

  private takeReturned(): Turn {
    const turn = this.returned!
    this.returned = null
    this.inFlight = turn.row
    return turn
  }

  /** It was not sent after all. */
  putBack(turn: Turn): void {
    if (this.returned === null) this.returned = turn
    else this.push(turn)
  }

  over(row: Waiting): void {
    if (this.inFlight?.deliveryId === row.deliveryId) this.inFlight = null
  }

  /** Somebody holds rows of this endpoint: no other endpoint waits for that. */
  heldUp(endpointId: string): void {
    if (this.inFlight?.endpointId === endpointId) this.inFlight = null
    if (this.returned?.row.endpointId !== endpointId) return
    this.push(this.returned)
    this.returned = null
  }

  /** Gives what waited of the lane. */
  drop(lane: Lane): ReadonlyArray<Waiting> {
    if (this.returned?.lane === lane) {
      this.push(this.returned)
      this.returned = null
    }
    const dropped = this.waiting.filter((turn) => turn.lane === lane)
    if (dropped.length > 0) this.waiting = this.waiting.filter((turn) => turn.lane !== lane)
    return dropped.map(({ row }) => row)
  }
}
