/**
 * Who may take one of the worker's slots.
 *
 * By workspace: a workspace leaves twice as many slots free as it uses, up to a quarter of all, or a tenth for quick endpoints.
 * By slowness: a quarter of all slots is never given to slow requests. Slow is a request that has lasted `LONG_MS`, the next
 * request of its endpoint, and a request of an untried endpoint while its workspace has a slow request in flight.
 *
 * Plain data: moments are passed in, in monotonic milliseconds.
 */
import type { Lane, Waiting } from "./Lane.ts"

export const LONG_MS = 1_000

const LEFT_FOR_EACH = 2

export class SlotShares {
  private readonly all: number
  private readonly tenth: number
  private readonly quarter: number
  private taken = 0
  private slow = 0
  /** When requests began that are not slow yet, in that order. */
  private readonly young = new Map<Waiting, number>()

  constructor(all: number) {
    this.all = all
    this.tenth = Math.floor(all / 10)
    this.quarter = Math.floor(all / 4)
  }

  get free(): number {
    return this.all - this.taken
  }

  mayPick(lane: Lane, free: number): boolean {
    if (isSlow(lane) && this.slow >= this.all - this.quarter) return false
    return free > this.leaves(lane, lane.workspace.inFlight)
  }

  readonly mayStart = ({ isSlow, lane }: Waiting): boolean => {
    if (isSlow && this.slow > this.all - this.quarter) return false
    return this.free > this.leaves(lane, lane.workspace.sending)
  }

  private leaves(lane: Lane, uses: number): number {
    return Math.min(lane.isSlow === false ? this.tenth : this.quarter, LEFT_FOR_EACH * uses)
  }

  /** True if the workspace uses so few slots that it may have one more although others may not. */
  usesFew({ sending }: Lane["workspace"]): boolean {
    return LEFT_FOR_EACH * sending < this.quarter
  }

  picked(row: Waiting): void {
    if (isSlow(row.lane)) this.addSlow(row)
  }

  left(row: Waiting): void {
    if (!row.isSlow) return
    row.isSlow = false
    this.slow--
    row.lane.workspace.slow--
  }

  take(row: Waiting, now: number): void {
    this.taken++
    row.lane.workspace.sending++
    if (!row.isSlow) this.young.set(row, now)
  }

  release(row: Waiting): void {
    this.taken--
    row.lane.workspace.sending--
    this.young.delete(row)
  }

  notice(now: number): void {
    for (const [row, since] of this.young) {
      if (now - since < LONG_MS) return
      this.young.delete(row)
      row.lane.isSlow = true
      this.addSlow(row)
    }
  }

  private addSlow(row: Waiting): void {
    row.isSlow = true
    this.slow++
    row.lane.workspace.slow++
  }
}

const isSlow = ({ isSlow, workspace }: Lane): boolean => isSlow ?? workspace.slow > 0
