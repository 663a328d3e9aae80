/**
 * Which lanes have more in the database than in memory, and what to do about it: refill those that run low, and leave
 * those out of reads that are full with much behind them, so that a million rows of one endpoint are passed once.
 */
import type { LaneRef, Waiting } from "@posthorn/persistence/Queue"
import type { Lane } from "./Lane.ts"

const LANE_MOST = 1_000
const LANE_LEAST = 8
/** After this many dropped rows, reads leave the endpoint out. */
const NOISY = 200
/** Endpoints that a read leaves out at most: the list travels with each statement. */
const SKIP_MOST = 64

export interface Refill extends LaneRef {
  /** Rows to ask for: those already in memory come again. */
  readonly wanted: number
}

export class Backlog {
  private readonly thin = new Set<Lane>()
  private readonly noisy = new Set<Lane>()

  /** How many rows one lane may hold when `lanes` share the memory. */
  static limit(maxWaiting: number, lanes: number): number {
    return Math.min(LANE_MOST, Math.max(LANE_LEAST, Math.floor(maxWaiting / Math.max(1, lanes))))
  }

  get hasThin(): boolean {
    return this.thin.size > 0
  }

  /** A row of the lane was read and not kept. */
  dropped(lane: Lane, limit: number): void {
    lane.partial = true
    if (++lane.dropped >= NOISY) this.noisy.add(lane)
    this.watch(lane, limit)
  }

  /** Notes a lane that runs low. */
  watch(lane: Lane, limit: number): void {
    if (lane.partial && !lane.parked && lane.waiting < limit / 4) this.thin.add(lane)
  }

  /** All of the lane has to be read anew. */
  readAnew(lane: Lane): void {
    this.thin.add(lane)
  }

  toRefill(most: number, limit: number): Array<Refill> {
    const refills: Array<Refill> = []
    for (const lane of this.thin) {
      refills.push({ workspaceId: lane.workspaceId, endpointId: lane.endpointId, wanted: limit + lane.held })
      if (refills.length === most) break
    }
    return refills
  }

  /** Which of the asked lanes there still are, and whether all that is due of them has come. */
  answered(
    refills: ReadonlyArray<Refill>,
    rows: ReadonlyArray<Waiting>,
    lanes: ReadonlyMap<string, Lane>
  ): ReadonlyArray<{ readonly lane: Lane; readonly whole: boolean }> {
    const found = new Map<string, number>()
    for (const row of rows) found.set(row.endpointId, (found.get(row.endpointId) ?? 0) + 1)
    return refills.flatMap(({ endpointId, wanted }) => {
      const lane = lanes.get(endpointId)
      return lane === undefined ? [] : [{ lane, whole: (found.get(endpointId) ?? 0) < wanted }]
    })
  }

  /** The lane is being refilled; `whole` when everything there is has come. */
  refilled(lane: Lane, whole: boolean): void {
    this.thin.delete(lane)
    lane.partial = lane.parked
    if (!whole || lane.parked) return
    lane.dropped = 0
    this.noisy.delete(lane)
  }

  skip(): Array<string> {
    const ids: Array<string> = []
    for (const lane of this.noisy) if (ids.push(lane.endpointId) === SKIP_MOST) break
    return ids
  }

  pause(lane: Lane): void {
    this.thin.delete(lane)
  }

  forget(lane: Lane): void {
    this.thin.delete(lane)
    this.noisy.delete(lane)
  }
}
