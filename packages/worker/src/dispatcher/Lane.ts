/**
 * The deliveries of one endpoint that are in memory, and how many of them may be in flight at once.
 *
 * The cap starts at 2 and grows by one with each answer in time, up to the endpoint's limit; a timeout halves it. So an
 * endpoint that answers earns its ten slots within a few milliseconds, and a dead one costs two slots, then one.
 *
 * After three attempts in a row that were not delivered the lane probes: one attempt at a time, with a pause before each,
 * until one is delivered (domain's Probing.ts). A test send does not wait for that: it is itself a probe.
 *
 * With a rate (Rate.ts), whatever is sent needs a permit of it too, test sends included. First attempts and retries share these
 * permits as they share slots.
 */
import { PROBES_AFTER, pauseUnits } from "@posthorn/domain/Probing"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import { Deque } from "./Deque.ts"
import type { LeaseTerm } from "./LeaseTerm.ts"
import type { Rate } from "./SlidingWindow.ts"
import type { Workspace } from "./Workspace.ts"

/** How an attempt changes the lane's cap. */
export type Pace = "faster" | "slower" | "same"

export const FIRST_CAP = 2

/** Every eighth permit, and every eighth slot, is offered to a retry first. */
export const RETRY_TURN = 8

/** A position in the order of what is due. */
export type Position = Pick<DueRow, "due" | "deliveryId">

export const BEGINNING: Position = { due: 0, deliveryId: "" }

export const isBefore = (a: Position, b: Position) =>
  a.due < b.due || (a.due === b.due && a.deliveryId < b.deliveryId)

/** A pause of a lane that probes. */
export interface Pause {
  /** Which of the lane's pauses this is. */
  readonly number: number
  /** In units of the retry delay. */
  readonly units: number
}

/**
 * A delivery in memory. It refers to its lane and to the lease term of its shard. Deliveries of one endpoint share the strings
 * of their ids. Stages.ts has the stages that follow.
 */
export class Waiting implements DueRow {
  readonly lane: Lane
  readonly term: LeaseTerm
  readonly deliveryId: string
  readonly due: number
  readonly attempts: number
  readonly claims: number
  readonly atOnce: boolean
  /** Its current stage; `recorded` when this worker no longer needs it. */
  stage: "waiting" | "loading" | "loaded" | "sent" | "settled" | "recorded" = "waiting"
  /** Keeps its permit in its lane until it is recorded. */
  keepsPermit = false
  /** The lane's `mends` when it was picked. */
  mends = 0
  /** The rate of which it has, or has spent, a permit. */
  permit: Rate | null = null
  /** When its attempt began, by the clock of its rate; null for one without a rate. */
  begunAt: number | null = null
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
  /** Permits in use: by deliveries that are loading, loaded or sent, and by failures that are not recorded yet. */
  permitsTaken = 0
  /** Rows in memory: waiting, in flight, or not yet recorded. */
  held = 0
  cap: number
  /** Attempts in a row that were not delivered; null until the database or an attempt of this worker has shown it. */
  failures: number | null = null
  /** A pause is not over yet. */
  pausing = false
  private pauses = 0
  /** How often its endpoint was enabled, or changed, while this lane was in memory. */
  mends = 0
  /** The delivery that was picked last, test sends aside: the only other one that may be sent while the lane probes. */
  turn: Waiting | null = null
  /** From `from` on, the database has due rows that are not in memory. A refill brings them. */
  partial = false
  from: Position = BEGINNING
  /** Its endpoint is disabled, or cannot be used now: no attempt starts. */
  parked = false
  /** Its endpoint's token is being fetched: no attempt starts, and nothing is in a slot for it. */
  withheld = false
  /** Attempts cannot be recorded now. Until they are, successes keep their permits too. */
  heldUp = false
  /** Rows that were read and dropped because the lane was full. */
  dropped = 0
  /** Null for none; undefined until a load has told. */
  rate: Rate | null | undefined
  /** Attempts under a rate that have begun and are not recorded. */
  underWay = 0
  private shared = 0

  constructor({ endpointId, shard, workspaceId }: DueRow, workspace: Workspace<Lane>, cap: number) {
    this.workspace = workspace
    this.workspaceId = workspaceId
    this.endpointId = endpointId
    this.shard = shard
    this.cap = cap
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
    return this.held === 0 && !this.partial && !this.parked && !this.pausing
  }

  get probes(): boolean {
    return this.failures !== null && this.failures >= PROBES_AFTER
  }

  get open(): boolean {
    return this.openToTests && !this.pausing && (!this.probes || this.permitsTaken === 0)
  }

  get openToTests(): boolean {
    return !this.parked && !this.withheld && this.permitsTaken < this.permits && !this.rate?.isSpent
  }

  private get permits(): number {
    return this.rate ? Math.min(this.cap, this.rate.lanePermits) : this.cap
  }

  /** Removes and returns the next delivery of this kind; with a rate, of the kind whose turn it is. */
  shift(line: "tests" | "fresh" | "again"): Waiting | undefined {
    if (line === "tests" || !this.rate) return this[line].shift()
    this.shared = (this.shared + 1) % RETRY_TURN
    const [first, then] = this.shared === 0 ? [this.again, this.fresh] : [this.fresh, this.again]
    return first.shift() ?? then.shift()
  }

  /** Whether the row has a permit of the rate, or gets one now. */
  takesPermit(row: Waiting, now?: number): boolean {
    if (!this.rate || row.permit === this.rate) return true
    row.permit?.giveBack()
    row.permit = this.rate.take(now) ? this.rate : null
    return row.permit !== null
  }

  picked(row: Waiting): void {
    this.permitsTaken++
    this.takesPermit(row)
    row.mends = this.mends
    if (!row.atOnce) this.turn = row
  }

  /** The lane may have begun to probe since the row was picked. */
  maySend(row: Waiting): boolean {
    return !this.probes || row.atOnce || this.turn === row
  }

  /** `inARow` attempts have failed. Deliveries picked before the lane began to probe may no longer be sent. */
  failed(inARow: number): void {
    if (!this.probes) this.turn = null
    this.failures = inARow
  }

  succeeded(): void {
    this.failures = 0
    this.pausing = false
  }

  /** The next probe is due at once, after `inARow` attempts that were not delivered. */
  mended(failures: number): void {
    this.mends++
    this.failures = failures
    this.pausing = false
  }

  /** A lane that probes begins to pause. */
  pause(): Pause | null {
    if (!this.probes) return null
    this.pausing = true
    return { number: ++this.pauses, units: pauseUnits(this.failures!) }
  }

  /** False when another pause has begun since. */
  endPause(number: number): boolean {
    if (number !== this.pauses) return false
    this.pausing = false
    return true
  }

  /** It was disabled. The database will tell how many attempts have failed since. */
  startAnew(): void {
    this.failures = null
    this.pausing = false
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
    if (pace === "faster") this.cap = Math.min(limit, this.cap + 1)
    else if (pace === "slower") this.cap = Math.max(1, this.cap >> 1)
  }
}
