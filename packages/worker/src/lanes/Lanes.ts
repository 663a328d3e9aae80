/**
 * The hub: which shards are this worker's, and how far each delivery in memory is. Poller, Loader, Slots and Recorder are
 * loops that speak to it and never to each other.
 *
 *    Poller                Loader                      Slots                     Recorder
 *   add │ refill       pick │    loaded, makeReady      │ start      settle        │ recorded
 *       ▼                   ▼         ▼                 ▼              ▼           ▼
 *    waiting ──────────► loading ──► loaded ──────────► sent ───────► settled ──► recorded
 *       ▲                   │         │                 │              │           ▲
 *       └──── giveBack ─────┴─────────┘                 └─ unobserved ─┴─ readAgain ┘
 *
 * - waiting: in its lane until it is its turn (Order.ts). When its shard is lost, its endpoint disabled, or memory full, it
 *   is dropped, and a later poll brings it again, here or at another worker.
 * - loading: picked for a slot that is free, or will be in a moment (LookAhead.ts). From here on it has a permit of its lane,
 *   of which there are as many as the lane's cap (Lane.ts).
 * - loaded: ready for a slot (Ready.ts). Given back when it is not fresh any more, when its lane began to probe, or when its
 *   endpoint was disabled.
 * - sent: it has a slot (SlotShares.ts).
 * - settled: its slot is free. A failure keeps its permit until it is recorded. So nothing is started after the failure that
 *   disables the endpoint, except what was already in flight.
 * - recorded: its observation is stored, or nobody here needs the delivery any more. Until then it is held, so that reading
 *   it again never sends it again.
 *
 * Memory is bounded whatever the backlog, and shared by the workspaces (Memory.ts). A full lane drops what it is given, and is
 * refilled from the database when it runs low (Backlog.ts). Nothing of a disabled endpoint is in memory but the fact.
 * Of a shard that is lost nothing more is sent; what is in flight is still recorded.
 *
 * Plain data: no clock, no I/O; timers are given to it. One worker's view, lost with it. Source: spec §3.4, ADR 10.
 */
import type { Claim, Content, DueRow, LaneRef, Refill } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { Wake } from "../internal/Wake.ts"
import type { TuningValues } from "../Tuning.ts"
import { Backlog } from "./Backlog.ts"
import { Held } from "./Held.ts"
import { InDoubt } from "./InDoubt.ts"
import { BEGINNING, FIRST_CAP, Lane, type Pace, Waiting } from "./Lane.ts"
import { LeaseTerm } from "./LeaseTerm.ts"
import { LookAhead } from "./LookAhead.ts"
import { Memory } from "./Memory.ts"
import { Order } from "./Order.ts"
import { Ready } from "./Ready.ts"
import { Reputations } from "./Reputations.ts"
import { reserveOf } from "./SlotShares.ts"
import type { Loaded, Sent, Settled, Unobserved } from "./Stages.ts"
import type { Tenant } from "./Tenant.ts"
import { Unrecorded } from "./Unrecorded.ts"

export interface LanesOptions extends TuningValues {
  readonly endpointConcurrency: number
  readonly slots: number
  readonly retryDelayMs: number
  /** Calls back in so many milliseconds. */
  readonly later: (milliseconds: number, run: () => void) => void
  /** Tells the Poller: there may be something due from this moment on. */
  readonly lookFrom: (moment: number) => void
}

/** Nothing behind: only look on. */
const NOW = Number.POSITIVE_INFINITY

export class Lanes {
  /** Each for its loop: there is something to do. */
  readonly toLoad = new Wake()
  readonly toRecord = new Wake()
  readonly toCount = new Wake()
  readonly givenUp = new Wake()
  /** Picked, and the attempt not over. */
  inFlight = 0
  readonly later: LanesOptions["later"]
  private readonly options: LanesOptions
  private readonly lookFrom: LanesOptions["lookFrom"]
  private readonly reserve: number
  private readonly leases = new Map<number, LeaseTerm>()
  private readonly lanes = new Map<string, Lane>()
  private readonly parked = new Set<Lane>()
  private readonly held = new Held()
  private readonly order = new Order()
  private readonly reputations = new Reputations()
  private readonly inDoubt = new InDoubt()
  private readonly ready = new Ready()
  private readonly unrecorded = new Unrecorded()
  private readonly unobservedRows: Array<Unobserved> = []
  private readonly memory: Memory
  private readonly backlog: Backlog
  private readonly lookAhead: LookAhead

  constructor(options: LanesOptions) {
    this.options = options
    this.later = options.later
    this.lookFrom = options.lookFrom
    this.reserve = reserveOf(options.slots)
    this.memory = new Memory(options.maxWaiting)
    this.backlog = new Backlog(this.memory, options.noisyFrom)
    this.lookAhead = new LookAhead(options, this.ready, this.unrecorded)
  }

  // --- Shards

  /** The shard is ours: see `Owner.taken`. */
  take(shard: number, inDoubtUntil: number | null): void {
    this.inDoubt.taken(shard, inDoubtUntil)
    this.leases.set(shard, new LeaseTerm(shard))
    this.reputations.forgetShard(shard)
    this.lookFrom(NOW)
  }

  /** Nothing is left in the shard of what an owner that died may have had in flight. */
  cleared(shard: number): void {
    this.inDoubt.taken(shard, null)
  }

  lose(shard: number): void {
    const term = this.leases.get(shard)
    if (term !== undefined) term.lost = true
    this.leases.delete(shard)
    this.lookFrom(NOW)
    this.giveBackReady(({ row }) => row.shard === shard)
    for (const lane of [...this.lanes.values()]) if (lane.shard === shard) this.forgetWaiting(lane)
    this.toLoad.raise()
  }

  private forgetWaiting(lane: Lane): void {
    lane.partial = false
    lane.parked = false
    lane.tenant.lanes.add(lane)
    this.parked.delete(lane)
    this.backlog.forget(lane)
    this.emptyLane(lane)
    this.forgetIdle(lane)
  }

  get terms(): ReadonlyArray<LeaseTerm> {
    return [...this.leases.values()]
  }

  owns(shard: number): boolean {
    return this.leases.has(shard)
  }

  /** Nothing of the shard is in flight, unrecorded, or in doubt. */
  isIdle(shard: number): boolean {
    return this.heldOf(shard) === 0 && !this.inDoubt.doubtsIn(shard)
  }

  /** Deliveries of the shard that are in flight or not recorded yet. */
  heldOf(shard: number): number {
    let held = 0
    for (const lane of this.lanes.values()) if (lane.shard === shard) held += lane.held
    return held
  }

  // --- Waiting: brought by the Poller

  get sizes() {
    const { inFlight, lanes, leases, memory, unrecorded } = this
    return {
      inFlight,
      unrecorded: unrecorded.all,
      waiting: memory.waiting,
      lanes: lanes.size,
      shards: leases.size
    }
  }

  /** How many more rows memory has room for. */
  get room(): number {
    return this.memory.room
  }

  /** Runs a read of the queue, whose rows come by `add`, `refill` or `sweep`. What is recorded meanwhile stays held. */
  readStarted(): void {
    this.held.readStarted()
  }

  readEnded(): void {
    for (const row of this.held.readEnded()) this.unhold(row)
  }

  add(rows: ReadonlyArray<DueRow>): void {
    for (const row of rows) {
      // The shard may have been given away, to an owner who sends its rows, while the statement ran.
      const term = this.leases.get(row.shard)
      if (term !== undefined && !this.held.has(row.deliveryId)) this.place(row, term)
    }
    if (this.room === 0) for (const { keep, tenant } of this.memory.equalShares()) this.trim(tenant, keep)
    if (rows.length > 0) this.wakeLoader()
  }

  private place(due: DueRow, term: LeaseTerm): void {
    const lane = this.laneOf(due)
    const { tenant } = lane
    if (!lane.parked && !lane.partial && !this.memory.hasRoom(tenant)) {
      const keep = this.memory.fairOf(tenant)
      if (keep < tenant.waiting) this.trim(tenant, keep)
    }
    const full = lane.partial || lane.waiting >= this.memory.limit(tenant) || !this.memory.hasRoom(tenant)
    if (lane.parked || (full && !due.atOnce)) {
      this.backlog.dropped(lane, due)
      return
    }
    this.held.add(due.deliveryId)
    lane.held++
    this.memory.change(tenant, 1)
    this.order.push(new Waiting(lane, term, due))
  }

  private laneOf(row: DueRow): Lane {
    const known = this.lanes.get(row.endpointId)
    if (known !== undefined) return known
    const tenant = this.memory.tenantOf(row.workspaceId)
    const lane = new Lane(row, tenant, Math.min(FIRST_CAP, this.options.endpointConcurrency))
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
  sweep(heads: ReadonlyArray<DueRow>): void {
    for (const row of heads) {
      if (!this.leases.has(row.shard)) continue
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

  /** Whether a lane runs low while the database has more for it, and there is room. */
  get hasThin(): boolean {
    return this.room > 0 && this.backlog.hasThin
  }

  toRefill(most: number): ReadonlyArray<Refill> {
    return this.backlog.toRefill(most)
  }

  /** The answer to `toRefill`. */
  refill(refills: ReadonlyArray<Refill>, rows: ReadonlyArray<DueRow>): void {
    const answered = this.backlog.answered(refills, rows, this.lanes)
    for (const { lane, last } of answered) this.backlog.refilled(lane, last === null)
    this.add(rows)
    for (const { lane, last } of answered) {
      if (last !== null) lane.leaveOut(last)
      this.backlog.watch(lane)
      this.forgetIdle(lane)
    }
  }

  /** Its endpoint is disabled or unusable. */
  private park(lane: Lane): void {
    if (lane.parked) return
    lane.parked = true
    lane.leaveOut(BEGINNING)
    lane.tenant.lanes.delete(lane)
    this.backlog.pause(lane)
    this.parked.add(lane)
    this.emptyLane(lane)
  }

  get parkedLanes(): ReadonlyArray<LaneRef> {
    return [...this.parked].map(({ endpointId, workspaceId }) => ({ workspaceId, endpointId }))
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

  // --- Loading and loaded: by the Loader

  /** There may be something to pick, and slots for it. */
  wakeLoader(): void {
    this.lookAhead.keep(0)
    this.toLoad.raise()
  }

  /** How many the Loader may pick now. */
  get mayPick(): number {
    return this.lookAhead.ripe ? this.lookAhead.wanted : 0
  }

  /** waiting → loading: up to `most` whose turn it is. */
  pick(most: number): ReadonlyArray<Waiting> {
    const { free } = this.lookAhead
    const wasFull = this.room === 0
    const picked: Array<Waiting> = []
    while (picked.length < most) {
      const row = this.order.next(most - picked.length, this.reserve)
      if (row === undefined) break
      row.stage = "loading"
      this.memory.change(row.lane.tenant, -1)
      this.backlog.watch(row.lane)
      row.lane.tenant.inFlight++
      this.inFlight++
      picked.push(row)
    }
    this.lookAhead.keep(this.order.refused ? most - picked.length : 0)
    if (picked.length > 0 && (wasFull || this.hasThin)) this.lookFrom(NOW)
    // Those in doubt are counted when they are loaded, so they are loaded only to be sent.
    if (picked.length <= free || !picked.some((row) => this.inDoubt.has(row))) return picked
    this.giveBack(picked.splice(Math.max(0, free)))
    return picked
  }

  /** What came of loading it. Null when it is not to be sent: gone, of a lost shard or a disabled endpoint, or not now. */
  loaded(row: Waiting, content: Content | null, at: number): Loaded | null {
    const { lane } = row
    if (content === null) this.gone(row)
    else if (row.term.lost) this.handOver(row)
    else if (!content.endpoint.enabled) {
      this.park(lane)
      this.release(row)
    } else {
      if (lane.failures === null) this.countFailures(lane, content.failures)
      if (lane.maySend(row)) return { row, content, at }
      this.giveBack([row])
    }
    return null
  }

  /** Claims that have to be written down before these are sent: a worker that died may have held them. */
  toClaim(loaded: ReadonlyArray<Loaded>): ReadonlyArray<Claim> {
    return this.inDoubt.toCount(loaded.map(({ row }) => row))
  }

  claimed(row: DueRow): void {
    this.inDoubt.written(row)
  }

  /** loaded → ready for a slot. */
  makeReady(loaded: ReadonlyArray<Loaded>): void {
    for (const one of loaded) {
      one.row.stage = "loaded"
      this.ready.push(one)
    }
  }

  /** Measures how fast slots become free, for the look-ahead. */
  measure(now: number): void {
    this.lookAhead.measure(now)
  }

  /** What was loaded for slots that did not become free is given back, and not so much is loaded ahead any more. */
  refresh(now: number): void {
    if (!this.lookAhead.isOld(now, this.options.freshMs)) return
    this.giveBackReady((loaded) => this.isStale(loaded, now))
    this.lookAhead.measure(now)
  }

  /** Whether something may become stale that stands in the way of others. */
  get holdsLoaded(): boolean {
    return this.lookAhead.isAhead || this.ready.length > 0
  }

  private isStale({ at }: Loaded, now: number): boolean {
    return now - at > this.options.freshMs
  }

  /**
   * loading, loaded → waiting: not sent after all, in the order in which they were picked. Those of a lost shard or of a
   * parked lane → recorded.
   */
  giveBack(rows: ReadonlyArray<Waiting>): void {
    for (let n = rows.length - 1; n >= 0; n--) {
      const row = rows[n]!
      if (row.term.lost || row.lane.parked) {
        this.handOver(row)
        continue
      }
      this.leave(row)
      this.order.over(row)
      this.order.freePermit(row.lane)
      row.stage = "waiting"
      this.memory.change(row.lane.tenant, 1)
      this.order.putBack(row)
    }
  }

  /** The same for what is ready: of an endpoint that was disabled, of a shard that was lost, what is stale, or all. */
  giveBackReady(concerned: (loaded: Loaded) => boolean): void {
    if (this.ready.length > 0) this.giveBack(this.ready.remove(concerned).map(({ row }) => row))
  }

  /** loading, loaded → settled: their claims cannot be counted now. Their permits are free meanwhile. */
  putOff(rows: ReadonlyArray<Waiting>): void {
    if (rows.length === 0) return
    for (const row of rows) this.over(row, false)
    this.later(this.options.heldPauseMs, () => this.readAgain(rows))
  }

  /** sent → settled: nothing was sent, and it is neither a failure nor a claim. It is read again in a moment. */
  noTurn({ row }: Sent): void {
    this.putOff([row])
    if (this.lookAhead.ripe) this.toLoad.raise()
  }

  /** It is nowhere any more, or among the dead letters. */
  gone(row: Waiting): void {
    this.inDoubt.forget(row)
    this.release(row)
  }

  // --- Sent and settled: by the Slots

  get hasReady(): boolean {
    return this.ready.length > 0
  }

  /** loaded → sent: the next one that a slot is free for. What may not be sent, or was loaded too long ago, waits again. */
  start(now: number, holdsLease: boolean): Sent | undefined {
    const stale: Array<Waiting> = []
    let next = this.ready.next(this.lookAhead.shares.open)
    while (next !== undefined && !this.mayStart(next, now, holdsLease)) {
      stale.push(next.row)
      next = this.ready.next(this.lookAhead.shares.open)
    }
    if (stale.length > 0) this.giveBack(stale)
    if (next === undefined) return undefined
    next.row.stage = "sent"
    this.lookAhead.shares.take(next.row.lane.tenant)
    return next
  }

  private mayStart(loaded: Loaded, now: number, holdsLease: boolean): boolean {
    const { lane, term } = loaded.row
    return holdsLease && !term.lost && !this.isStale(loaded, now) && lane.maySend(loaded.row)
  }

  /** sent → settled */
  settle({ content, row }: Sent, observed: Observed, pace: Pace): void {
    const { lane } = row
    const delivered = observed.status === "delivered"
    if (delivered) lane.succeeded()
    else this.failed(row)
    lane.adjust(pace, this.options.endpointConcurrency)
    this.inDoubt.forget(row)
    this.over(row, !delivered)
    this.unrecorded.add({ row, observed, traceId: content.traceId, aside: false })
    this.toRecord.raise()
    // Waking the Loader for each post would cost more than what it does.
    if (this.lookAhead.ripe) this.toLoad.raise()
  }

  /** An attempt that was picked before its endpoint was mended says nothing about it: the next probe does not wait for it. */
  private failed({ lane, mends }: Waiting): void {
    if (mends === lane.mends) this.countFailures(lane, (lane.failures ?? 0) + 1)
  }

  /** So many attempts in a row were not delivered: a lane that probes pauses, and this timer wakes it. */
  private countFailures(lane: Lane, inARow: number): void {
    lane.failed(inARow)
    const pause = lane.pause()
    if (pause === null) return
    this.later(pause.units * this.options.retryDelayMs, () => {
      if (this.lanes.get(lane.endpointId) === lane && lane.endPause(pause.number)) this.goOn(lane)
    })
  }

  private goOn(lane: Lane): void {
    this.forgetIdle(lane)
    this.order.offer(lane)
    this.wakeLoader()
  }

  /** Its endpoint was enabled or changed, after so many attempts in a row that were not delivered: the next probe is due at once. */
  mended(endpointId: string, failures: number, shard: number): void {
    if (!this.owns(shard)) return
    const lane = this.lanes.get(endpointId)
    if (lane === undefined) {
      this.reputations.mended(endpointId, failures, shard)
      return
    }
    lane.mended(failures)
    this.goOn(lane)
  }

  /** sent → settled, without an observation: its claim is counted. */
  unobserved({ row }: Sent, posted: boolean): void {
    if (row.stage !== "sent") return
    this.over(row, true)
    this.countLater(row, posted)
  }

  /** The same when none can be stored. */
  unrecordable(settled: Settled): void {
    this.unrecorded.leave(settled)
    this.countLater(settled.row, true)
  }

  private countLater(row: Waiting, posted: boolean): void {
    this.unobservedRows.push({ row, posted })
    this.toCount.raise()
    if (this.lookAhead.ripe) this.toLoad.raise()
  }

  /** sent → recorded: nothing is sent to its endpoint until that can be used again. */
  unusable({ row }: Sent): void {
    this.park(row.lane)
    this.release(row)
    this.wakeLoader()
  }

  private over(row: Waiting, keepsPermit: boolean): void {
    this.leave(row)
    row.stage = "settled"
    row.keepsPermit = keepsPermit || row.lane.heldUp
    if (!row.keepsPermit) this.order.freePermit(row.lane)
  }

  // --- Recorded: by the Recorder, and by what counts claims

  get toBeRecorded(): number {
    return this.unrecorded.length
  }

  takeSettled(most: number): ReadonlyArray<Settled> {
    return this.unrecorded.take(most)
  }

  takeUnobserved(): ReadonlyArray<Unobserved> {
    return this.unobservedRows.splice(0)
  }

  /** Nothing of their endpoints can be recorded just now: until then, what is in flight or unrecorded stays within the caps. */
  setAside(settled: ReadonlyArray<Settled>): void {
    for (const one of settled) {
      this.unrecorded.setAside(one)
      one.row.lane.heldUp = true
      this.order.heldUp(one.row.lane)
    }
    this.wakeLoader()
  }

  /** settled → recorded */
  recorded(settled: Settled): void {
    this.unrecorded.leave(settled)
    this.forget(settled.row)
  }

  /** The claim that ended without an observation. */
  claimOf({ row }: Unobserved): Claim {
    return this.inDoubt.ended(row)
  }

  /** Its claim is counted: it is read again. */
  counted({ row }: Unobserved): void {
    this.inDoubt.forget(row)
    this.readAgain([row])
  }

  private readAgain(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) {
      this.forget(row)
      this.lookFrom(row.due)
    }
    this.wakeLoader()
  }

  /** A retry is due then. */
  retriesAt(moment: number): void {
    this.lookFrom(moment)
  }

  /** Their failures have disabled these endpoints: what is loaded for them may not be sent. */
  disabled(endpointIds: ReadonlyArray<string>): void {
    this.giveBackReady(({ row }) => endpointIds.includes(row.endpointId))
  }

  /**
   * Not to be sent in this term of the shard: whoever has the shard next reads it. If this worker has it again, its first
   * read left this row out because it was still held. So the Poller goes back to it.
   */
  private handOver(row: Waiting): void {
    this.release(row)
    if (row.term.lost && this.owns(row.shard)) this.lookFrom(row.due)
  }

  /** Settled, and not needed here any more. A later read may bring it again. */
  private forget(row: Waiting): void {
    row.lane.heldUp = false
    if (row.keepsPermit) this.order.freePermit(row.lane)
    this.letGo(row)
  }

  /** The same before it was settled. */
  private release(row: Waiting): void {
    this.leave(row)
    this.order.freePermit(row.lane)
    this.letGo(row)
  }

  private letGo(row: Waiting): void {
    this.order.over(row)
    row.stage = "recorded"
    if (this.held.recorded(row)) this.unhold(row)
  }

  /** It is not loading, loaded or sent any more. */
  private leave(row: Waiting): void {
    this.inFlight--
    row.lane.tenant.inFlight--
    if (row.stage === "sent") this.lookAhead.release(row.lane.tenant)
  }

  /** A later read may bring it again. */
  private unhold(row: Waiting): void {
    if (!this.held.delete(row.deliveryId)) return
    row.lane.held--
    this.forgetIdle(row.lane)
  }

  private forgetIdle(lane: Lane): void {
    if (!lane.idle || !this.lanes.delete(lane.endpointId)) return
    lane.tenant.lanes.delete(lane)
    lane.tenant.members--
    this.memory.forget(lane.tenant)
    this.backlog.forget(lane)
    this.reputations.remember(lane)
  }
}
