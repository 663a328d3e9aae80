/**
 * The deliveries of one endpoint that are in memory, and how many of them may be in flight at once.
 *
 * The cap starts at 2 and grows by one with each answer in time, up to the endpoint's limit; a timeout halves it. So an
 * endpoint that answers earns its ten slots within a few milliseconds, and a dead one costs two slots, then one.
 */
import type { Waiting } from "@posthorn/persistence/Queue"
import { Fifo } from "./Fifo.ts"

/** What an attempt says about the receiver's pace. */
export type Pace = "faster" | "slower" | "same"

export const FIRST_CAP = 2

/** A place in the order of what is due. */
export type Position = Pick<Waiting, "due" | "deliveryId">

export const BEGINNING: Position = { due: 0, deliveryId: "" }

export const isBefore = (a: Position, b: Position) =>
  a.due < b.due || (a.due === b.due && a.deliveryId < b.deliveryId)

export class Lane {
  readonly workspaceId: string
  readonly endpointId: string
  readonly shard: number
  /** First attempts, and retries, each by due time. */
  readonly fresh = new Fifo<Waiting>()
  readonly again = new Fifo<Waiting>()
  /** Includes failures that are not recorded yet. */
  inFlight = 0
  readonly failing = new Set<string>()
  /** Rows in memory: waiting, in flight, or seen and not yet recorded. */
  held = 0
  cap: number
  /** The database has due rows that are not in memory, from `from` on; they come by a refill. */
  partial = false
  from: Position = BEGINNING
  /** Its endpoint is disabled or cannot be used now: nothing is started. */
  parked = false
  /** What is sent cannot be recorded now: successes keep their place as well until they are. */
  heldUp = false
  /** Rows that were read and dropped because the lane was full. */
  dropped = 0

  constructor(row: Waiting, cap: number) {
    this.workspaceId = row.workspaceId
    this.endpointId = row.endpointId
    this.shard = row.shard
    this.cap = cap
  }

  get waiting(): number {
    return this.fresh.length + this.again.length
  }

  /** This row, and what comes after it, is not in memory. */
  leaveOut(row: Position): void {
    if (!this.partial || isBefore(row, this.from)) this.from = row
    this.partial = true
  }

  get idle(): boolean {
    return this.held === 0 && !this.partial && !this.parked
  }

  get open(): boolean {
    return !this.parked && this.inFlight < this.cap
  }

  lineOf(row: Waiting): Fifo<Waiting> {
    return row.attempts === 0 ? this.fresh : this.again
  }

  /** The row that can wait longest. */
  popLast(): Waiting | undefined {
    return this.again.pop() ?? this.fresh.pop()
  }

  adjust(pace: Pace, limit: number): void {
    if (pace === "faster") this.cap = Math.min(limit, this.cap + 1)
    else if (pace === "slower") this.cap = Math.max(1, this.cap >> 1)
  }
}
