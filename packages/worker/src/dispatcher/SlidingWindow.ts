/**
 * The rate limit of one endpoint as a sliding-window log: no window of `perSeconds` has more than `requests` starts. A picked
 * delivery takes a permit, which is free again one window after its start. Earlier starts are read from the database; until
 * then nothing is granted.
 *
 * Pure: moments are passed in, in monotonic milliseconds. Source: spec §3.5, docs/adr/0019-delivery-policy.md.
 */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Starts } from "@posthorn/persistence/engine/Queue"
import { Deque } from "./Deque.ts"

/**
 * Lane permits of a low limit, each kept until its record: a worker that dies leaves at most this many unrecorded. They suffice for
 * the highest low limit while attempts take at most 0.3 s.
 */
const MOST_UNRECORDED = 10
/** In attempts a second. */
const LOW = 25

/** A recorded time may be this much too early: half of the 3 s within which a heartbeat brings the database's time. */
export const CLOCK_ERROR_MS = 1_500

const LONG_AGO = Number.NEGATIVE_INFINITY

export class SlidingWindow {
  readonly endpointId: string
  readonly limit: RateLimit
  readonly lanePermits: number
  /** The limit may have changed: the next load shows it. Until then the lane loads as without a limit. */
  stale = false
  timer: number | null = null
  private readonly windowMs: number
  private readonly starts = new Deque<number>()
  private reserved = 0
  /** Added to this worker's clock, it dates starts by the database's clock. */
  private offset = Number.NEGATIVE_INFINITY
  isRead = false

  constructor(endpointId: string, limit: RateLimit) {
    this.endpointId = endpointId
    this.limit = limit
    this.windowMs = limit.perSeconds * 1_000
    this.lanePermits = limit.requests > LOW * limit.perSeconds ? Number.POSITIVE_INFINITY : MOST_UNRECORDED
  }

  is({ perSeconds, requests }: RateLimit): boolean {
    return this.limit.requests === requests && this.limit.perSeconds === perSeconds
  }

  get isLow(): boolean {
    return Number.isFinite(this.lanePermits)
  }

  get mostUnrecorded(): number {
    return Math.min(this.lanePermits, this.limit.requests)
  }

  /** Ages of recorded attempts, the last first. `unrecorded` starts of this worker were not among them. */
  remember({ agesMs }: Starts, unrecorded: number, now: number): void {
    this.isRead = true
    for (const age of agesMs.toReversed()) this.starts.push(now - age + CLOCK_ERROR_MS)
    for (let n = 0; n < unrecorded; n++) this.starts.push(now)
  }

  private get taken(): number {
    return this.reserved + this.starts.length
  }

  get isSpent(): boolean {
    return this.isRead && !this.stale && this.taken >= this.limit.requests
  }

  get opensAt(): number {
    return (this.starts.first ?? Number.POSITIVE_INFINITY) + this.windowMs
  }

  expire(now: number): void {
    while (this.opensAt <= now) this.starts.shift()
  }

  /** Without `now`, takes a permit that was free at the last `expire`. */
  take(now = LONG_AGO): boolean {
    this.expire(now)
    if (!this.isRead || this.stale || this.taken >= this.limit.requests) return false
    this.reserved++
    return true
  }

  release(): void {
    this.reserved--
  }

  start(now: number): void {
    this.reserved--
    this.expire(now)
    this.starts.push(now)
  }

  /**
   * The start by the database's clock. The highest estimate of that clock holds: a lower one would bring the start closer to
   * the last.
   */
  dated(now: number, database: number): number {
    const offset = database - now
    if (offset > this.offset || offset < this.offset - CLOCK_ERROR_MS) this.offset = offset
    return Math.floor(now + this.offset)
  }

  undo(moment: number): void {
    this.starts.remove(moment)
  }
}
