/**
 * How many deliveries to load: for free slots, and for slots that will be free in a moment, judged since the last load. While
 * receivers are slow, nothing is prefetched.
 */
import type { Lane } from "./Lane.ts"
import type { Ready } from "./Ready.ts"
import type { SlotShares } from "./SlotShares.ts"
import type { Unrecorded } from "./Unrecorded.ts"
import type { Workspace } from "./Workspace.ts"

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
  private kept = 0

  constructor(parts: PrefetchParts) {
    this.parts = parts
  }

  get free(): number {
    return this.parts.shares.free - this.parts.ready.length
  }

  private get wanted(): number {
    return Math.min(this.free + this.most, this.parts.mostUnrecorded - this.parts.unrecorded.count)
  }

  get isLow(): boolean {
    return this.wanted - this.kept > this.most / 2
  }

  get mayPick(): number {
    return this.isLow ? this.wanted : 0
  }

  keep(slots: number): void {
    this.kept = slots
  }

  measure(now: number): void {
    const { mostUnrecorded, prefetchMs, slots } = this.parts
    const passed = Math.max(1, now - this.measuredAt)
    // Never more than may be loaded: otherwise `isLow` would never become true.
    this.most = Math.min(2 * slots, mostUnrecorded, Math.floor((this.freed * prefetchMs) / passed))
    this.freed = 0
    this.measuredAt = now
  }

  isOld(now: number, afterMs: number): boolean {
    return now - this.measuredAt > afterMs
  }

  slotFree(workspace: Workspace<Lane>): void {
    this.freed++
    if (this.parts.shares.usesFew(workspace)) this.kept = 0
  }
}
