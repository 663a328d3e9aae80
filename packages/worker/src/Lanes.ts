/**
 * What waits, in memory: one lane per endpoint, and the order in which deliveries get their slots.
 *
 * - First attempts go before retries, but each eighth slot is offered to a retry first, so that none waits for ever.
 * - Workspaces take turns, and within one its endpoints; an endpoint has at most its cap in flight (Lane.ts).
 * - Memory is bounded whatever the backlog: a lane that is full drops what it is given and is refilled from the
 *   database when it runs low; when all lanes together hold too much, the longest lose their ends.
 * - A delivery is held from the moment it is read until its observation is recorded, so that reading it again, which
 *   costs the database nothing, never sends it again.
 * - A delivery that was taken up twice without a trace goes alone: at most one of those is in flight.
 *
 * Plain data without clock or I/O; one worker's view, lost with it. Source: decision §7, docs/adr/0010-engine.md.
 */
import type { LaneRef, Waiting } from "@posthorn/persistence/Queue"
import { Fifo } from "./internal/Fifo.ts"
import { FIRST_CAP, Lane, type Pace } from "./internal/Lane.ts"
import { Turns } from "./internal/Turns.ts"

export interface LanesOptions {
  readonly endpointConcurrency: number
  /** Rows in memory that wait, over all lanes. About 250 bytes each. */
  readonly maxWaiting?: number
}

const MAX_WAITING = 20_000
const LANE_MOST = 1_000
const LANE_LEAST = 8
/** After this many dropped rows, reads leave the endpoint out. */
const NOISY = 200
/** Endpoints that a read leaves out at most: the list travels with each statement. */
const SKIP_MOST = 64
/** Caps remembered of lanes that are gone. */
const CAPS_MOST = 10_000
const RETRY_TURN = 8
/** From this many take-ups on, a delivery goes alone. */
const ALONE_FROM = 2

export class Lanes {
  private readonly options: LanesOptions
  private readonly lanes = new Map<string, Lane>()
  private readonly held = new Set<string>()
  private readonly firsts = new Turns<Lane>()
  private readonly retries = new Turns<Lane>()
  private readonly alone = new Fifo<Waiting>()
  private readonly thin = new Set<Lane>()
  private readonly noisy = new Set<Lane>()
  private readonly parked = new Set<Lane>()
  private readonly slowCaps = new Map<string, number>()
  private aloneInFlight: string | null = null
  private turn = 0
  /** Recorded while a read was under way: its answer may still show them. */
  private reading = false
  private recordedMeanwhile: Array<Waiting> = []
  waiting = 0
  inFlight = 0

  constructor(options: LanesOptions) {
    this.options = options
  }

  /** How many more rows memory has room for. */
  get room(): number {
    return Math.max(0, (this.options.maxWaiting ?? MAX_WAITING) - this.waiting)
  }

  get heldCount(): number {
    return this.held.size
  }

  holds(deliveryId: string): boolean {
    return this.held.has(deliveryId)
  }

  /** Say so before each read, and bring its rows with `add` or `refill`, then `readEnded`. */
  readStarted(): void {
    this.reading = true
  }

  readEnded(): void {
    this.reading = false
    for (const row of this.recordedMeanwhile.splice(0)) this.release(row)
  }

  add(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) if (!this.held.has(row.deliveryId)) this.place(row)
    if (this.room === 0) this.trim()
  }

  private place(row: Waiting): void {
    const lane = this.laneOf(row)
    if (lane.parked || lane.partial || lane.waiting >= this.laneLimit) {
      this.overflow(lane)
      return
    }
    this.held.add(row.deliveryId)
    lane.held++
    this.waiting++
    if (row.takeUps >= ALONE_FROM) this.alone.push(row)
    else lane.lineOf(row).push(row)
    this.offer(lane)
  }

  private overflow(lane: Lane): void {
    lane.partial = true
    if (++lane.dropped >= NOISY) this.noisy.add(lane)
    this.watch(lane)
  }

  private laneOf(row: Waiting): Lane {
    const known = this.lanes.get(row.endpointId)
    if (known !== undefined) return known
    const cap = Math.min(this.slowCaps.get(row.endpointId) ?? FIRST_CAP, this.options.endpointConcurrency)
    const lane = new Lane(row, cap)
    this.lanes.set(row.endpointId, lane)
    return lane
  }

  private get laneLimit(): number {
    const share = Math.floor((this.options.maxWaiting ?? MAX_WAITING) / Math.max(1, this.lanes.size))
    return Math.min(LANE_MOST, Math.max(LANE_LEAST, share))
  }

  private trim(): void {
    const limit = this.laneLimit
    for (const lane of this.lanes.values()) {
      while (lane.waiting > limit) {
        this.unhold(lane.popLast()!, lane)
        this.waiting--
        lane.partial = true
      }
    }
  }

  private offer(lane: Lane): void {
    if (!lane.open) return
    if (lane.fresh.length > 0) this.firsts.offer(lane)
    if (lane.again.length > 0) this.retries.offer(lane)
  }

  private watch(lane: Lane): void {
    if (lane.partial && !lane.parked && lane.waiting < this.laneLimit / 4) this.thin.add(lane)
  }

  /** Up to `most` deliveries whose turn it is; each is in flight until `settle`. */
  pick(most: number): Array<Waiting> {
    const picked: Array<Waiting> = []
    while (picked.length < most) {
      const row = this.pickAlone() ?? this.pickOne()
      if (row === undefined) break
      this.waiting--
      this.inFlight++
      picked.push(row)
    }
    return picked
  }

  private pickAlone(): Waiting | undefined {
    if (this.aloneInFlight !== null || this.alone.length === 0) return undefined
    const row = this.alone.shift()!
    this.aloneInFlight = row.deliveryId
    this.lanes.get(row.endpointId)!.inFlight++
    return row
  }

  private pickOne(): Waiting | undefined {
    this.turn = (this.turn + 1) % RETRY_TURN
    return this.turn === 0
      ? (this.pickFrom(this.retries, "again") ?? this.pickFrom(this.firsts, "fresh"))
      : (this.pickFrom(this.firsts, "fresh") ?? this.pickFrom(this.retries, "again"))
  }

  private pickFrom(turns: Turns<Lane>, line: "fresh" | "again"): Waiting | undefined {
    for (let lane = turns.next(); lane !== undefined; lane = turns.next()) {
      if (!lane.open) continue
      const row = lane[line].shift()
      if (row === undefined) continue
      lane.inFlight++
      this.offer(lane)
      this.watch(lane)
      return row
    }
    return undefined
  }

  /**
   * The attempt is over and its slot free. It stays held until `recorded`. A failure keeps its place in its lane until
   * then as well: so nothing is started after the failure that disables the endpoint, but what was already in flight.
   */
  settle(row: Waiting, pace: Pace, delivered: boolean): void {
    this.inFlight--
    if (this.aloneInFlight === row.deliveryId) this.aloneInFlight = null
    const lane = this.lanes.get(row.endpointId)
    if (lane === undefined) return
    lane.adjust(pace, this.options.endpointConcurrency)
    if (delivered) this.leave(lane)
    else lane.failing.add(row.deliveryId)
  }

  private leave(lane: Lane): void {
    lane.inFlight--
    this.offer(lane)
  }

  /** It was not sent after all: back to the front of its line. */
  giveBack(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    this.settle(row, "same", true)
    if (lane === undefined || !this.held.has(row.deliveryId)) return
    if (lane.parked) {
      this.unhold(row, lane)
      return
    }
    this.waiting++
    if (row.takeUps >= ALONE_FROM) this.alone.push(row)
    else lane.lineOf(row).unshift(row)
    this.offer(lane)
  }

  /** Its observation is stored, or it is gone: a later read may bring it again. */
  recorded(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    if (lane?.failing.delete(row.deliveryId) === true) this.leave(lane)
    if (this.reading) this.recordedMeanwhile.push(row)
    else this.release(row)
  }

  private release(row: Waiting): void {
    const lane = this.lanes.get(row.endpointId)
    if (lane === undefined) this.held.delete(row.deliveryId)
    else this.unhold(row, lane)
  }

  private unhold(row: Waiting, lane: Lane): void {
    if (!this.held.delete(row.deliveryId)) return
    lane.held--
    if (lane.idle) this.forget(lane)
  }

  private forget(lane: Lane): void {
    this.lanes.delete(lane.endpointId)
    this.thin.delete(lane)
    this.noisy.delete(lane)
    this.slowCaps.delete(lane.endpointId)
    if (lane.cap >= FIRST_CAP) return
    this.slowCaps.set(lane.endpointId, lane.cap)
    if (this.slowCaps.size > CAPS_MOST) this.slowCaps.delete(this.slowCaps.keys().next().value!)
  }

  /** Endpoints that a read should leave out: full or parked, with much behind them. */
  skip(): Array<string> {
    const ids: Array<string> = []
    for (const lane of this.noisy) {
      if (ids.push(lane.endpointId) === SKIP_MOST) break
    }
    return ids
  }

  /** Lanes that run low while the database has more for them, and how many rows to ask for. */
  toRefill(most: number): Array<LaneRef & { readonly wanted: number }> {
    const refs: Array<LaneRef & { readonly wanted: number }> = []
    for (const lane of this.thin) {
      refs.push({
        workspaceId: lane.workspaceId,
        endpointId: lane.endpointId,
        wanted: this.laneLimit + lane.held
      })
      if (refs.length === most) break
    }
    return refs
  }

  /** The answer to `toRefill`. */
  refill(refs: ReadonlyArray<LaneRef & { readonly wanted: number }>, rows: ReadonlyArray<Waiting>): void {
    const found = new Map<string, number>()
    for (const row of rows) found.set(row.endpointId, (found.get(row.endpointId) ?? 0) + 1)
    for (const { endpointId, wanted } of refs) {
      const lane = this.lanes.get(endpointId)
      if (lane === undefined) continue
      this.thin.delete(lane)
      lane.partial = lane.parked
      if ((found.get(endpointId) ?? 0) < wanted && !lane.parked) {
        lane.dropped = 0
        this.noisy.delete(lane)
      }
    }
    this.add(rows)
    for (const { endpointId, wanted } of refs) {
      const lane = this.lanes.get(endpointId)
      if (lane === undefined) continue
      if ((found.get(endpointId) ?? 0) >= wanted) lane.partial = true
      this.watch(lane)
      if (lane.idle) this.forget(lane)
    }
  }

  get hasThin(): boolean {
    return this.thin.size > 0
  }

  /** Its endpoint is disabled or unusable: keep nothing of it in memory but the fact. */
  park(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || lane.parked) return
    lane.parked = true
    lane.partial = true
    this.thin.delete(lane)
    this.parked.add(lane)
    this.empty(lane)
  }

  private empty(lane: Lane): void {
    for (let row = lane.popLast(); row !== undefined; row = lane.popLast()) {
      this.waiting--
      this.unhold(row, lane)
    }
    for (const row of this.alone.toArray()) if (row.endpointId === lane.endpointId) this.dropAlone(row, lane)
  }

  private dropAlone(row: Waiting, lane: Lane): void {
    const rest = this.alone.toArray().filter((other) => other !== row)
    this.alone.clear()
    for (const other of rest) this.alone.push(other)
    this.waiting--
    this.unhold(row, lane)
  }

  parkedLanes(): Array<LaneRef> {
    return [...this.parked].map(({ workspaceId, endpointId }) => ({ workspaceId, endpointId }))
  }

  /** It can be used again, or is gone: what the database has for it is read anew. */
  unpark(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || !lane.parked) return
    lane.parked = false
    this.parked.delete(lane)
    this.thin.add(lane)
  }

  /** The shard is another worker's now: forget what waits. What is in flight is still recorded. */
  dropShard(shard: number): void {
    for (const lane of [...this.lanes.values()]) {
      if (lane.shard !== shard) continue
      this.empty(lane)
      lane.partial = false
      lane.parked = false
      this.parked.delete(lane)
      this.thin.delete(lane)
      this.noisy.delete(lane)
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
