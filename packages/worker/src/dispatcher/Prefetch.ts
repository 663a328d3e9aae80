/**
 * How many deliveries to load: one for each free slot, and some for the slots that will be free in a moment, judged by the rate
 * at which slots became free since the last load. While receivers are slow, nothing is prefetched.
 */
import type { Lane } from "./Lane.ts"
import type { Ready } from "./Ready.ts"
import type { SlotShares } from "./SlotShares.ts"
import type { Unrecorded } from "./Unrecorded.ts"
import type { Workspace } from "./Workspace.ts"

/** Tuning.ts describes the constants. */
interface PrefetchParts {
  readonly slots: number
  readonly prefetchMs: number
  readonly mostUnrecorded: number
  readonly shares: Pick<SlotShares, "free" | "usesFew">
  readonly ready: Pick<Ready, "length">
  readonly unrecorded: Pick<Unrecorded, "count">
}

export class Prefetch {
  private readonly parts: PrefetchParts
  private most = 0
  private freed = 0
  private measuredAt = 0
  /** Free slots that no waiting delivery may take (SlotShares.ts). */
  private kept = 0

  constructor(parts: PrefetchParts) {
    this.parts = parts
  }

  get free(): number {
    return this.parts.shares.free - this.parts.ready.length
  }

  /** Number to load: free slots plus what is prefetched, capped by how many attempts may be unrecorded. */
  private get wanted(): number {
    return Math.min(this.free + this.most, this.parts.mostUnrecorded - this.parts.unrecorded.count)
  }

  /** Load again once less than half of what may be prefetched is there. */
  get isLow(): boolean {
    return this.wanted - this.kept > this.most / 2
  }

  /** How many may be picked now. */
  get mayPick(): number {
    return this.isLow ? this.wanted : 0
  }

  keep(slots: number): void {
    this.kept = slots
  }

  /** After each load: measures how fast slots become free. */
  measure(now: number): void {
    const { mostUnrecorded, prefetchMs, slots } = this.parts
    const passed = Math.max(1, now - this.measuredAt)
    // Never more than may be loaded at all: otherwise `isLow` would never become true.
    this.most = Math.min(2 * slots, mostUnrecorded, Math.floor((this.freed * prefetchMs) / passed))
    this.freed = 0
    this.measuredAt = now
  }

  isOld(now: number, afterMs: number): boolean {
    return now - this.measuredAt > afterMs
  }

  /** One of the workspace's slots is free again. */
  slotFree(workspace: Workspace<Lane>): void {
    this.freed++
    if (this.parts.shares.usesFew(workspace)) this.kept = 0
  }
}
