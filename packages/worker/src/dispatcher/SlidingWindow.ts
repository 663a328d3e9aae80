/**
 * The rate of one endpoint: in no window of `perSeconds` are more than `requests` attempts begun. Each attempt needs a permit. A
 * delivery takes one when it is picked, and gives it back if its attempt is not made; a permit is free again one window after
 * its attempt began. The window slides: this is exact, whatever the pattern of attempts.
 *
 * It keeps the moments of the attempts within the present window, no more. What was begun before this object was made is read from
 * the database; until then it grants nothing. Pure: moments are passed in, in monotonic milliseconds.
 * Source: spec §3.5, docs/adr/0019-delivery-policy.md.
 */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Starts } from "@posthorn/persistence/engine/Queue"
import { Deque } from "./Deque.ts"

/**
 * With a slow rate a permit of the lane is kept until its attempt is recorded, and there are this many. So when its worker dies,
 * so many attempts at most have begun that nobody knows of. Recording takes up to 0.1 s: attempts of 0.3 s still reach the fastest
 * of slow rates.
 */
const MOST_UNRECORDED = 10
/** Attempts a second up to which a rate is slow. */
const SLOW = 25

/**
 * What an attempt's recorded time may be too early: a worker knows the database's time from a beat, which is answered within 3 s.
 */
export const CLOCK_ERROR_MS = 1_500

const NEVER = Number.NEGATIVE_INFINITY

export class Rate {
  readonly endpointId: string
  readonly limit: RateLimit
  /** Most permits of the lane, see above. */
  readonly lanePermits: number
  /** It may have been changed: the next load tells. Until then the lane may load as if it had none. */
  stale = false
  /** When its alarm goes off; null for none (Timers.ts). */
  alarm: number | null = null
  private readonly windowMs: number
  /** When each attempt of the window began. */
  private readonly begun = new Deque<number>()
  /** Permits of deliveries whose attempts have not begun. */
  private reserved = 0
  private read = false

  constructor(endpointId: string, limit: RateLimit) {
    this.endpointId = endpointId
    this.limit = limit
    this.windowMs = limit.perSeconds * 1_000
    this.lanePermits = limit.requests > SLOW * limit.perSeconds ? Number.POSITIVE_INFINITY : MOST_UNRECORDED
  }

  is({ perSeconds, requests }: RateLimit): boolean {
    return this.limit.requests === requests && this.limit.perSeconds === perSeconds
  }

  /** Whether permits are kept until their attempts are recorded. */
  get isSlow(): boolean {
    return Number.isFinite(this.lanePermits)
  }

  /** Most attempts of the window that a dead owner may have begun and not recorded. */
  get mostUnrecorded(): number {
    return Math.min(this.lanePermits, this.limit.requests)
  }

  /** Whether it is known what was begun before. */
  get isRead(): boolean {
    return this.read
  }

  /**
   * The database has told how long ago each recorded attempt of the window began, the last one first. `underWay` attempts of this
   * worker were not recorded when it was asked.
   */
  remember({ agesMs }: Starts, underWay: number, now: number): void {
    this.read = true
    for (const age of agesMs.toReversed()) this.begun.push(now - age + CLOCK_ERROR_MS)
    for (let n = 0; n < underWay; n++) this.begun.push(now)
  }

  private get taken(): number {
    return this.reserved + this.begun.length
  }

  /** No permit is free, as far as it was looked at: `expire` frees those whose window is over. */
  get isSpent(): boolean {
    return this.read && !this.stale && this.taken >= this.limit.requests
  }

  /** When the next permit of an attempt that has begun is free. */
  get opensAt(): number {
    return (this.begun.first ?? Number.POSITIVE_INFINITY) + this.windowMs
  }

  expire(now: number): void {
    while (this.opensAt <= now) this.begun.shift()
  }

  /** Without a moment only a permit that is known to be free. */
  take(now = NEVER): boolean {
    this.expire(now)
    if (!this.read || this.stale || this.taken >= this.limit.requests) return false
    this.reserved++
    return true
  }

  giveBack(): void {
    this.reserved--
  }

  begin(now: number): void {
    this.reserved--
    this.expire(now)
    this.begun.push(now)
  }

  /** The attempt that began then was not made. */
  undo(moment: number): void {
    this.begun.remove(moment)
  }
}
