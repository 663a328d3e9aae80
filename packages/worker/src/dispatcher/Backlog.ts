/** Tracks lanes with more rows in the database than in memory. Reads leave out full lanes with many more rows. */
import type { DatabaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow, Refill } from "@posthorn/persistence/engine/Queue"
import type { Lane, Position } from "./Lane.ts"
import type { Memory } from "./Memory.ts"
import type { Workspace } from "./Workspace.ts"

/** Each `due` statement carries the list. */
const SKIP_MOST = 64
const ROWS_MOST = 4_000

export class Backlog {
  private readonly memory: Memory
  private readonly starved = new Set<Workspace<Lane>>()
  private readonly oversized = new Set<Lane>()
  private readonly oversizedFrom: number

  constructor(memory: Memory, oversizedFrom: number) {
    this.memory = memory
    this.oversizedFrom = oversizedFrom
  }

  get needsRefill(): boolean {
    for (const workspace of this.starved) if (this.memory.hasRoom(workspace)) return true
    return false
  }

  dropped(lane: Lane, row: DueRow): void {
    lane.leaveOut(row)
    if (++lane.dropped >= this.oversizedFrom) this.oversized.add(lane)
    this.watch(lane)
  }

  watch(lane: Lane): void {
    if (lane.partial && lane.waiting < this.memory.limit(lane.workspace) / 4) this.wants(lane)
  }

  readFrom(lane: Lane, from: Position): void {
    lane.leaveOut(from)
    this.wants(lane)
  }

  /** Like `readFrom`, once the lane runs low. */
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
      // The first row marks where the lane stopped, and may be in memory: so one more than there is room for.
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
    for (const { workspace } of lanes) if (this.starved.delete(workspace)) this.starved.add(workspace)
    return lanes
  }

  /** The requested lanes that still exist, each with the last row of its answer; null when everything due has been read. */
  answered(
    refills: ReadonlyArray<Refill>,
    rows: ReadonlyArray<DueRow>,
    lanes: { readonly get: (endpointId: string) => Lane | undefined }
  ): ReadonlyArray<{ readonly lane: Lane; readonly last: DueRow | null }> {
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

  refilled(lane: Lane, whole: boolean): void {
    this.pause(lane)
    lane.partial = false
    if (!whole) return
    lane.dropped = 0
    this.oversized.delete(lane)
  }

  /** Endpoints to leave out of a read. A read that rewinds looks for late commits, so their lanes rewind as well. */
  skip(backTo: DatabaseMicros): Array<string> {
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
