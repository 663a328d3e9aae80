/**
 * What waits, in memory: one lane per endpoint, and the order in which deliveries get their slots.
 *
 * - The order: internal/Order.ts. An endpoint has at most its cap in flight: internal/Lane.ts.
 * - Memory is bounded whatever the backlog, and shared by the workspaces (internal/Memory.ts): a lane that is full drops what
 *   it is given and is refilled from the database when it runs low (internal/Backlog.ts); when the lanes of a workspace, or
 *   all together, hold too much, the longest lose their ends.
 * - A delivery is held from the moment it is read until its observation is recorded: internal/Held.ts.
 *
 * Plain data without clock or I/O; one worker's view, lost with it. Source: decision §7, docs/adr/0010-engine.md.
 */
import type { LaneRef, Refill, Waiting } from "@posthorn/persistence/Queue"
import { Backlog } from "./internal/Backlog.ts"
import { Held } from "./internal/Held.ts"
import { BEGINNING, FIRST_CAP, Lane, type Pace, type Rest } from "./internal/Lane.ts"
import { Memory } from "./internal/Memory.ts"
import { Order } from "./internal/Order.ts"
import { reserveOf } from "./internal/Places.ts"
import { Reputations } from "./internal/Reputations.ts"
import type { Tenant } from "./internal/Tenant.ts"
import { tuned } from "./Tuning.ts"

export interface LanesOptions {
  readonly endpointConcurrency: number
  /** How many slots there are: see internal/Places.ts. */
  readonly slots?: number
  /** Rows in memory that wait, over all lanes. About 200 bytes each. */
  readonly maxWaiting?: number
}

export class Lanes {
  private readonly endpointConcurrency: number
  private readonly reserve: number
  private readonly memory: Memory
  private readonly lanes = new Map<string, Lane>()
  private readonly held = new Held()
  private readonly order = new Order()
  private readonly backlog: Backlog
  private readonly parked = new Set<Lane>()
  private readonly reputations = new Reputations()
  inFlight = 0

  constructor({ endpointConcurrency, maxWaiting = tuned.maxWaiting, slots = 0 }: LanesOptions) {
    this.endpointConcurrency = endpointConcurrency
    this.reserve = reserveOf(slots)
    this.memory = new Memory(maxWaiting)
    this.backlog = new Backlog(this.memory)
  }

  get waiting(): number {
    return this.memory.waiting
  }

  /** How many more rows memory has room for. */
  get room(): number {
    return this.memory.room
  }

  /** Say so before each read, and bring its rows with `add` or `refill`, then `readEnded`. */
  readStarted(): void {
    this.held.readStarted()
  }

  readEnded(): void {
    for (const row of this.held.readEnded()) this.release(row)
  }

  add(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) if (!this.held.has(row.deliveryId)) this.place(row)
    if (this.room > 0) return
    for (const { keep, tenant } of this.memory.equalShares()) this.trim(tenant, keep)
  }

  private place(row: Waiting): void {
    const lane = this.laneOf(row)
    const { tenant } = lane
    if (!lane.parked && !lane.partial && !this.memory.hasRoom(tenant)) {
      const keep = this.memory.fairOf(tenant)
      if (keep < tenant.waiting) this.trim(tenant, keep)
    }
    const full = lane.waiting >= this.memory.limit(tenant) || !this.memory.hasRoom(tenant)
    if (lane.parked || lane.partial || full) {
      this.backlog.dropped(lane, row)
      return
    }
    this.held.add(row.deliveryId)
    lane.held++
    this.memory.change(tenant, 1)
    this.order.push(lane, row)
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
          this.unhold(last, lane)
        }
        this.backlog.watch(lane)
      }
      if (tenant.waiting <= keep) return
    }
  }

  /** The first due rows of endpoints: from there on all is read again, at once where that row is not in memory. */
  sweep(heads: ReadonlyArray<Waiting>): void {
    for (const row of heads) {
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
      if (lane.idle) this.forget(lane)
    }
  }

  /** Whether the last `pick` left slots free that nobody who waits may take. */
  get refused(): boolean {
    return this.order.refused
  }

  /** Up to `most` deliveries whose turn it is; each is in flight until `settle`. */
  pick(most: number): Array<Waiting> {
    const picked: Array<Waiting> = []
    while (picked.length < most) {
      const next = this.order.next(most - picked.length, this.reserve)
      if (next === undefined) break
      this.memory.change(next.lane.tenant, -1)
      this.backlog.watch(next.lane)
      next.lane.tenant.inFlight++
      this.inFlight++
      picked.push(next.row)
    }
    return picked
  }

  /** What came of an attempt; gives the pause that has to be over before the next one. Slot and place: see `settle`. */
  observed(row: Waiting, pace: Pace, delivered: boolean): Rest | null {
    const lane = this.lanes.get(row.endpointId)
    if (delivered) lane?.succeeded()
    else lane?.failed((lane.failures ?? 0) + 1)
    const rest = lane?.rest() ?? null
    this.settle(row, pace, delivered)
    return rest
  }

  /** How many attempts in a row failed as far as it was recorded: for a lane that has seen none itself. */
  learn(row: Waiting, failures: number): Rest | null {
    const lane = this.lanes.get(row.endpointId)
    if (lane === undefined || lane.failures !== null) return null
    lane.failed(failures)
    return lane.rest()
  }

  /** Whether it may still be sent: its lane may have become slow since it was picked. */
  maySend(row: Waiting): boolean {
    const lane = this.lanes.get(row.endpointId)
    return lane === undefined || !lane.slow || lane.turn === row.deliveryId
  }

  /** The pause is over. */
  rested({ endpointId, number }: Rest): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || !lane.rested(number)) return
    if (lane.idle) this.forget(lane)
    else this.order.offer(lane)
  }

  /**
   * The attempt is over and its slot free. It stays held until `recorded`. A failure keeps its place in its lane until
   * then as well: so nothing is started after the failure that disables the endpoint, but what was already in flight.
   */
  settle(row: Waiting, pace: Pace, delivered: boolean): void {
    this.inFlight--
    const tenant = this.memory.find(row.workspaceId)
    if (tenant !== null) tenant.inFlight--
    const lane = this.lanes.get(row.endpointId)
    if (lane === undefined) return
    lane.adjust(pace, this.endpointConcurrency)
    if (delivered && !lane.heldUp) this.order.leave(lane)
    else lane.failing.add(row.deliveryId)
  }

  /** Nothing of it can be recorded just now: until then, what is in flight or unrecorded stays within its cap. */
  holdUp(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane !== undefined) lane.heldUp = true
    this.order.heldUp(endpointId)
  }

  /** It was not sent after all: back to the front of its line. */
  giveBack(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    this.settle(row, "same", true)
    this.order.over(row)
    if (lane?.failing.delete(row.deliveryId) === true) this.order.leave(lane)
    if (lane === undefined || !this.held.has(row.deliveryId)) return
    if (lane.parked) {
      this.unhold(row, lane)
      return
    }
    this.memory.change(lane.tenant, 1)
    this.order.putBack(lane, row)
  }

  /** Its observation is stored, or it is gone: a later read may bring it again. */
  recorded(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    this.order.over(row)
    if (lane !== undefined) lane.heldUp = false
    if (lane?.failing.delete(row.deliveryId) === true) this.order.leave(lane)
    if (this.held.recorded(row)) this.release(row)
  }

  private release(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    if (lane !== undefined) this.unhold(row, lane)
    else this.held.delete(row.deliveryId)
  }

  private unhold(row: Waiting, lane: Lane): void {
    if (!this.held.delete(row.deliveryId)) return
    lane.held--
    if (lane.idle) this.forget(lane)
  }

  private forget(lane: Lane): void {
    this.lanes.delete(lane.endpointId)
    lane.tenant.lanes.delete(lane)
    lane.tenant.members--
    this.memory.forget(lane.tenant)
    this.backlog.forget(lane)
    this.reputations.remember(lane)
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
    this.empty(lane)
  }

  private empty(lane: Lane): void {
    for (const row of this.order.empty(lane)) {
      this.memory.change(lane.tenant, -1)
      this.unhold(row, lane)
    }
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

  /** The shard is another worker's now: forget what waits. What is in flight is still recorded. */
  dropShard(shard: number): void {
    for (const lane of [...this.lanes.values()]) {
      if (lane.shard !== shard) continue
      this.empty(lane)
      lane.partial = false
      lane.parked = false
      lane.tenant.lanes.add(lane)
      this.parked.delete(lane)
      this.backlog.forget(lane)
      if (lane.idle) this.forget(lane)
    }
  }

  /** Deliveries of the shard that are in flight or not recorded yet. */
  heldOf(shard: number): number {
    let held = 0
    for (const lane of this.lanes.values()) if (lane.shard === shard) held += lane.held
    return held
  }
}
