/**
 * The hub: holds this worker's shards, and the stage of each delivery in memory. Poller, Loader, Slots and Recorder are loops
 * that call it and never each other.
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
 * - loading: picked for a slot that is free, or will be in a moment (Prefetch.ts). From here on it holds one of its lane's
 *   permits; the lane's cap is their number (Lane.ts).
 * - loaded: ready for a slot (Ready.ts). Given back when it is stale, when its lane began to probe, or when its endpoint was
 *   disabled.
 * - sent: it occupies a slot (SlotShares.ts). It is given back when its endpoint's token has to be fetched first.
 * - settled: its slot is free. A failure keeps its permit until it is recorded. So nothing is started after the failure that
 *   disables the endpoint, except what was already in flight.
 * - recorded: its observation is stored, or this worker no longer needs the delivery. Until then it is held (Held.ts), so that
 *   reading it again never sends it again.
 *
 * Memory is bounded whatever the backlog, and shared by the workspaces (Memory.ts). A full lane drops new rows, and is refilled
 * from the database when it runs low (Backlog.ts). Of a disabled endpoint only that fact is in memory. From a lost shard
 * nothing more is sent, but attempts in flight are still recorded.
 *
 * Plain data without clock or I/O; timers are passed in. It is one worker's view, and lost with the worker. Source: spec §3.4,
 * ADR 10.
 */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import { isUncounted, type Observation } from "@posthorn/domain/Verdict"
import type { Claim, Content, DueRow, LaneRef, Refill, Starts } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { Signal } from "../internal/Signal.ts"
import type { TuningValues } from "../Tuning.ts"
import { Backlog } from "./Backlog.ts"
import { InDoubt } from "./InDoubt.ts"
import { BEGINNING, FIRST_CAP, Lane, type Pace, Waiting } from "./Lane.ts"
import { LeaseTerm } from "./LeaseTerm.ts"
import { Memory } from "./Memory.ts"
import { Order } from "./Order.ts"
import { Prefetch } from "./Prefetch.ts"
import { Ready } from "./Ready.ts"
import { RecentHealth } from "./RecentHealth.ts"
import { Rate } from "./SlidingWindow.ts"
import { reserveOf } from "./SlotShares.ts"
import type { Loaded, Sent, Settled, Unobserved } from "./Stages.ts"
import { Timers } from "./Timers.ts"
import { TrackedIds } from "./TrackedIds.ts"
import { Unrecorded } from "./Unrecorded.ts"
import type { Workspace } from "./Workspace.ts"

export interface DispatcherOptions extends TuningValues {
  readonly endpointConcurrency: number
  readonly slots: number
  readonly retryDelayMs: number
  /** Calls back after so many milliseconds. */
  readonly later: (milliseconds: number, run: () => void) => void
  /** Calls back at this moment, in monotonic milliseconds, or later. */
  readonly wakeAt: (moment: number, run: (now: number) => void) => void
  /** Tells the Poller that something may be due from this moment on. */
  readonly pollFrom: (moment: number) => void
}

/** A rate of which it must be read what was begun. */
export interface Unread {
  readonly lane: Lane
  readonly rate: Rate
  /** Attempts of this worker that were not recorded when it was asked. */
  readonly underWay: number
}

/** Read on from the cursors, without rewinding. */
const NOW = Number.POSITIVE_INFINITY

export class Dispatcher {
  /** Each wakes its loop. */
  readonly toLoad = new Signal()
  readonly toRecord = new Signal()
  /** May still be raised from a group that was written meanwhile. */
  readonly batchIsFull = new Signal()
  readonly toCount = new Signal()
  readonly givenUp = new Signal()
  /** Deliveries that are picked and whose attempt is not over. */
  inFlight = 0
  readonly later: DispatcherOptions["later"]
  private readonly options: DispatcherOptions
  private readonly pollFrom: DispatcherOptions["pollFrom"]
  private readonly reserve: number
  private readonly leases = new Map<number, LeaseTerm>()
  private readonly lanes = new Map<string, Lane>()
  private readonly parked = new Set<Lane>()
  private readonly held = new TrackedIds()
  private readonly order = new Order()
  private readonly recentHealth = new RecentHealth()
  private readonly inDoubt = new InDoubt()
  private readonly ready = new Ready()
  private readonly unrecorded = new Unrecorded()
  private readonly unobservedRows: Array<Unobserved> = []
  private readonly memory: Memory
  private readonly backlog: Backlog
  private readonly prefetch: Prefetch
  private readonly alarms: Timers

  constructor(options: DispatcherOptions) {
    this.options = options
    this.later = options.later
    this.pollFrom = options.pollFrom
    this.reserve = reserveOf(options.slots)
    this.memory = new Memory(options.maxWaiting)
    this.backlog = new Backlog(this.memory, options.oversizedFrom)
    this.prefetch = new Prefetch(options, this.ready, this.unrecorded)
    this.alarms = new Timers(options.wakeAt, (rate, now) => this.permitFree(rate, now))
  }

  // --- Shards

  /** The shard is this worker's now: see `Owner.taken`. */
  take(shard: number, inDoubtUntil: number | null): void {
    this.inDoubt.taken(shard, inDoubtUntil)
    this.leases.set(shard, new LeaseTerm(shard))
    this.recentHealth.forgetShard(shard)
    // Another owner may have begun attempts meanwhile.
    for (const lane of this.lanes.values()) if (lane.shard === shard) lane.rate = undefined
    this.pollFrom(NOW)
  }

  /** Nothing that a dead owner may have had in flight is left in the shard. */
  cleared(shard: number): void {
    this.inDoubt.taken(shard, null)
  }

  lose(shard: number): void {
    const term = this.leases.get(shard)
    if (term !== undefined) term.lost = true
    this.leases.delete(shard)
    this.pollFrom(NOW)
    this.giveBackReady(({ row }) => row.shard === shard)
    for (const lane of [...this.lanes.values()]) if (lane.shard === shard) this.forgetWaiting(lane)
    this.toLoad.notify()
  }

  private forgetWaiting(lane: Lane): void {
    lane.partial = false
    lane.parked = false
    lane.workspace.lanes.add(lane)
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

  /** How many more rows fit into memory. */
  get room(): number {
    return this.memory.room
  }

  /** A read of the queue begins; `add`, `refill` or `sweep` bring its rows. Deliveries recorded meanwhile stay held. */
  readStarted(): void {
    this.held.readStarted()
  }

  readEnded(): void {
    for (const row of this.held.readEnded()) this.unhold(row)
  }

  add(rows: ReadonlyArray<DueRow>): void {
    for (const row of rows) {
      // While the statement ran, the shard may have gone to another owner, who sends its rows.
      const term = this.leases.get(row.shard)
      if (term !== undefined && !this.held.has(row.deliveryId)) this.place(row, term)
    }
    if (this.room === 0)
      for (const { keep, workspace } of this.memory.equalShares()) this.trim(workspace, keep)
    if (rows.length > 0) this.wakeLoader()
  }

  private place(due: DueRow, term: LeaseTerm): void {
    const lane = this.laneOf(due)
    const { workspace } = lane
    if (!lane.parked && !lane.partial && !this.memory.hasRoom(workspace)) {
      const keep = this.memory.fairOf(workspace)
      if (keep < workspace.waiting) this.trim(workspace, keep)
    }
    const full =
      lane.partial || lane.waiting >= this.memory.limit(workspace) || !this.memory.hasRoom(workspace)
    if (lane.parked || (full && !due.atOnce)) {
      this.backlog.dropped(lane, due)
      return
    }
    this.held.add(due.deliveryId)
    lane.held++
    this.memory.change(workspace, 1)
    this.order.push(new Waiting(lane, term, due))
  }

  private laneOf(row: DueRow): Lane {
    const known = this.lanes.get(row.endpointId)
    if (known !== undefined) return known
    const workspace = this.memory.workspaceOf(row.workspaceId)
    const lane = new Lane(row, workspace, Math.min(FIRST_CAP, this.options.endpointConcurrency))
    this.recentHealth.recall(lane)
    this.lanes.set(row.endpointId, lane)
    workspace.lanes.add(lane)
    workspace.members++
    return lane
  }

  /** Drops rows from the ends of the longest lanes until the workspace has no more than `keep`. */
  private trim(workspace: Workspace<Lane>, keep: number): void {
    const each = Math.max(1, Math.floor(keep / workspace.lanes.size))
    for (const least of [each, 0]) {
      for (const lane of workspace.lanes) {
        while (workspace.waiting > keep && lane.waiting > least) {
          const last = lane.popLast()!
          lane.leaveOut(last)
          this.memory.change(workspace, -1)
          this.unhold(last)
        }
        this.backlog.watch(lane)
      }
      if (workspace.waiting <= keep) return
    }
  }

  /** The first due row of each endpoint. From there on the lane reads again: at once if that row is not in memory. */
  sweep(heads: ReadonlyArray<DueRow>): void {
    for (const row of heads) {
      if (!this.leases.has(row.shard)) continue
      const lane = this.laneOf(row)
      if (lane.parked) continue
      if (this.held.has(row.deliveryId)) this.backlog.readLater(lane, row)
      else this.backlog.readFrom(lane, row)
    }
  }

  /** Endpoints that a read should leave out. The read rewinds to `backTo` (infinity: it does not rewind). */
  skip(backTo: number): ReadonlyArray<string> {
    return this.backlog.skip(backTo)
  }

  /** Whether a lane runs low while the database has more for it, and there is room. */
  get needsRefill(): boolean {
    return this.room > 0 && this.backlog.needsRefill
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

  /** Parks the lane: its endpoint is disabled or unusable. */
  private park(lane: Lane): void {
    if (lane.parked) return
    lane.parked = true
    lane.leaveOut(BEGINNING)
    lane.workspace.lanes.delete(lane)
    this.backlog.pause(lane)
    this.parked.add(lane)
    this.emptyLane(lane)
  }

  get suspendedLanes(): ReadonlyArray<LaneRef> {
    return [...this.parked].map(({ endpointId, workspaceId }) => ({ workspaceId, endpointId }))
  }

  /** The endpoint can be used again, or is gone: its rows are read anew. */
  resume(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined || !lane.parked) return
    lane.parked = false
    lane.workspace.lanes.add(lane)
    lane.startAnew()
    this.parked.delete(lane)
    this.backlog.readFrom(lane, BEGINNING)
  }

  private emptyLane(lane: Lane): void {
    for (const row of this.order.empty(lane)) {
      this.memory.change(lane.workspace, -1)
      this.unhold(row)
    }
  }

  // --- Loading and loaded: by the Loader

  /** There may be deliveries to pick, and slots for them. */
  wakeLoader(): void {
    this.prefetch.keep(0)
    if (this.memory.waiting > 0) this.toLoad.notify()
  }

  /** The same when a slot is free. Waking the Loader for each post would cost more than the Loader's own work. */
  private slotFree(): void {
    if (this.memory.waiting > 0 && this.prefetch.isLow) this.toLoad.notify()
  }

  /** How many the Loader may pick now. */
  get mayPick(): number {
    return this.prefetch.isLow ? this.prefetch.wanted : 0
  }

  /** waiting → loading: picks up to `most`, in turn. */
  pick(most: number): ReadonlyArray<Waiting> {
    const { free } = this.prefetch
    const wasFull = this.room === 0
    const picked: Array<Waiting> = []
    while (picked.length < most) {
      const row = this.order.next(most - picked.length, this.reserve)
      if (row === undefined) break
      row.stage = "loading"
      this.memory.change(row.lane.workspace, -1)
      this.backlog.watch(row.lane)
      row.lane.workspace.inFlight++
      this.inFlight++
      picked.push(row)
    }
    this.prefetch.keep(this.order.refused ? most - picked.length : 0)
    if (picked.length > 0 && (wasFull || this.needsRefill)) this.pollFrom(NOW)
    // Claims of deliveries in doubt are counted on loading, so these are loaded only for slots that are free.
    if (picked.length <= free || !picked.some((row) => this.inDoubt.has(row))) return picked
    this.giveBack(picked.splice(Math.max(0, free)))
    return picked
  }

  /**
   * These rates hold from now on (null: none; undefined: the delivery is gone). Returns those of which it must be read what was
   * begun, before anything of them is `loaded`.
   */
  obey(
    rows: ReadonlyArray<Waiting>,
    limits: ReadonlyArray<RateLimit | null | undefined>
  ): ReadonlyArray<Unread> {
    const unread = new Map<Lane, Unread>()
    for (const [n, { lane }] of rows.entries()) {
      const limit = limits[n]
      if (limit === undefined) continue
      if (limit === null) this.unlimit(lane)
      else {
        const rate = lane.rate?.is(limit) ? lane.rate : new Rate(lane.endpointId, limit)
        lane.rate = rate
        rate.stale = false
        this.setAlarm(lane)
        if (!rate.isRead) unread.set(lane, { lane, rate, underWay: lane.underWay })
      }
    }
    return [...unread.values()]
  }

  private unlimit(lane: Lane): void {
    const was = lane.rate
    lane.rate = null
    if (was) this.order.offer(lane)
  }

  /** The answer for those that were unread, in their order. */
  remember(unread: ReadonlyArray<Unread>, begun: ReadonlyArray<Starts>, now: number): void {
    for (const [n, { lane, rate, underWay }] of unread.entries()) {
      rate.remember(begun[n]!, underWay, now)
      this.setAlarm(lane)
    }
  }

  /** A lane that waits for its rate goes on when a permit is free. */
  private setAlarm({ rate }: Lane): void {
    if (rate?.isSpent) this.alarms.set(rate, rate.opensAt)
  }

  private permitFree(rate: Rate, now: number): void {
    const lane = this.lanes.get(rate.endpointId)
    if (lane?.rate !== rate) return
    rate.expire(now)
    if (rate.isSpent) this.setAlarm(lane)
    else this.goOn(lane)
  }

  /** Policies may have been changed: of this workspace, or of any. Lanes that wait for their rate load again to learn it. */
  policiesChanged(workspaceId: string | null): void {
    for (const lane of this.lanes.values()) {
      if (!lane.rate || (workspaceId !== null && lane.workspaceId !== workspaceId)) continue
      lane.rate.stale = true
      this.order.offer(lane)
    }
    this.wakeLoader()
  }

  /** The result of loading. Null if it is not to be sent: it is gone, its shard is lost, its endpoint is disabled, or not now. */
  loaded(row: Waiting, content: Content | null, at: number): Loaded | null {
    const { lane } = row
    if (content === null) this.gone(row)
    else if (row.term.lost) this.handOver(row)
    else if (!content.endpoint.enabled) {
      this.park(lane)
      this.release(row)
    } else {
      if (lane.failures === null) this.countFailures(lane, content.failures)
      if (lane.maySend(row) && lane.takesPermit(row, at)) return { row, content, at }
      this.giveBack([row])
      this.setAlarm(lane)
    }
    return null
  }

  /** Claims that must be stored before these are sent, because a dead worker may have been sending them. */
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
    this.prefetch.measure(now)
  }

  /** Gives back deliveries whose slots did not become free in time, and shortens the look-ahead. */
  refresh(now: number): void {
    if (!this.prefetch.isOld(now, this.options.freshMs)) return
    this.giveBackReady((loaded) => this.isStale(loaded, now))
    this.prefetch.measure(now)
  }

  /** Whether loaded deliveries may become stale and block others. */
  get holdsLoaded(): boolean {
    return this.ready.length > 0
  }

  private isStale({ at }: Loaded, now: number): boolean {
    return now - at > this.options.freshMs
  }

  /**
   * loading, loaded → waiting: they are not sent after all; their order stays. Those of a lost shard or a parked lane →
   * recorded.
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
      this.memory.change(row.lane.workspace, 1)
      this.order.putBack(row)
    }
  }

  /** The same for those deliveries in Ready that `concerned` selects. */
  giveBackReady(concerned: (loaded: Loaded) => boolean): void {
    if (this.ready.length > 0) this.giveBack(this.ready.remove(concerned).map(({ row }) => row))
  }

  /**
   * loading, loaded → settled: their claims cannot be counted now. They are read again after a pause, and hold no permits
   * meanwhile.
   */
  putOff(rows: ReadonlyArray<Waiting>): void {
    if (rows.length === 0) return
    for (const row of rows) this.over(row, false)
    this.later(this.options.blockedPauseMs, () => this.readAgain(rows))
  }

  /** sent → settled: nothing was sent, so this is neither a failure nor a claim. It is read again after a pause. */
  noTurn({ row }: Sent): void {
    this.notBegun(row)
    this.putOff([row])
    this.slotFree()
  }

  /** sent → waiting: the receiver refused the token. It is sent again with another one; that is still the same attempt. */
  sendAgain({ row }: Sent): void {
    row.refused = true
    if (row.begunAt !== null) {
      // The rate has counted the first request. The next one takes a permit of its own.
      row.begunAt = null
      row.permit = null
      row.lane.underWay--
    }
    this.giveBack([row])
    this.wakeLoader()
  }

  /** sent → waiting: nothing was sent, because its token is being fetched. Until `proceed`, nothing of its lane is picked. */
  withhold({ row }: Sent): void {
    const { lane } = row
    lane.withheld = true
    this.giveBack([row])
    this.giveBackReady((loaded) => loaded.row.lane === lane)
    this.order.withheld(lane)
    this.wakeLoader()
  }

  /** The token was fetched, or failed to be. */
  proceed(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined) return
    lane.withheld = false
    this.goOn(lane)
  }

  /** It was deleted, or dead-lettered. */
  gone(row: Waiting): void {
    this.inDoubt.forget(row)
    this.release(row)
  }

  // --- Sent and settled: by the Slots

  /** How many are ready for a slot. */
  get readyCount(): number {
    return this.ready.length
  }

  /** loaded → sent: the next one that has a free slot. Those that may not be sent, or are stale, go back to waiting. */
  start(now: number, holdsLease: boolean): Sent | undefined {
    const stale: Array<Waiting> = []
    let next = this.ready.next(this.prefetch.shares.open)
    while (next !== undefined && !this.mayStart(next, now, holdsLease)) {
      stale.push(next.row)
      next = this.ready.next(this.prefetch.shares.open)
    }
    if (stale.length > 0) {
      this.giveBack(stale)
      this.slotFree()
    }
    if (next === undefined) return undefined
    next.row.stage = "sent"
    this.prefetch.shares.take(next.row.lane.workspace)
    return next
  }

  private mayStart(loaded: Loaded, now: number, holdsLease: boolean): boolean {
    const { lane, term } = loaded.row
    if (!holdsLease || term.lost || this.isStale(loaded, now) || !lane.maySend(loaded.row)) return false
    return lane.takesPermit(loaded.row, now)
  }

  /** Its attempt begins: what follows cannot be taken back. */
  begin({ row }: Sent, now: number): void {
    if (row.permit === null) return
    row.permit.begin(now)
    row.begunAt = now
    row.lane.underWay++
    this.setAlarm(row.lane)
  }

  /** Nothing was sent after all. */
  private notBegun(row: Waiting): void {
    if (row.begunAt === null) return
    row.permit!.undo(row.begunAt)
    row.begunAt = null
    row.permit = null
    row.lane.underWay--
  }

  /** sent → settled */
  settle({ content, row }: Sent, seen: Observation, observed: Observed, pace: Pace): void {
    const { lane } = row
    const delivered = observed.status === "delivered"
    if (delivered) lane.succeeded()
    else if (isUncounted(seen.failureReason)) this.pauseBefore(lane)
    else this.failed(row)
    lane.adjust(pace, this.options.endpointConcurrency)
    this.inDoubt.forget(row)
    this.over(row, !delivered)
    this.unrecorded.add({ row, seen, observed, traceId: content.traceId, aside: false })
    this.toRecord.notify()
    if (this.unrecorded.length === this.options.batchWanted) this.batchIsFull.notify()
    this.slotFree()
  }

  /** An attempt that was picked before its endpoint was mended says nothing about it: the next probe does not wait for it. */
  private failed({ lane, mends }: Waiting): void {
    if (mends === lane.mends) this.countFailures(lane, (lane.failures ?? 0) + 1)
  }

  /** `inARow` attempts were not delivered. */
  private countFailures(lane: Lane, inARow: number): void {
    lane.failed(inARow)
    this.pauseBefore(lane)
  }

  /** If the lane probes, it pauses before its next attempt. */
  private pauseBefore(lane: Lane): void {
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

  /** Its endpoint was enabled or changed, after `failures` attempts that were not delivered. The next probe is due at once. */
  endpointChanged(endpointId: string, failures: number, shard: number): void {
    if (!this.owns(shard)) return
    const lane = this.lanes.get(endpointId)
    if (lane === undefined) {
      this.recentHealth.endpointChanged(endpointId, failures, shard)
      return
    }
    lane.mended(failures)
    if (lane.rate) lane.rate.stale = true
    // Its credentials may have changed.
    lane.withheld = false
    this.goOn(lane)
  }

  /** sent → settled, without an observation: its claim is counted later. */
  unobserved({ row }: Sent, posted: boolean): void {
    if (row.stage !== "sent") return
    if (!posted) this.notBegun(row)
    this.over(row, true)
    this.countLater(row, posted)
  }

  /** The same, because its observation cannot be stored. */
  unrecordable(settled: Settled): void {
    this.unrecorded.leave(settled)
    this.countLater(settled.row, true)
  }

  private countLater(row: Waiting, posted: boolean): void {
    this.unobservedRows.push({ row, posted })
    this.toCount.notify()
    this.slotFree()
  }

  /** sent → recorded: its endpoint cannot be used, so the lane is parked. */
  unusable({ row }: Sent): void {
    this.notBegun(row)
    this.park(row.lane)
    this.release(row)
    this.wakeLoader()
  }

  private over(row: Waiting, keepsPermit: boolean): void {
    this.leave(row)
    row.stage = "settled"
    row.keepsPermit = keepsPermit || row.lane.heldUp || row.permit?.isSlow === true
    if (!row.keepsPermit) this.order.freePermit(row.lane)
  }

  // --- Recorded: by the Recorder and LostClaims

  get toBeRecorded(): number {
    return this.unrecorded.length
  }

  takeSettled(most: number): ReadonlyArray<Settled> {
    return this.unrecorded.take(most)
  }

  takeUnobserved(): ReadonlyArray<Unobserved> {
    return this.unobservedRows.splice(0)
  }

  /**
   * Their endpoints' rows are locked. Until they are recorded, deliveries in flight and unrecorded ones together stay within
   * the caps.
   */
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

  /** Its claim has been counted, so it is read again. */
  counted({ row }: Unobserved): void {
    this.inDoubt.forget(row)
    this.readAgain([row])
  }

  private readAgain(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) {
      this.forget(row)
      this.pollFrom(row.due)
    }
    this.wakeLoader()
  }

  /** A retry becomes due at this moment. */
  retriesAt(moment: number): void {
    this.pollFrom(moment)
  }

  /** These endpoints were disabled by their failures: nothing loaded for them may be sent. */
  disabled(endpointIds: ReadonlyArray<string>): void {
    this.giveBackReady(({ row }) => endpointIds.includes(row.endpointId))
  }

  /**
   * Not to be sent in this lease term: the shard's next owner reads it. If that is this worker again, its first read skipped
   * the row, because it was still held. So the Poller rewinds to it.
   */
  private handOver(row: Waiting): void {
    this.release(row)
    if (row.term.lost && this.owns(row.shard)) this.pollFrom(row.due)
  }

  /** A settled delivery that this worker no longer needs. A later read may bring it again. */
  private forget(row: Waiting): void {
    row.lane.heldUp = false
    if (row.keepsPermit) this.order.freePermit(row.lane)
    this.letGo(row)
  }

  /** The same for one that was not settled. */
  private release(row: Waiting): void {
    this.leave(row)
    this.order.freePermit(row.lane)
    this.letGo(row)
  }

  private letGo(row: Waiting): void {
    this.order.over(row)
    row.stage = "recorded"
    if (row.begunAt !== null) row.lane.underWay--
    if (this.held.recorded(row)) this.unhold(row)
  }

  /** It leaves loading, loaded or sent. */
  private leave(row: Waiting): void {
    this.inFlight--
    row.lane.workspace.inFlight--
    if (row.stage === "sent") this.prefetch.release(row.lane.workspace)
    if (row.begunAt !== null) return
    row.permit?.giveBack()
    row.permit = null
  }

  /** From now on a read may bring it again. */
  private unhold(row: Waiting): void {
    if (!this.held.delete(row.deliveryId)) return
    row.lane.held--
    this.forgetIdle(row.lane)
  }

  private forgetIdle(lane: Lane): void {
    if (!lane.idle || !this.lanes.delete(lane.endpointId)) return
    lane.workspace.lanes.delete(lane)
    lane.workspace.members--
    this.memory.forget(lane.workspace)
    this.backlog.forget(lane)
    this.recentHealth.remember(lane)
  }
}
