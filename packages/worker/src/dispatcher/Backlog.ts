/**
 * Tracks the lanes that have more rows in the database than in memory. Lanes that run low are refilled, workspaces in turn.
 * Full lanes with much behind them are left out of reads, so that a million rows of one endpoint are read past only once.
 */
import type { DueRow, Refill } from "@posthorn/persistence/engine/Queue"
import type { Lane, Position } from "./Lane.ts"
import type { Memory } from "./Memory.ts"
import type { Workspace } from "./Workspace.ts"

/** Most endpoints that a read leaves out: the list is sent with each statement. */
const SKIP_MOST = 64
/** Most rows of one refill, over all its lanes. */
const ROWS_MOST = 4_000

export class Backlog {
  private readonly memory: Memory
  /** Workspaces with lanes that run low. */
  private readonly starved = new Set<Workspace<Lane>>()
  private readonly oversized = new Set<Lane>()
  /** After this many dropped rows, reads leave the endpoint out. */
  private readonly oversizedFrom: number

  constructor(memory: Memory, oversizedFrom: number) {
    this.memory = memory
    this.oversizedFrom = oversizedFrom
  }

  /** Whether a lane can be refilled now. */
  get needsRefill(): boolean {
    for (const workspace of this.starved) if (this.memory.hasRoom(workspace)) return true
    return false
  }

  /** A row of the lane was read and dropped. */
  dropped(lane: Lane, row: DueRow): void {
    lane.leaveOut(row)
    if (++lane.dropped >= this.oversizedFrom) this.oversized.add(lane)
    this.watch(lane)
  }

  /** Notes a lane that runs low. */
  watch(lane: Lane): void {
    if (lane.partial && !lane.suspended && lane.waiting < this.memory.limit(lane.workspace) / 4)
      this.wants(lane)
  }

  /** Everything of the lane from this position on must be read. */
  readFrom(lane: Lane, from: Position): void {
    lane.leaveOut(from)
    this.wants(lane)
  }

  /** The same, but only when the lane runs low. */
  readLater(lane: Lane, from: Position): void {
    lane.leaveOut(from)
    this.watch(lane)
  }

  private wants(lane: Lane): void {
    lane.workspace.needRefill.add(lane)
    this.starved.add(lane.workspace)
  }

  toRefill(most: number): ReadonlyArray<Refill> {
    const lanes = this.inTurn(most)
    const each = Math.ceil(ROWS_MOST / lanes.length)
    return lanes.map(({ endpointId, from, workspace, waiting, workspaceId }) => {
      const wanted = Math.min(each, Math.max(1, this.memory.limit(workspace) - waiting))
      // One more than there is room for: the first row may already be in memory, as it marks where the lane stopped.
      return { workspaceId, endpointId, ...from, wanted: wanted + 1 }
    })
  }

  private inTurn(most: number): ReadonlyArray<Lane> {
    const lanes: Array<Lane> = []
    const workspaces = [...this.starved].filter((workspace) => this.memory.hasRoom(workspace))
    let lines = workspaces.map(({ needRefill }) => needRefill.values())
    while (lines.length > 0 && lanes.length < most) {
      lines = lines.filter((line) => {
        const next = line.next()
        if (next.done !== true && lanes.length < most) lanes.push(next.value)
        return next.done !== true
      })
    }
    // A workspace that was served goes to the end.
    for (const { workspace } of lanes) if (this.starved.delete(workspace)) this.starved.add(workspace)
    return lanes
  }

  /**
   * Those of the requested lanes that still exist, each with the last row of its answer; null when everything due has been
   * read.
   */
  answered(
    refills: ReadonlyArray<Refill>,
    rows: ReadonlyArray<DueRow>,
    lanes: { readonly get: (endpointId: string) => Lane | undefined }
  ): ReadonlyArray<{ readonly lane: Lane; readonly last: DueRow | null }> {
    // The rows of an endpoint come by due time, so its last one is where the answer stops.
    const found = new Map<string, { count: number; last: DueRow }>()
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

  /** The lane was refilled; `whole`: everything that is due has been read. */
  refilled(lane: Lane, whole: boolean): void {
    this.pause(lane)
    if (lane.suspended) return
    lane.partial = false
    if (!whole) return
    lane.dropped = 0
    this.oversized.delete(lane)
  }

  /**
   * Endpoints to leave out of a read. A read that rewinds to `backTo` does so to find rows committed late. So the lanes it
   * leaves out rewind as well; otherwise such a row would wait until its lane has been read to the end.
   */
  skip(backTo: number): Array<string> {
    const ids: Array<string> = []
    for (const lane of this.oversized) {
      if (backTo < lane.from.due) {
        lane.leaveOut({ due: backTo, deliveryId: "" })
        this.watch(lane)
      }
      if (ids.push(lane.endpointId) === SKIP_MOST) break
    }
    return ids
  }

  pause(lane: Lane): void {
    const { workspace } = lane
    if (workspace.needRefill.delete(lane) && workspace.needRefill.size === 0) this.starved.delete(workspace)
  }

  forget(lane: Lane): void {
    this.pause(lane)
    this.oversized.delete(lane)
  }
}
