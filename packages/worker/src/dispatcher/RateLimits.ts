/**
 * The rate limits of the lanes in memory: which limit holds, which delivery has a permit, and when a waiting lane goes on. A lane
 * whose limit is unknown loads to learn it. A lane that waits holds no slot and loads nothing. Source: spec §3.5,
 * docs/adr/0019-delivery-policy.md.
 */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Starts } from "@posthorn/persistence/engine/Queue"
import type { Lane, Waiting } from "./Lane.ts"
import type { Lanes } from "./Lanes.ts"
import { SlidingWindow } from "./SlidingWindow.ts"
import { Timers } from "./Timers.ts"

interface Unread {
  readonly lane: Lane
  readonly window: SlidingWindow
  /** Starts of this worker that were not recorded when the database was asked. */
  readonly unrecorded: number
}

interface RateLimitsOptions {
  readonly wakeAt: (moment: number, run: (now: number) => void) => void
  readonly lanes: Pick<Lanes, "get" | "values">
  readonly opened: (lane: Lane) => void
}

export class RateLimits {
  private readonly options: RateLimitsOptions
  private readonly timers: Timers

  constructor(options: RateLimitsOptions) {
    this.options = options
    this.timers = new Timers(options.wakeAt, (window, now) => this.permitFree(window, now))
  }

  /** Limits from now on (null: none; undefined: the delivery is gone). Returns those whose starts must be read first. */
  hold(
    rows: ReadonlyArray<Waiting>,
    limits: ReadonlyArray<RateLimit | null | undefined>
  ): ReadonlyArray<Unread> {
    const unread = new Map<Lane, Unread>()
    for (const [n, { lane }] of rows.entries()) {
      const limit = limits[n]
      if (limit === undefined) continue
      if (limit === null) {
        const was = lane.rateLimit
        lane.rateLimit = null
        if (was) this.options.opened(lane)
        continue
      }
      const window = lane.rateLimit?.is(limit) ? lane.rateLimit : new SlidingWindow(lane.endpointId, limit)
      lane.rateLimit = window
      window.stale = false
      this.watch(lane)
      if (!window.isRead) unread.set(lane, { lane, window, unrecorded: lane.unrecordedStarts })
    }
    return [...unread.values()]
  }

  read(unread: ReadonlyArray<Unread>, starts: ReadonlyArray<Starts>, now: number): void {
    for (const [n, { lane, unrecorded, window }] of unread.entries()) {
      window.remember(starts[n]!, unrecorded, now)
      this.watch(lane)
    }
  }

  /** The policy of this workspace has changed; null: of any. */
  policiesChanged(workspaceId: string | null): void {
    for (const lane of this.options.lanes.values()) {
      if (!lane.rateLimit || (workspaceId !== null && lane.workspaceId !== workspaceId)) continue
      this.stale(lane)
      this.options.opened(lane)
    }
  }

  stale(lane: Lane): void {
    if (lane.rateLimit) lane.rateLimit.stale = true
  }

  watch({ rateLimit }: Lane): void {
    if (rateLimit?.isSpent) this.timers.set(rateLimit, rateLimit.opensAt)
  }

  private permitFree(window: SlidingWindow, now: number): void {
    const lane = this.options.lanes.get(window.endpointId)
    if (lane?.rateLimit !== window) return
    window.expire(now)
    if (window.isSpent) this.watch(lane)
    else this.options.opened(lane)
  }

  start(row: Waiting, now: number): void {
    if (row.window === null) return
    row.window.start(now)
    row.startedAt = now
    row.lane.unrecordedStarts++
    this.watch(row.lane)
  }

  undo(row: Waiting): void {
    if (row.startedAt === null) return
    row.window!.undo(row.startedAt)
    this.forget(row)
  }

  /** The window has counted its start; its next request takes a permit of its own. */
  forget(row: Waiting): void {
    if (row.startedAt === null) return
    row.startedAt = null
    row.window = null
    row.lane.unrecordedStarts--
  }

  release(row: Waiting): void {
    if (row.startedAt !== null) return
    row.window?.release()
    row.window = null
  }
}
