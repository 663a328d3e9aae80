/**
 * What waits, in memory: one lane per endpoint.
 *
 * - Memory is bounded whatever the backlog, and shared by the workspaces (Memory.ts): a lane that is full drops what it is
 *   given and is refilled from the database when it runs low (Backlog.ts); when the lanes of a workspace, or all together,
 *   hold too much, the longest lose their ends.
 * - A delivery is held from the moment it is read until its observation is recorded: Held.ts.
 * - Lanes of endpoints that are disabled or cannot be used are parked: nothing of them is in memory but the fact.
 * - Only rows of shards that are ours come in: a shard may have been given away, to an owner who sends its rows, while the
 *   statement ran.
 */
import type { LaneRef, Refill, Waiting } from "@posthorn/persistence/Queue"
import { Backlog } from "./Backlog.ts"
import { Held } from "./Held.ts"
import { BEGINNING, FIRST_CAP, Lane, type Row } from "./Lane.ts"
import { Memory } from "./Memory.ts"
import { Order } from "./Order.ts"
import { Reputations } from "./Reputations.ts"
import { RowOf } from "./Row.ts"
import type { Tenant } from "./Tenant.ts"
import { Tenure } from "./Tenure.ts"

export interface WaitingRoomOptions {
  readonly endpointConcurrency: number
  /** See Tuning.ts. */
  readonly maxWaiting: number
  readonly noisyFrom: number
}

export class WaitingRoom {
  protected readonly endpointConcurrency: number
  private readonly owned = new Map<number, Tenure>()
  protected readonly memory: Memory
  protected readonly lanes = new Map<string, Lane>()
  protected readonly held = new Held()
  protected readonly order = new Order()
  protected readonly backlog: Backlog
  private readonly parked = new Set<Lane>()
  private readonly reputations = new Reputations()

  constructor({ endpointConcurrency, maxWaiting, noisyFrom }: WaitingRoomOptions) {
    this.endpointConcurrency = endpointConcurrency
    this.memory = new Memory(maxWaiting)
    this.backlog = new Backlog(this.memory, noisyFrom)
  }

  /** The shards that are ours, by number, and each one's tenure. */
  get shards(): ReadonlyArray<number> {
    return [...this.owned.keys()]
  }

  get tenures(): ReadonlyArray<Tenure> {
    return [...this.owned.values()]
  }

  owns(shard: number): boolean {
    return this.owned.has(shard)
  }

  protected open(shard: number): void {
    this.owned.set(shard, new Tenure(shard))
  }

  protected close(shard: number): void {
    const tenure = this.owned.get(shard)
    if (tenure !== undefined) tenure.lost = true
    this.owned.delete(shard)
  }

  /** Deliveries of the shard that are in flight or not recorded yet. */
  heldOf(shard: number): number {
    let held = 0
    for (const lane of this.lanes.values()) if (lane.shard === shard) held += lane.held
    return held
  }

  /** Endpoints that something is held for. */
  get count(): number {
    return this.lanes.size
  }

  get waiting(): number {
    return this.memory.waiting
  }

  /** How many more rows memory has room for. */
  get room(): number {
    return this.memory.room
  }

  /** Say so before each read, and bring its rows with `add`, `refill` or `sweep`, then `readEnded`. */
  readStarted(): void {
    this.held.readStarted()
  }

  readEnded(): void {
    for (const row of this.held.readEnded()) this.unhold(row)
  }

  add(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) {
      const tenure = this.owned.get(row.shard)
      if (tenure !== undefined && !this.held.has(row.deliveryId)) this.place(row, tenure)
    }
    if (this.room > 0) return
    for (const { keep, tenant } of this.memory.equalShares()) this.trim(tenant, keep)
  }

  private place(waiting: Waiting, tenure: Tenure): void {
    const lane = this.laneOf(waiting)
    const { tenant } = lane
    if (!lane.parked && !lane.partial && !this.memory.hasRoom(tenant)) {
      const keep = this.memory.fairOf(tenant)
      if (keep < tenant.waiting) this.trim(tenant, keep)
    }
    const full = lane.waiting >= this.memory.limit(tenant) || !this.memory.hasRoom(tenant)
    if (lane.parked || lane.partial || full) {
      this.backlog.dropped(lane, waiting)
      return
    }
    this.held.add(waiting.deliveryId)
    lane.held++
    this.memory.change(tenant, 1)
    this.order.push(new RowOf(lane, tenure, waiting))
  }

  private laneOf(row: Waiting): Lane {
    const known = this.lanes.get(row.endpointId)
    if (known !== undefined) return known
    const tenant = this.memory.tenantOf(row.workspaceId)
    const lane = new Lane(row, tenant, Math.min(FIRST_CAP, this.endpointConcurrency))
    this.reputations.recall(lane)
    this.lanes.set(row.endpointId, lane)
    tenant.lanes.add(lane)
    tenant.members++
    return lane
  }

  /** Until the workspace keeps no more: the longest lanes lose their ends first. */
  private trim(tenant: Tenant<Lane>, keep: number): void {
    const each = Math.max(1, Math.floor(keep / tenant.lanes.size))
    for (const least of [each, 0]) {
      for (const lane of tenant.lanes) {
        while (tenant.waiting > keep && lane.waiting > least) {
          const last = lane.popLast()!
          lane.leaveOut(last)
          this.memory.change(tenant, -1)
          this.unhold(last)
        }
        this.backlog.watch(lane)
      }
      if (tenant.waiting <= keep) return
    }
  }

  /** The first due rows of endpoints: from there on all is read again, at once where that row is not in memory. */
  sweep(heads: ReadonlyArray<Waiting>): void {
    for (const row of heads) {
      if (!this.owned.has(row.shard)) continue
      const lane = this.laneOf(row)
      if (lane.parked) continue
      if (this.held.has(row.deliveryId)) this.backlog.readLater(lane, row)
      else this.backlog.readFrom(lane, row)
    }
  }

  /** Endpoints that a read should leave out, which goes back to `backTo` (infinity when it goes on). */
  skip(backTo: number): ReadonlyArray<string> {
    return this.backlog.skip(backTo)
  }

  get hasThin(): boolean {
    return this.backlog.hasThin
  }

  /** Lanes that run low while the database has more for them. */
  toRefill(most: number): ReadonlyArray<Refill> {
    return this.backlog.toRefill(most)
  }

  /** The answer to `toRefill`. */
  refill(refills: ReadonlyArray<Refill>, rows: ReadonlyArray<Waiting>): void {
    const answered = this.backlog.answered(refills, rows, this.lanes)
    for (const { lane, last } of answered) this.backlog.refilled(lane, last === null)
    this.add(rows)
    for (const { lane, last } of answered) {
      if (last !== null) lane.leaveOut(last)
      this.backlog.watch(lane)
      this.forgetIdle(lane)
    }
  }

  /** Its endpoint is disabled or unusable: keep nothing of it in memory but the fact. */
  park(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || lane.parked) return
    lane.parked = true
    lane.leaveOut(BEGINNING)
    lane.tenant.lanes.delete(lane)
    this.backlog.pause(lane)
    this.parked.add(lane)
    this.emptyLane(lane)
  }

  parkedLanes(): ReadonlyArray<LaneRef> {
    return [...this.parked].map(({ workspaceId, endpointId }) => ({ workspaceId, endpointId }))
  }

  /** It can be used again, or is gone: what the database has for it is read anew. */
  unpark(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || !lane.parked) return
    lane.parked = false
    lane.tenant.lanes.add(lane)
    lane.startAnew()
    this.parked.delete(lane)
    this.backlog.readFrom(lane, BEGINNING)
  }

  private emptyLane(lane: Lane): void {
    for (const row of this.order.empty(lane)) {
      this.memory.change(lane.tenant, -1)
      this.unhold(row)
    }
  }

  /** Nothing of the shard waits here any more. */
  protected empty(shard: number): void {
    for (const lane of [...this.lanes.values()]) {
      if (lane.shard !== shard) continue
      lane.partial = false
      lane.parked = false
      lane.tenant.lanes.add(lane)
      this.parked.delete(lane)
      this.backlog.forget(lane)
      this.emptyLane(lane)
      this.forgetIdle(lane)
    }
  }

  /** A later read may bring it again. */
  protected unhold(row: Row): void {
    if (!this.held.delete(row.deliveryId)) return
    row.lane.held--
    this.forgetIdle(row.lane)
  }

  protected forgetIdle(lane: Lane): void {
    if (!lane.idle || !this.lanes.delete(lane.endpointId)) return
    lane.tenant.lanes.delete(lane)
    lane.tenant.members--
    this.memory.forget(lane.tenant)
    this.backlog.forget(lane)
    this.reputations.remember(lane)
  }
}
