/**
 * The rate limit of one endpoint, as a sliding-window log: in no window of `perSeconds` do more than `requests` attempts start. A
 * delivery takes a permit when it is picked, and gives it back if its attempt is not made. A permit is free again one window after
 * its attempt started.
 *
 * The log has the starts within the present window, no more. Starts before this object was made are read from the database; until
 * then it grants nothing. Pure: moments are passed in, in monotonic milliseconds.
 * Source: spec §3.5, docs/adr/0019-delivery-policy.md.
 */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Starts } from "@posthorn/persistence/engine/Queue"
import { Deque } from "./Deque.ts"

/**
 * Lane permits of a low limit. Each is kept until its attempt is recorded, so a worker that dies has made at most this many attempts
 * that are not recorded. Recording takes up to 0.1 s: attempts of 0.3 s still reach the highest of low limits.
 */
const MOST_UNRECORDED = 10
/** Attempts a second up to which a limit is low. */
const LOW = 25

/**
 * An attempt's recorded time may be this much too early: a worker knows the database's time from a heartbeat, which is answered
 * within 3 s.
 */
export const CLOCK_ERROR_MS = 1_500

const LONG_AGO = Number.NEGATIVE_INFINITY

export class SlidingWindow {
  readonly endpointId: string
  readonly limit: RateLimit
  /** Most permits of its lane: see `MOST_UNRECORDED`. */
  readonly lanePermits: number
  /** It may have been changed: the next load tells. Until then the lane loads as if it had no limit. */
  stale = false
  /** When its timer goes off; null for none (Timers.ts). */
  timer: number | null = null
  private readonly windowMs: number
  private readonly starts = new Deque<number>()
  /** Permits of deliveries whose attempts have not started. */
  private reserved = 0
  /** The database's clock minus this worker's, as starts are stored. */
  private offset = Number.NEGATIVE_INFINITY
  /** Whether the starts before this object was made are known. */
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

  /** Whether the lane's permits are kept until their attempts are recorded. */
  get isLow(): boolean {
    return Number.isFinite(this.lanePermits)
  }

  /** Most attempts of the window that a dead owner may have made and not recorded. */
  get mostUnrecorded(): number {
    return Math.min(this.lanePermits, this.limit.requests)
  }

  /**
   * The database has told how long ago each recorded attempt of the window started, the last one first. `unrecorded` attempts of
   * this worker were not recorded when it was asked.
   */
  remember({ agesMs }: Starts, unrecorded: number, now: number): void {
    this.isRead = true
    for (const age of agesMs.toReversed()) this.starts.push(now - age + CLOCK_ERROR_MS)
    for (let n = 0; n < unrecorded; n++) this.starts.push(now)
  }

  private get taken(): number {
    return this.reserved + this.starts.length
  }

  /** No permit is free, as of the last `expire`. */
  get isSpent(): boolean {
    return this.isRead && !this.stale && this.taken >= this.limit.requests
  }

  /** When the first start leaves the window. */
  get opensAt(): number {
    return (this.starts.first ?? Number.POSITIVE_INFINITY) + this.windowMs
  }

  expire(now: number): void {
    while (this.opensAt <= now) this.starts.shift()
  }

  /** Without a moment only a permit that was free at the last `expire`. */
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
   * The start as it is stored, in milliseconds by the database's clock. A lower estimate of that clock would bring it closer to the
   * last start than it was judged, so the highest one holds, as long as an estimate can be that wrong.
   */
  dated(now: number, database: number): number {
    const offset = database - now
    if (offset > this.offset || offset < this.offset - CLOCK_ERROR_MS) this.offset = offset
    return Math.floor(now + this.offset)
  }

  /** The attempt that started then was not made. */
  undo(moment: number): void {
    this.starts.remove(moment)
  }
}
