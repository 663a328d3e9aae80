/**
 * The deliveries of one endpoint in memory, and how many of them may be in flight.
 *
 * The concurrency limit is adaptive (AIMD): it starts at 2, grows by one with each answer in time, and is halved by a timeout.
 * Besides, the circuit (Circuit.ts) and the rate limit (SlidingWindow.ts) hold deliveries back.
 */
import { type DatabaseMicros, databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import { Circuit } from "./Circuit.ts"
import { Deque } from "./Deque.ts"
import type { LeaseTerm } from "./Leases.ts"
import type { SlidingWindow } from "./SlidingWindow.ts"
import type { Stage } from "./Stages.ts"
import type { Workspace } from "./Workspace.ts"

export type Pace = "faster" | "slower" | "same"

export const FIRST_LIMIT = 2

/** Each eighth permit of a rate limit, and each eighth slot, is offered to a retry first. */
export const RETRY_TURN = 8

export type Position = Pick<DueRow, "due" | "deliveryId">

export const BEGINNING: Position = { due: databaseMicros(0), deliveryId: "" }

/** Whose lane it is. */
export type LaneKey = Pick<DueRow, "workspaceId" | "endpointId" | "shard">

export const isBefore = (a: Position, b: Position) =>
  a.due < b.due || (a.due === b.due && a.deliveryId < b.deliveryId)

/** The ids of workspace and endpoint are read from the lane, so that memory holds them once. */
export class Waiting implements DueRow {
  readonly lane: Lane
  readonly term: LeaseTerm
  readonly deliveryId: string
  readonly due: DatabaseMicros
  readonly attempts: number
  readonly claims: number
  readonly atOnce: boolean
  stage: Stage = "waiting"
  hasLanePermit = false
  isSlow = false
  circuitResets = 0
  /** The rate limit of which the delivery has, or has spent, a permit. */
  window: SlidingWindow | null = null
  /** In monotonic milliseconds; null without a rate limit. */
  startedAt: number | null = null
  refused = false

  constructor(lane: Lane, term: LeaseTerm, { atOnce, attempts, claims, deliveryId, due }: DueRow) {
    this.lane = lane
    this.term = term
    this.deliveryId = deliveryId
    this.due = due
    this.attempts = attempts
    this.claims = claims
    this.atOnce = atOnce
  }

  get workspaceId(): string {
    return this.lane.workspaceId
  }

  get endpointId(): string {
    return this.lane.endpointId
  }

  get shard(): number {
    return this.term.shard
  }
}

export class Lane {
  readonly workspace: Workspace<Lane>
  readonly workspaceId: string
  readonly endpointId: string
  readonly shard: number
  /** Each in the order of due times. */
  readonly tests = new Deque<Waiting>()
  readonly fresh = new Deque<Waiting>()
  readonly again = new Deque<Waiting>()
  readonly circuit = new Circuit<Waiting>()
  permitsTaken = 0
  tracked = 0
  concurrencyLimit: number
  /** Null until a request has ended. */
  isSlow: boolean | null = null
  /** From `from` on, the database has due rows that are not in memory. */
  partial = false
  from: Position = BEGINNING
  /** The endpoint's token is being fetched: no attempt starts. */
  awaitsCredentials = false
  /** A row of the endpoint is locked: until the record, delivered attempts keep their permits too. */
  awaitsRecord = false
  /** The shard is being handed over, and the endpoint is slow or has a locked row: no attempt starts. */
  isHeldBack = false
  dropped = 0
  /** Undefined until a load has shown it. */
  rateLimit: SlidingWindow | null | undefined
  unrecordedStarts = 0
  private shared = 0

  constructor({ endpointId, shard, workspaceId }: LaneKey, workspace: Workspace<Lane>, limit: number) {
    this.workspace = workspace
    this.workspaceId = workspaceId
    this.endpointId = endpointId
    this.shard = shard
    this.concurrencyLimit = limit
  }

  get waiting(): number {
    return this.tests.length + this.fresh.length + this.again.length
  }

  leaveOut(row: Position): void {
    if (!this.partial || isBefore(row, this.from)) this.from = row
    this.partial = true
  }

  get idle(): boolean {
    return this.tracked === 0 && !this.partial && !this.circuit.isOpen
  }

  get open(): boolean {
    const { circuit } = this
    return this.openToTests && !circuit.isOpen && (circuit.isClosed || this.permitsTaken === 0)
  }

  get openToTests(): boolean {
    return (
      !this.awaitsCredentials &&
      !this.isHeldBack &&
      this.permitsTaken < this.permits &&
      !this.rateLimit?.isSpent
    )
  }

  private get permits(): number {
    const { concurrencyLimit, rateLimit } = this
    return rateLimit ? Math.min(concurrencyLimit, rateLimit.lanePermits) : concurrencyLimit
  }

  /** With a rate limit, the next of the kind whose turn it is. */
  shift(line: "tests" | "fresh" | "again"): Waiting | undefined {
    if (line === "tests" || !this.rateLimit) return this[line].shift()
    this.shared = (this.shared + 1) % RETRY_TURN
    const [first, then] = this.shared === 0 ? [this.again, this.fresh] : [this.fresh, this.again]
    return first.shift() ?? then.shift()
  }

  takesStartPermit(row: Waiting, now?: number): boolean {
    if (!this.rateLimit || row.window === this.rateLimit) return true
    row.window?.release()
    row.window = this.rateLimit.take(now) ? this.rateLimit : null
    return row.window !== null
  }

  picked(row: Waiting): void {
    this.permitsTaken++
    row.hasLanePermit = true
    this.takesStartPermit(row)
    row.circuitResets = this.circuit.resets
    this.circuit.picked(row)
  }

  lineOf(row: Waiting): Deque<Waiting> {
    if (row.atOnce) return this.tests
    return row.attempts === 0 ? this.fresh : this.again
  }

  popLast(): Waiting | undefined {
    return this.again.pop() ?? this.fresh.pop() ?? this.tests.pop()
  }

  adjust(pace: Pace, limit: number): void {
    if (pace === "faster") this.concurrencyLimit = Math.min(limit, this.concurrencyLimit + 1)
    else if (pace === "slower") this.concurrencyLimit = Math.max(1, this.concurrencyLimit >> 1)
  }
}
