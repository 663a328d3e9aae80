/**
 * The deliveries of one endpoint that are in memory, and how many of them may be in flight at once.
 *
 * The lane's concurrency limit is adaptive (AIMD): it starts at 2, grows by one with each answer in time, up to the endpoint's
 * limit, and is halved by a timeout. So an endpoint that answers earns its ten permits within a few milliseconds, and a dead one
 * costs two slots, then one. Besides, its circuit (Circuit.ts) and its rate limit (SlidingWindow.ts) hold deliveries back; first
 * attempts and retries share the permits of a rate limit as they share slots.
 */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import { Circuit } from "./Circuit.ts"
import { Deque } from "./Deque.ts"
import type { LeaseTerm } from "./Leases.ts"
import type { SlidingWindow } from "./SlidingWindow.ts"
import type { Stage } from "./Stages.ts"
import type { Workspace } from "./Workspace.ts"

/** How an attempt changes the lane's concurrency limit. */
export type Pace = "faster" | "slower" | "same"

export const FIRST_LIMIT = 2

/** Every eighth permit of a rate limit, and every eighth slot, is offered to a retry first. */
export const RETRY_TURN = 8

/** A position in the order of what is due. */
export type Position = Pick<DueRow, "due" | "deliveryId">

export const BEGINNING: Position = { due: 0, deliveryId: "" }

export const isBefore = (a: Position, b: Position) =>
  a.due < b.due || (a.due === b.due && a.deliveryId < b.deliveryId)

/**
 * A delivery in memory. It refers to its lane and to the lease term of its shard. Deliveries of one endpoint share the strings
 * of their ids.
 */
export class Waiting implements DueRow {
  readonly lane: Lane
  readonly term: LeaseTerm
  readonly deliveryId: string
  readonly due: number
  readonly attempts: number
  readonly claims: number
  readonly atOnce: boolean
  stage: Stage = "waiting"
  hasLanePermit = false
  /** It counts as slow while it is in flight (SlotShares.ts). */
  isSlow = false
  /** Its circuit's `resets` when it was picked. */
  circuitResets = 0
  /** The rate limit of which it has, or has spent, a permit. */
  window: SlidingWindow | null = null
  /** When its attempt started, in monotonic milliseconds; null without a rate limit. */
  startedAt: number | null = null
  /** Its receiver has refused a token in this attempt. */
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
  /** Test sends, first attempts, and retries, each by due time. */
  readonly tests = new Deque<Waiting>()
  readonly fresh = new Deque<Waiting>()
  readonly again = new Deque<Waiting>()
  readonly circuit = new Circuit<Waiting>()
  /** Permits in use: see HOLDS in Stages.ts. */
  permitsTaken = 0
  /** Ids that are tracked: of rows that wait, are in flight, or are not recorded. */
  tracked = 0
  concurrencyLimit: number
  /** Whether its last request took long; null until one has ended. */
  isSlow: boolean | null = null
  /** From `from` on, the database has due rows that are not in memory. A refill brings them. */
  partial = false
  from: Position = BEGINNING
  /** Its endpoint is disabled, or its secret cannot be read: no attempt starts, and no row is in memory. */
  suspended = false
  /** Its endpoint's token is being fetched: no attempt starts, and nothing is in a slot for it. */
  awaitsCredentials = false
  /** A row of its endpoint is locked. Until its attempts are recorded, delivered ones keep their permits too. */
  awaitsRecord = false
  /** Its shard is handed over, and does not wait for another slow request or locked row of this endpoint: no attempt starts. */
  isHeldBack = false
  /** Rows that were read and dropped because the lane was full. */
  dropped = 0
  /** Null for none; undefined until a load has told. */
  rateLimit: SlidingWindow | null | undefined
  /** Attempts under a rate limit that have started and are not recorded. */
  unrecordedStarts = 0
  private shared = 0

  constructor({ endpointId, shard, workspaceId }: DueRow, workspace: Workspace<Lane>, limit: number) {
    this.workspace = workspace
    this.workspaceId = workspaceId
    this.endpointId = endpointId
    this.shard = shard
    this.concurrencyLimit = limit
  }

  get waiting(): number {
    return this.tests.length + this.fresh.length + this.again.length
  }

  /** This row, and what comes after it, is not in memory. */
  leaveOut(row: Position): void {
    if (!this.partial || isBefore(row, this.from)) this.from = row
    this.partial = true
  }

  get idle(): boolean {
    return this.tracked === 0 && !this.partial && !this.suspended && !this.circuit.isOpen
  }

  /** Whether a first attempt or a retry may be picked. */
  get open(): boolean {
    const { circuit } = this
    return this.openToTests && !circuit.isOpen && (circuit.isClosed || this.permitsTaken === 0)
  }

  get openToTests(): boolean {
    return (
      !this.suspended &&
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

  /** Removes and returns the next delivery of this kind; with a rate limit, of the kind whose turn it is. */
  shift(line: "tests" | "fresh" | "again"): Waiting | undefined {
    if (line === "tests" || !this.rateLimit) return this[line].shift()
    this.shared = (this.shared + 1) % RETRY_TURN
    const [first, then] = this.shared === 0 ? [this.again, this.fresh] : [this.fresh, this.again]
    return first.shift() ?? then.shift()
  }

  /** Whether the row has a permit of the rate limit, or gets one now. */
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

  /** The row that is due last. */
  popLast(): Waiting | undefined {
    return this.again.pop() ?? this.fresh.pop() ?? this.tests.pop()
  }

  adjust(pace: Pace, limit: number): void {
    if (pace === "faster") this.concurrencyLimit = Math.min(limit, this.concurrencyLimit + 1)
    else if (pace === "slower") this.concurrencyLimit = Math.max(1, this.concurrencyLimit >> 1)
  }
}
