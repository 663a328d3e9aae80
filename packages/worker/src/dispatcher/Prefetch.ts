/**
 * How many deliveries to load: one for each free slot, and some for the slots that will be free in a moment, judged by the rate
 * at which slots became free since the last load. While receivers are slow, none is loaded ahead.
 */
import type { Lane } from "./Lane.ts"
import type { Ready } from "./Ready.ts"
import { SlotShares } from "./SlotShares.ts"
import type { Unrecorded } from "./Unrecorded.ts"
import type { Workspace } from "./Workspace.ts"

export interface PrefetchOptions {
  readonly slots: number
  /** Tuning.ts describes these. */
  readonly prefetchMs: number
  readonly mostUnrecorded: number
}

export class Prefetch {
  readonly shares: SlotShares
  private readonly options: PrefetchOptions
  private readonly ready: Pick<Ready, "length">
  private readonly unrecorded: Pick<Unrecorded, "count">
  private ahead = 0
  private freed = 0
  private measuredAt = 0
  /** Free slots that no waiting delivery may take: they are kept for workspaces that have few. */
  private kept = 0

  constructor(options: PrefetchOptions, ready: Pick<Ready, "length">, unrecorded: Pick<Unrecorded, "count">) {
    this.options = options
    this.ready = ready
    this.unrecorded = unrecorded
    this.shares = new SlotShares(options.slots)
  }

  get free(): number {
    return this.shares.free - this.ready.length
  }

  /** Number to load: free slots plus the look-ahead, capped by how many attempts may be unrecorded. */
  get wanted(): number {
    return Math.min(this.free + this.ahead, this.options.mostUnrecorded - this.unrecorded.count)
  }

  /** Load again once the look-ahead is less than half full. */
  get isLow(): boolean {
    return this.wanted - this.kept > this.ahead / 2
  }

  keep(slots: number): void {
    this.kept = slots
  }

  measure(now: number): void {
    const { prefetchMs, mostUnrecorded, slots } = this.options
    const passed = Math.max(1, now - this.measuredAt)
    // Never more than may be loaded at all: otherwise `isLow` would never become true.
    this.ahead = Math.min(2 * slots, mostUnrecorded, Math.floor((this.freed * prefetchMs) / passed))
    this.freed = 0
    this.measuredAt = now
  }

  isOld(now: number, afterMs: number): boolean {
    return now - this.measuredAt > afterMs
  }

  /** One of the workspace's slots is free again. */
  release(workspace: Workspace<Lane>): void {
    this.shares.release(workspace)
    this.freed++
    if (this.shares.isSmall(workspace)) this.kept = 0
  }
}
