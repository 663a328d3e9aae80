/**
 * How many deliveries to load: one for each free slot, and those that will find one free in a moment, at the rate at which
 * slots became free since the last load. None is loaded ahead while receivers are slow.
 */
import type { Lane } from "./Lane.ts"
import type { Ready } from "./Ready.ts"
import { SlotShares } from "./SlotShares.ts"
import type { Tenant } from "./Tenant.ts"
import type { Unrecorded } from "./Unrecorded.ts"

export interface LookAheadOptions {
  readonly slots: number
  /** See Tuning.ts. */
  readonly aheadMs: number
  readonly mostUnrecorded: number
}

export class LookAhead {
  readonly shares: SlotShares
  private readonly options: LookAheadOptions
  private readonly ready: Pick<Ready, "length">
  private readonly unrecorded: Pick<Unrecorded, "count">
  private ahead = 0
  private freed = 0
  private measuredAt = 0
  /** Free slots that nobody who waits may take: they are left to workspaces that have few. */
  private kept = 0

  constructor(
    options: LookAheadOptions,
    ready: Pick<Ready, "length">,
    unrecorded: Pick<Unrecorded, "count">
  ) {
    this.options = options
    this.ready = ready
    this.unrecorded = unrecorded
    this.shares = new SlotShares(options.slots)
  }

  get free(): number {
    return this.shares.free - this.ready.length
  }

  get isAhead(): boolean {
    return this.ahead > 0
  }

  /** Number to load: free slots and the look-ahead, within what may be unrecorded. */
  get wanted(): number {
    return Math.min(this.free + this.ahead, this.options.mostUnrecorded - this.unrecorded.count)
  }

  /** Load again once the look-ahead is less than half full. */
  get ripe(): boolean {
    return this.wanted - this.kept > this.ahead / 2
  }

  keep(slots: number): void {
    this.kept = slots
  }

  measure(now: number): void {
    const { aheadMs, mostUnrecorded, slots } = this.options
    const passed = Math.max(1, now - this.measuredAt)
    // Never more than may be loaded at all: `ripe` would wait for it for ever.
    this.ahead = Math.min(2 * slots, mostUnrecorded, Math.floor((this.freed * aheadMs) / passed))
    this.freed = 0
    this.measuredAt = now
  }

  isOld(now: number, afterMs: number): boolean {
    return now - this.measuredAt > afterMs
  }

  /** A slot of the workspace is free again. */
  release(tenant: Tenant<Lane>): void {
    this.shares.release(tenant)
    this.freed++
    if (this.shares.isModest(tenant)) this.kept = 0
  }
}
