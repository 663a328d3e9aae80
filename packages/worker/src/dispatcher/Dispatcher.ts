/**
 * The stage of each delivery in this worker's memory (Stages.ts). Poller, Loader, Slots and Recorder are loops that call it.
 *
 * Guarantees: a delivery is in one stage. Nothing more of a lost shard is sent, but attempts in flight are recorded. After a
 * failure nothing of the endpoint starts until the failure is recorded, because recording may disable the endpoint.
 *
 * Plain data without clock or I/O; timers are passed in. Source: spec §3.4, ADR 10.
 */
import { isUncounted, type Observation } from "@posthorn/domain/Verdict"
import type { DatabaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Content, Found } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { Signal } from "../internal/Signal.ts"
import type { TuningValues } from "../Tuning.ts"
import { Backlog } from "./Backlog.ts"
import { Circuits } from "./Circuits.ts"
import type { Loaded, Sent, Settled, Unobserved } from "./Dispatched.ts"
import { InDoubt } from "./InDoubt.ts"
import { Intake } from "./Intake.ts"
import type { Lane, Pace, Waiting } from "./Lane.ts"
import { Lanes } from "./Lanes.ts"
import { LargePayloads } from "./LargePayloads.ts"
import { Leases } from "./Leases.ts"
import { Memory } from "./Memory.ts"
import { Order } from "./Order.ts"
import { Prefetch } from "./Prefetch.ts"
import { RateLimits } from "./RateLimits.ts"
import { Ready } from "./Ready.ts"
import { LONG_MS, SlotShares } from "./SlotShares.ts"
import { HOLDS, type Reason, type Stage } from "./Stages.ts"
import { TrackedIds } from "./TrackedIds.ts"
import { Unrecorded } from "./Unrecorded.ts"

export interface DispatcherOptions extends TuningValues {
  readonly endpointConcurrency: number
  readonly slots: number
  readonly retryDelayMs: number
  readonly later: (milliseconds: number, run: () => void) => void
  /** In monotonic milliseconds. */
  readonly wakeAt: (moment: number, run: (now: number) => void) => void
  readonly pollFrom: (moment: DatabaseMicros) => void
  /** The Poller reads on from its cursors. */
  readonly pollOn: () => void
}

export class Dispatcher {
  readonly toLoad = new Signal()
  readonly toRead = new Signal()
  readonly toRecord = new Signal()
  readonly batchIsFull = new Signal()
  readonly toCount = new Signal()
  readonly givenUp = new Signal()
  inFlight = 0
  readonly leases = new Leases()
  readonly inDoubt = new InDoubt()
  readonly unrecorded = new Unrecorded()
  readonly ready = new Ready()
  readonly largePayloads = new LargePayloads()
  readonly memory: Memory
  readonly backlog: Backlog
  readonly lanes: Lanes
  readonly ids: TrackedIds
  readonly intake: Intake
  readonly prefetch: Prefetch
  readonly rateLimits: RateLimits
  private readonly options: DispatcherOptions
  private readonly shares: SlotShares
  private readonly order = new Order()
  private readonly circuits: Circuits
  private readonly unobservedRows: Array<Unobserved> = []

  constructor(options: DispatcherOptions) {
    this.options = options
    this.memory = new Memory(options.maxWaiting)
    this.backlog = new Backlog(this.memory, options.oversizedFrom)
    const lanes = new Lanes(this.memory, this.backlog, options.endpointConcurrency)
    this.lanes = lanes
    this.ids = new TrackedIds(lanes.forgetIdle)
    this.shares = new SlotShares(options.slots)
    const { backlog, ids, leases, memory, order, ready, shares, unrecorded } = this
    this.prefetch = new Prefetch({ ...options, shares, ready, unrecorded })
    const reopen = (lane: Lane) => this.reopen(lane)
    this.rateLimits = new RateLimits({ wakeAt: options.wakeAt, lanes, opened: reopen })
    this.circuits = new Circuits({
      retryDelayMs: options.retryDelayMs,
      later: options.later,
      isCurrent: (lane) => lanes.get(lane.endpointId) === lane,
      halfOpen: reopen
    })
    this.intake = new Intake({
      ...{ backlog, ids, lanes, leases, memory, order },
      drop: (row) => this.move(row, "out", "drop"),
      added: () => this.notifyLoader()
    })
  }

  /**
   * Moves a delivery, and frees what the new stage does not hold. For some reasons a settled delivery frees its lane permit early.
   */
  private move(row: Waiting, to: Stage, why: Reason): void {
    const { workspace } = row.lane
    const [had, has] = [HOLDS[row.stage], HOLDS[to]]
    row.stage = to
    if (had.memory !== has.memory) this.memory.change(workspace, has.memory ? 1 : -1)
    if (had.inFlight !== has.inFlight) {
      const by = has.inFlight ? 1 : -1
      this.inFlight += by
      workspace.inFlight += by
      if (has.inFlight) this.shares.picked(row)
      else this.shares.left(row)
    }
    if (had.slot && !has.slot) {
      this.shares.release(row)
      this.prefetch.slotFree(workspace)
    }
    if (had.startPermit && !has.startPermit) this.rateLimits.release(row)
    if (had.turn && !has.turn) this.order.quarantine.endTurn(row)
    if (row.hasLanePermit && !(has.lanePermit && this.keepsLanePermit(row, why)))
      this.order.freeLanePermit(row)
    if (why === "requeue") this.order.putBack(row)
    if (to !== "out") return
    this.rateLimits.forget(row)
    if (why === "drop") this.ids.remove(row)
    else this.ids.removeAfterReading(row)
    if (why === "revoke" && this.leases.owns(row.shard)) this.options.pollFrom(row.due)
  }

  private keepsLanePermit({ lane, startedAt, window }: Waiting, why: Reason): boolean {
    const isFreeEarly = why === "delivered" || why === "postpone"
    return !isFreeEarly || lane.awaitsRecord || (startedAt !== null && window!.isLow)
  }

  // --- Shards

  /** See `Owner.taken`. */
  take(shard: number, inDoubtUntil: number | null): void {
    this.inDoubt.taken(shard, inDoubtUntil)
    this.leases.take(shard)
    this.lanes.recentHealth.forgetShard(shard)
    // Another owner may have started attempts.
    for (const lane of this.lanes.ofShard(shard)) lane.rateLimit = undefined
    this.options.pollOn()
  }

  lose(shard: number): void {
    this.leases.lose(shard)
    this.options.pollOn()
    this.requeueReady(({ row }) => row.shard === shard)
    for (const lane of this.lanes.ofShard(shard)) {
      lane.isHeldBack = false
      this.intake.forget(lane)
    }
    this.toLoad.notify()
  }

  /** No other worker has owned the shard since it was lost. */
  retake(shard: number): void {
    this.take(shard, this.inDoubt.until(shard))
  }

  /**
   * Starts nothing more for endpoints of the shard that are slow or have a locked row. True while one has an attempt in flight
   * or unrecorded.
   */
  holdBack(shard: number, now: number): boolean {
    this.shares.notice(now)
    let isBusy = false
    for (const lane of this.lanes.ofShard(shard)) {
      if (lane.isSlow !== true && !lane.awaitsRecord) continue
      lane.isHeldBack = true
      isBusy ||= lane.permitsTaken > 0
    }
    return isBusy
  }

  get sizes() {
    return {
      inFlight: this.inFlight,
      unrecorded: this.unrecorded.all,
      waiting: this.memory.waiting,
      lanes: this.lanes.size,
      shards: this.leases.size
    }
  }

  // --- Loading and loaded: by the Loader

  notifyLoader(): void {
    this.prefetch.keep(0)
    if (this.memory.waiting > 0) this.toLoad.notify()
  }

  /** Notifies the Loader that a slot is free, if it may load: waking it for each request costs more than its work. */
  private slotFree(): void {
    if (this.memory.waiting > 0 && this.prefetch.isLow) this.toLoad.notify()
  }

  private reopen(lane: Lane): void {
    this.lanes.forgetIdle(lane)
    this.order.offer(lane)
    this.notifyLoader()
  }

  /** waiting → loading */
  pick(most: number): ReadonlyArray<Waiting> {
    const { free } = this.prefetch
    const wasFull = this.memory.room === 0
    const picked: Array<Waiting> = []
    let refused = false
    const admitted = (lane: Lane) => {
      const may = this.shares.mayPick(lane, most - picked.length)
      refused ||= !may
      return may
    }
    while (picked.length < most) {
      const row = this.order.next(admitted)
      if (row === undefined) break
      this.move(row, "loading", "onward")
      this.backlog.watch(row.lane)
      picked.push(row)
    }
    this.prefetch.keep(refused ? most - picked.length : 0)
    if (picked.length > 0 && (wasFull || this.backlog.needsRefill)) this.options.pollOn()
    // Loading counts claims of deliveries in doubt, so these are loaded only for free slots.
    if (picked.length <= free || !picked.some((row) => this.inDoubt.has(row))) return picked
    this.requeue(picked.splice(Math.max(0, free)))
    return picked
  }

  /** Undefined for a delivery that stays in `loading` until its large payload is read. */
  complete(row: Waiting, found: Found): Content | null | undefined {
    const content = this.largePayloads.complete(row, found)
    if (content === undefined) {
      this.largePayloads.add(row)
      this.toRead.notify()
    }
    return content
  }

  /** loading → waiting */
  payloadRead(row: Waiting, payload: string | null): void {
    this.largePayloads.read(row, payload)
    this.requeue([row])
    this.notifyLoader()
  }

  /** Null if it is not to be sent. */
  loaded(row: Waiting, content: Content | null, at: number): Loaded | null {
    const { lane } = row
    if (content === null) this.gone(row)
    else if (row.term.lost) this.move(row, "out", "revoke")
    else if (!content.endpoint.enabled) {
      if (row.circuitResets === lane.circuit.resets) this.unusable(row)
      // The endpoint was changed since it was read, and may be enabled by now.
      else this.requeue([row])
    } else {
      this.circuits.loaded(lane, content.failures)
      if (lane.circuit.maySend(row) && lane.takesStartPermit(row, at)) return { row, content, at }
      this.requeue([row])
      this.rateLimits.watch(lane)
    }
    return null
  }

  makeReady(loaded: ReadonlyArray<Loaded>): void {
    for (const one of loaded) {
      this.move(one.row, "loaded", "onward")
      this.ready.push(one)
    }
  }

  /** Requeues deliveries that waited too long for a slot, and notices long requests. */
  refresh(now: number): void {
    this.shares.notice(now)
    if (!this.prefetch.isOld(now, this.options.freshMs)) return
    this.requeueReady((loaded) => this.isStale(loaded, now))
    this.prefetch.measure(now)
  }

  private isStale({ at }: Loaded, now: number): boolean {
    return now - at > this.options.freshMs
  }

  /** loading, loaded, sent → waiting, in order. Deliveries of a lost shard leave memory. */
  requeue(rows: ReadonlyArray<Waiting>): void {
    for (let n = rows.length - 1; n >= 0; n--) {
      const row = rows[n]!
      if (row.term.lost) this.move(row, "out", "revoke")
      else this.move(row, "waiting", "requeue")
    }
  }

  requeueReady(concerned: (loaded: Loaded) => boolean): void {
    if (this.ready.length > 0) this.requeue(this.ready.remove(concerned).map(({ row }) => row))
  }

  /** loading, sent → settled: read again after a pause. */
  postpone(rows: ReadonlyArray<Waiting>): void {
    if (rows.length === 0) return
    for (const row of rows) this.move(row, "settled", "postpone")
    this.options.later(this.options.blockedPauseMs, () => this.readAgain(rows))
  }

  /** The delivery was deleted, recorded by another worker, or dead-lettered. */
  gone(row: Waiting): void {
    this.inDoubt.forget(row)
    this.move(row, "out", "release")
  }

  // --- Sent and settled: by the Slots

  /** loaded → sent: the next one with a free slot. */
  start(now: number, holdsLease: boolean): Sent | undefined {
    this.shares.notice(now)
    const stale: Array<Waiting> = []
    let next = this.ready.next(this.shares.mayStart)
    while (next !== undefined && !this.mayStart(next, now, holdsLease)) {
      stale.push(next.row)
      next = this.ready.next(this.shares.mayStart)
    }
    if (stale.length > 0) {
      this.requeue(stale)
      this.slotFree()
    }
    if (next === undefined) return undefined
    this.move(next.row, "sent", "onward")
    this.shares.take(next.row, now)
    return next
  }

  private mayStart(loaded: Loaded, now: number, holdsLease: boolean): boolean {
    const { lane, term } = loaded.row
    if (!holdsLease || term.lost || lane.isHeldBack || this.isStale(loaded, now)) return false
    return lane.circuit.maySend(loaded.row) && lane.takesStartPermit(loaded.row, now)
  }

  /** Counts neither as a failure nor as a claim. */
  notSent({ row }: Sent): void {
    this.rateLimits.undo(row)
    this.postpone([row])
    this.slotFree()
  }

  /** The receiver refused the token; sending again is the same attempt. */
  sendAgain({ row }: Sent): void {
    row.refused = true
    this.rateLimits.forget(row)
    this.requeue([row])
    this.notifyLoader()
  }

  /** Nothing of its lane is picked until the token is fetched. */
  awaitCredentials({ row }: Sent): void {
    const { lane } = row
    lane.awaitsCredentials = true
    this.requeue([row])
    this.requeueReady((loaded) => loaded.row.lane === lane)
    this.order.quarantine.waits(lane)
    this.notifyLoader()
  }

  credentialsKnown(endpointId: string): void {
    const lane = this.lanes.get(endpointId)
    if (lane === undefined) return
    lane.awaitsCredentials = false
    this.reopen(lane)
  }

  /** sent → settled */
  settle({ content, row }: Sent, seen: Observation, observed: Observed, pace: Pace): void {
    const { lane } = row
    const delivered = observed.status === "delivered"
    if (delivered) lane.circuit.succeeded()
    else if (isUncounted(seen.failureReason)) this.circuits.pause(lane)
    else this.circuits.failed(row)
    lane.adjust(pace, this.options.endpointConcurrency)
    lane.isSlow = seen.durationMs >= LONG_MS
    this.inDoubt.forget(row)
    this.move(row, "settled", delivered ? "delivered" : "onward")
    this.unrecorded.add({ row, seen, observed, traceId: content.traceId, retry: content.retry, aside: false })
    this.toRecord.notify()
    if (this.unrecorded.length === this.options.batchWanted) this.batchIsFull.notify()
    this.slotFree()
  }

  endpointChanged(endpointId: string, failures: number, shard: number): void {
    if (!this.leases.owns(shard)) return
    const lane = this.lanes.get(endpointId)
    if (lane === undefined) {
      this.lanes.recentHealth.endpointChanged(endpointId, failures, shard)
      return
    }
    lane.circuit.reset(failures)
    this.rateLimits.stale(lane)
    lane.awaitsCredentials = false
    this.reopen(lane)
  }

  /** sent → settled, without an observation: its claim is counted later. */
  unobserved({ row }: Sent, posted: boolean): void {
    if (row.stage !== "sent") return
    if (!posted) this.rateLimits.undo(row)
    this.move(row, "settled", "onward")
    this.countLater(row, posted)
  }

  unrecordable(settled: Settled): void {
    this.unrecorded.leave(settled)
    this.countLater(settled.row, true)
  }

  private countLater(row: Waiting, posted: boolean): void {
    this.unobservedRows.push({ row, posted })
    this.toCount.notify()
    this.slotFree()
  }

  /** sent → out: its endpoint's secret cannot be read. */
  unreadable({ row }: Sent): void {
    this.rateLimits.undo(row)
    this.unusable(row)
    this.notifyLoader()
  }

  /** loading, sent → out: its endpoint is disabled or unreadable. The lane is forgotten until `Intake.usable` or the sweep. */
  private unusable(row: Waiting): void {
    row.lane.circuit.forget()
    this.intake.forget(row.lane)
    this.move(row, "out", "release")
  }

  // --- Recorded: by the Recorder and UnobservedClaims

  takeUnobserved(): ReadonlyArray<Unobserved> {
    return this.unobservedRows.splice(0)
  }

  /** Until these observations are recorded, their lanes keep to their limits. */
  setAside(settled: ReadonlyArray<Settled>): void {
    for (const one of settled) {
      this.unrecorded.setAside(one)
      one.row.lane.awaitsRecord = true
      this.order.quarantine.skip(one.row.lane)
    }
    this.notifyLoader()
  }

  /** settled → out */
  recorded(settled: Settled): void {
    this.unrecorded.leave(settled)
    this.finish(settled.row)
  }

  counted({ row }: Unobserved): void {
    this.inDoubt.forget(row)
    this.readAgain([row])
  }

  private readAgain(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows) {
      this.finish(row)
      this.options.pollFrom(row.due)
    }
    this.notifyLoader()
  }

  private finish(row: Waiting): void {
    row.lane.awaitsRecord = false
    this.move(row, "out", "release")
  }
}
