/**
 * The slots: which are taken (Places.ts), which will be by what is ready, and how many will be free in a moment, at the rate
 * at which they became free since the last look. So many deliveries are loaded: none ahead while receivers are slow.
 */
import type { Row } from "./Lane.ts"
import { Places } from "./Places.ts"
import { Ready } from "./Ready.ts"
import type { Settled } from "./Settled.ts"

export interface SlotsOptions {
  readonly slots: number
  /** See Tuning.ts. */
  readonly aheadMs: number
  readonly mostUnrecorded: number
}

export class Slots {
  readonly ready = new Ready()
  private readonly options: SlotsOptions
  private readonly settled: Pick<Settled, "unrecorded">
  private readonly places: Places
  private ahead = 0
  private over = 0
  private countedAt = 0
  /** Free slots that nobody who waits may take: they are left to workspaces that have few. */
  private kept = 0

  constructor(options: SlotsOptions, settled: Pick<Settled, "unrecorded">) {
    this.options = options
    this.settled = settled
    this.places = new Places(options.slots)
  }

  get free(): number {
    return this.places.free - this.ready.length
  }

  get loadsAhead(): boolean {
    return this.ahead > 0
  }

  /** How many to load: what is free, and what will be by the time they are loaded. */
  get wanted(): number {
    return Math.min(this.free + this.ahead, this.options.mostUnrecorded - this.settled.unrecorded)
  }

  /** Not before half of what will be free can be had at once. */
  get ripe(): boolean {
    return this.wanted - this.kept > this.ahead / 2
  }

  keep(slots: number): void {
    this.kept = slots
  }

  look(now: number): void {
    const { aheadMs, mostUnrecorded, slots } = this.options
    const passed = Math.max(1, now - this.countedAt)
    // Never more than may be loaded at all: `ripe` would wait for it for ever.
    this.ahead = Math.min(2 * slots, mostUnrecorded, Math.floor((this.over * aheadMs) / passed))
    this.over = 0
    this.countedAt = now
  }

  get lookedAt(): number {
    return this.countedAt
  }

  /** The next one that is ready, when a slot is free for it. */
  next(): Row | undefined {
    return this.ready.next(this.places.open)
  }

  take({ lane: { tenant } }: Row): void {
    this.places.take(tenant)
  }

  /** Its attempt is over. */
  leave({ lane: { tenant } }: Row): void {
    this.places.release(tenant)
    this.over++
    if (this.places.isModest(tenant)) this.kept = 0
  }
}
