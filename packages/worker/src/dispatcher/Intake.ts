/**
 * Brings due rows into their lanes, and drops rows when memory is full, a shard is lost or an endpoint cannot be used. Dropped
 * rows are read again (Backlog.ts).
 */
import type { DueRow, Refill } from "@posthorn/persistence/engine/Queue"
import type { Backlog } from "./Backlog.ts"
import { BEGINNING, type Lane, type LaneKey, Waiting } from "./Lane.ts"
import type { Lanes } from "./Lanes.ts"
import type { Leases, LeaseTerm } from "./Leases.ts"
import type { Memory } from "./Memory.ts"
import type { Order } from "./Order.ts"
import type { TrackedIds } from "./TrackedIds.ts"
import type { Workspace } from "./Workspace.ts"

interface IntakeParts {
  readonly leases: Leases
  readonly lanes: Lanes
  readonly memory: Memory
  readonly backlog: Backlog
  readonly ids: TrackedIds
  readonly order: Order
  readonly drop: (row: Waiting) => void
  readonly added: () => void
}

export class Intake {
  private readonly parts: IntakeParts

  constructor(parts: IntakeParts) {
    this.parts = parts
  }

  add(rows: ReadonlyArray<DueRow>): void {
    const { added, ids, leases, memory } = this.parts
    for (const row of rows) {
      // While the statement ran, another owner may have taken the shard.
      const term = leases.termOf(row.shard)
      if (term !== undefined && !ids.has(row.deliveryId)) this.place(row, term)
    }
    if (memory.room === 0) for (const { keep, workspace } of memory.equalShares()) this.trim(workspace, keep)
    if (rows.length > 0) added()
  }

  private place(due: DueRow, term: LeaseTerm): void {
    const { backlog, ids, lanes, memory, order } = this.parts
    const lane = lanes.of(due)
    const { workspace } = lane
    if (!lane.partial && !memory.hasRoom(workspace)) {
      const keep = memory.fairOf(workspace)
      if (keep < workspace.waiting) this.trim(workspace, keep)
    }
    const full = lane.partial || lane.waiting >= memory.limit(workspace) || !memory.hasRoom(workspace)
    if (full && !due.atOnce) {
      backlog.dropped(lane, due)
      return
    }
    const row = new Waiting(lane, term, due)
    ids.add(row)
    memory.change(workspace, 1)
    order.push(row)
  }

  /** Drops rows from the ends of the longest lanes. */
  private trim(workspace: Workspace<Lane>, keep: number): void {
    const each = Math.max(1, Math.floor(keep / workspace.lanes.size))
    for (const least of [each, 0]) {
      for (const lane of workspace.lanes) {
        while (workspace.waiting > keep && lane.waiting > least) {
          const last = lane.popLast()!
          lane.leaveOut(last)
          this.parts.drop(last)
        }
        this.parts.backlog.watch(lane)
      }
      if (workspace.waiting <= keep) return
    }
  }

  /** If the first due row of an endpoint is not in memory, its lane reads on from it at once; otherwise once the lane runs low. */
  sweep(firsts: ReadonlyArray<DueRow>): void {
    const { backlog, ids, lanes, leases } = this.parts
    for (const row of firsts) {
      if (!leases.owns(row.shard)) continue
      const lane = lanes.of(row)
      if (ids.has(row.deliveryId)) backlog.readLater(lane, row)
      else backlog.readFrom(lane, row)
    }
  }

  refill(refills: ReadonlyArray<Refill>, rows: ReadonlyArray<DueRow>): void {
    const { backlog, lanes } = this.parts
    const answered = backlog.answered(refills, rows, lanes)
    for (const { lane, last } of answered) backlog.refilled(lane, last === null)
    this.add(rows)
    for (const { lane, last } of answered) {
      if (last !== null) lane.leaveOut(last)
      backlog.watch(lane)
      lanes.forgetIdle(lane)
    }
  }

  /** The endpoint was enabled, or has another secret or request profile. */
  usable(endpoint: LaneKey): void {
    const { backlog, lanes, leases } = this.parts
    if (leases.owns(endpoint.shard)) backlog.readFrom(lanes.of(endpoint), BEGINNING)
  }

  /** The lane's shard is lost, or its endpoint cannot be used: then `usable` or the sweep brings its rows again. */
  forget(lane: Lane): void {
    lane.partial = false
    this.parts.backlog.forget(lane)
    this.empty(lane)
    this.parts.lanes.forgetIdle(lane)
  }

  private empty(lane: Lane): void {
    for (const row of this.parts.order.empty(lane)) this.parts.drop(row)
  }
}
