/**
 * Which lanes have more in the database than in memory, and what to do about it: refill those that run low, and leave
 * those out of reads that are full with much behind them, so that a million rows of one endpoint are passed once.
 */
import type { Refill, Waiting } from "@posthorn/persistence/Queue"
import { BEGINNING, type Lane } from "./Lane.ts"

const LANE_MOST = 1_000
const LANE_LEAST = 8
/** After this many dropped rows, reads leave the endpoint out. */
const NOISY = 200
/** Endpoints that a read leaves out at most: the list travels with each statement. */
const SKIP_MOST = 64

export class Backlog {
  private readonly thin = new Set<Lane>()
  private readonly noisy = new Set<Lane>()

  /** How many rows one lane may hold when `lanes` share half of the memory; the other half is for whoever comes next. */
  static limit(maxWaiting: number, lanes: number): number {
    return Math.min(LANE_MOST, Math.max(LANE_LEAST, Math.floor(maxWaiting / 2 / Math.max(1, lanes))))
  }

  get hasThin(): boolean {
    return this.thin.size > 0
  }

  /** A row of the lane was read and not kept. */
  dropped(lane: Lane, row: Waiting, limit: number): void {
    lane.leaveOut(row)
    if (++lane.dropped >= NOISY) this.noisy.add(lane)
    this.watch(lane, limit)
  }

  /** Notes a lane that runs low. */
  watch(lane: Lane, limit: number): void {
    if (lane.partial && !lane.parked && lane.waiting < limit / 4) this.thin.add(lane)
  }

  /** All of the lane has to be read anew. */
  readAnew(lane: Lane): void {
    lane.leaveOut(BEGINNING)
    this.thin.add(lane)
  }

  toRefill(most: number, limit: number): Array<Refill> {
    const refills: Array<Refill> = []
    for (const lane of this.thin) {
      const { endpointId, from, waiting, workspaceId } = lane
      // One more than there is room for, since the first may be there: it tells where the lane stopped.
      refills.push({ workspaceId, endpointId, ...from, wanted: Math.max(1, limit - waiting) + 1 })
      if (refills.length === most) break
    }
    return refills
  }

  /** Which of the asked lanes there still are, and where the answer stops; null when all that is due of them has come. */
  answered(
    refills: ReadonlyArray<Refill>,
    rows: ReadonlyArray<Waiting>,
    lanes: ReadonlyMap<string, Lane>
  ): ReadonlyArray<{ readonly lane: Lane; readonly last: Waiting | null }> {
    // The rows of an endpoint come by due time, so its last one is where the answer stops.
    const found = new Map<string, { count: number; last: Waiting }>()
    for (const row of rows)
      found.set(row.endpointId, { count: (found.get(row.endpointId)?.count ?? 0) + 1, last: row })
    return refills.flatMap(({ endpointId, wanted }) => {
      const lane = lanes.get(endpointId)
      const answer = found.get(endpointId)
      return lane === undefined
        ? []
        : [{ lane, last: answer !== undefined && answer.count >= wanted ? answer.last : null }]
    })
  }

  /** The lane is being refilled; `whole` when everything there is has come. */
  refilled(lane: Lane, whole: boolean): void {
    this.thin.delete(lane)
    if (lane.parked) return
    lane.partial = false
    if (!whole) return
    lane.dropped = 0
    this.noisy.delete(lane)
  }

  /**
   * What is left out of a read. When the read goes back, to `backTo`, it would have shown what came there since: so those
   * lanes go back as well, or a row that was committed late would wait until its lane has been read to its end.
   */
  skip(backTo: number, limit: number): Array<string> {
    const ids: Array<string> = []
    for (const lane of this.noisy) {
      if (backTo < lane.from.due) {
        lane.leaveOut({ due: backTo, deliveryId: "" })
        this.watch(lane, limit)
      }
      if (ids.push(lane.endpointId) === SKIP_MOST) break
    }
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
