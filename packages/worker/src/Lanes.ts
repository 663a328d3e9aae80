/**
 * The hub: which shards are this worker's, and how far each delivery in memory is. Reader, Loader, Pool and Ledger are loops
 * that speak to it and never to each other; each waits for a signal of its own.
 *
 *      Reader                   Loader                    Pool                       Ledger
 *   add │ refill            pick │   loaded, makeReady      │ next      settle         │ recorded
 *       ▼                        ▼          ▼               ▼              ▼           ▼
 *    waiting ───────────────► loading ───► ready ─────────► sent ───────► settled ───► recorded
 *       ▲                        │          │               │              ▲           ▲
 *       └─────── giveBack ───────┴──────────┘               └─ unobserved ─┘─ TakeUps ─┘
 *
 * - waiting: in its lane until it is its turn (WaitingRoom.ts, Order.ts). When its shard is lost, its endpoint disabled, or
 *   memory full, it is let go, and a later read brings it again, here or at another worker.
 * - loading: picked for a slot that is free, or will be in a moment (Slots.ts). From here on it has a place in its lane, of which
 *   there are as many as the lane's cap (Lane.ts).
 * - ready: loaded, until a slot is free (Ready.ts). Given back when it is not fresh any more, when its lane became slow, or
 *   when its endpoint was disabled.
 * - sent: it has a slot (Places.ts).
 * - settled: over, its slot free; or put off before it had one, because somebody holds its queue row. A failure keeps its place
 *   in its lane until it is recorded: so nothing is started after the failure that disables the endpoint, but what was already
 *   in flight.
 * - recorded: its observation is stored; or nobody here needs the row any more: it is gone, or its shard was lost or its endpoint
 *   disabled before it was sent. Until then it is held, so that reading it again never sends it again.
 *
 * Of a shard that is lost nothing more is sent; what is in flight is still recorded. Plain data: no clock, no I/O; timers are
 * given to it. One worker's view, lost with it. Source: decision §7, docs/adr/0010-engine.md.
 */
import type { Loaded, Waiting } from "@posthorn/persistence/Queue"
import type { Observed } from "@posthorn/persistence/Records"
import { Signal } from "./internal/Signal.ts"
import { Waiters } from "./internal/Waiters.ts"
import { Agenda } from "./lanes/Agenda.ts"
import { Early } from "./lanes/Early.ts"
import type { Lane, Pace, Row } from "./lanes/Lane.ts"
import { reserveOf } from "./lanes/Places.ts"
import { Settled } from "./lanes/Settled.ts"
import { Slots } from "./lanes/Slots.ts"
import { Suspects } from "./lanes/Suspects.ts"
import { WaitingRoom } from "./lanes/WaitingRoom.ts"
import { type TuningValues, tuned } from "./Tuning.ts"

/** The constants are those of Tuning.ts where none are given. */
export interface LanesOptions extends Partial<TuningValues> {
  readonly endpointConcurrency: number
  readonly slots?: number
  readonly retryDelayMs?: number
  /** Calls back in so many milliseconds. */
  readonly later?: (milliseconds: number, run: () => void) => void
}

export class Lanes extends WaitingRoom {
  /** For the Reader: what to look at next. */
  readonly agenda = new Agenda()
  /** For the Loader: there may be something to load, and slots for it. */
  readonly toLoad = new Signal()
  /** For the Pool's fibers: something is ready. */
  readonly toSend = new Waiters()
  /** For the Ledger and TakeUps: what is settled. */
  readonly settled = new Settled()
  /** For DeadLetters: something was given up. */
  readonly givenUp = new Signal()
  readonly suspects = new Suspects()
  readonly early = new Early()
  readonly slots: Slots
  readonly later: (milliseconds: number, run: () => void) => void
  /** Picked, and its attempt not over. */
  inFlight = 0
  private readonly reserve: number
  private readonly tuning: TuningValues
  private readonly retryDelayMs: number

  constructor(options: LanesOptions) {
    const { later = () => undefined, retryDelayMs = 0, slots = 0 } = options
    const tuning = { ...tuned, ...options }
    super(tuning)
    this.tuning = tuning
    this.later = later
    this.retryDelayMs = retryDelayMs
    this.reserve = reserveOf(slots)
    this.slots = new Slots({ ...tuning, slots }, this.settled)
  }

  /** The shard is ours: see `Owner.taken`. */
  take(shard: number, suspectUntil: number | null): void {
    this.suspects.taken(shard, suspectUntil)
    this.open(shard)
    this.agenda.shardsChanged()
  }

  lose(shard: number): void {
    this.close(shard)
    this.agenda.shardsChanged()
    this.giveBackReady((row) => row.shard === shard)
    this.empty(shard)
    this.toLoad.raise()
  }

  override add(rows: ReadonlyArray<Waiting>): void {
    super.add(rows)
    if (rows.length > 0) this.wake()
  }

  /** There may be something to pick, and slots for it. */
  wake(): void {
    this.slots.keep(0)
    this.toLoad.raise()
  }

  /** waiting → loading: up to `most` whose turn it is. */
  pick(most: number): ReadonlyArray<Row> {
    const wasFull = this.room === 0
    const picked: Array<Row> = []
    while (picked.length < most) {
      const row = this.order.next(most - picked.length, this.reserve)
      if (row === undefined) break
      row.state = "loading"
      this.memory.change(row.lane.tenant, -1)
      this.backlog.watch(row.lane)
      row.lane.tenant.inFlight++
      this.inFlight++
      picked.push(row)
    }
    this.slots.keep(this.order.refused ? most - picked.length : 0)
    if (picked.length > 0 && (wasFull || this.hasThin)) this.agenda.wake.raise()
    return picked
  }

  /** What came of loading it. Gives whether it may be made ready: what is gone, or not to be sent now, leaves its place. */
  loaded(row: Row, loaded: Loaded | null, now: number): boolean {
    const { lane } = row
    if (loaded === null) this.gone(row)
    else if (row.tenure.lost) this.handOver(row)
    else if (!loaded.endpoint.enabled) {
      this.park(lane.endpointId)
      this.recorded(row)
    } else {
      row.load(loaded, now)
      if (lane.failures === null) this.pauseIfSlow(lane, loaded.failures)
      if (lane.maySend(row)) return true
      this.giveBack([row])
    }
    return false
  }

  /** loading → ready */
  makeReady(rows: ReadonlyArray<Row>): void {
    for (const row of rows) {
      row.state = "ready"
      this.slots.ready.push(row)
    }
    this.toSend.ask(rows.length)
  }

  /** ready → sent: the next one that a slot is free for. What may not be sent, or was loaded too long ago, waits again. */
  next(now: number, mayStart: boolean): Row | undefined {
    let row = this.slots.next()
    if (row !== undefined && !this.maySend(row, now, mayStart)) {
      const stale: Array<Row> = []
      for (; row !== undefined && !this.maySend(row, now, mayStart); row = this.slots.next()) stale.push(row)
      this.giveBack(stale)
    }
    if (row === undefined) return undefined
    row.state = "sent"
    this.slots.take(row)
    return row
  }

  private maySend(row: Row, now: number, mayStart: boolean): boolean {
    return mayStart && !row.tenure.lost && !this.isStale(row, now) && row.lane.maySend(row)
  }

  isStale({ loadedAt }: Row, now: number): boolean {
    return now - loadedAt > this.tuning.freshMs
  }

  /**
   * loading, ready → waiting: not sent after all, in the order in which they were picked. Those of a lost shard or of a parked
   * lane → recorded.
   */
  giveBack(rows: ReadonlyArray<Row>): void {
    for (let n = rows.length - 1; n >= 0; n--) {
      const row = rows[n]!
      if (row.tenure.lost || row.lane.parked) {
        this.handOver(row)
        continue
      }
      this.leave(row)
      this.order.over(row)
      this.order.freePlace(row.lane)
      row.state = "waiting"
      row.loaded = null
      this.memory.change(row.lane.tenant, 1)
      this.order.putBack(row)
    }
  }

  /** The same for what is ready: of an endpoint that was disabled, of a shard that was lost, what is stale, or all. */
  giveBackReady(concerned: (row: Row) => boolean): void {
    if (this.slots.ready.length > 0) this.giveBack(this.slots.ready.remove(concerned))
  }

  /** sent → settled */
  settle(row: Row, observed: Observed, pace: Pace): void {
    const { lane } = row
    const delivered = observed.status === "delivered"
    if (delivered) lane.succeeded()
    else this.pauseIfSlow(lane, (lane.failures ?? 0) + 1)
    lane.adjust(pace, this.endpointConcurrency)
    this.suspects.forget(row)
    this.over(row, !delivered)
    this.settled.add(row, observed)
    // Waking the fiber for each post would cost more than what it does.
    if (this.slots.ripe) this.toLoad.raise()
  }

  /** So many attempts in a row were not delivered: a slow lane pauses, and this timer wakes it. */
  private pauseIfSlow(lane: Lane, inARow: number): void {
    lane.failed(inARow)
    const pause = lane.pause()
    if (pause === null) return
    this.later(pause.units * this.retryDelayMs, () => {
      if (this.lanes.get(lane.endpointId) !== lane || !lane.endPause(pause.number)) return
      this.forgetIdle(lane)
      this.order.offer(lane)
      this.wake()
    })
  }

  /** sent → settled, without an observation; or none can be stored. Its take-up is counted. */
  unobserved(row: Row): void {
    if (row.state === "sent") this.over(row, true)
    this.settled.addUnobserved(row)
    if (this.slots.ripe) this.toLoad.raise()
  }

  /** loading → settled: their take-ups cannot be counted now. Their places are free meanwhile. */
  putOff(rows: ReadonlyArray<Row>): void {
    if (rows.length === 0) return
    for (const row of rows) this.over(row, false)
    this.later(this.tuning.heldPauseMs, () => this.readAgain(rows))
  }

  private over(row: Row, keepsPlace: boolean): void {
    this.leave(row)
    row.state = "settled"
    row.loaded = null
    row.keepsPlace = keepsPlace || row.lane.heldUp
    if (!row.keepsPlace) this.order.freePlace(row.lane)
  }

  /** Nothing of their endpoints can be recorded just now: until then, what is in flight or unrecorded stays within the caps. */
  setAside(rows: ReadonlyArray<Row>): void {
    for (const row of rows) {
      this.settled.setAside(row)
      row.lane.heldUp = true
      this.order.heldUp(row.lane)
    }
    this.wake()
  }

  /** settled → recorded; or nobody here needs it any more. A later read may bring it again. */
  recorded(row: Row): void {
    const { lane, state } = row
    if (state === "settled") {
      this.settled.leave(row)
      lane.heldUp = false
    } else this.leave(row)
    if (state !== "settled" || row.keepsPlace) this.order.freePlace(lane)
    this.order.over(row)
    row.state = "recorded"
    row.loaded = null
    if (this.held.recorded(row)) this.unhold(row)
  }

  /** It is nowhere any more, or among the dead letters. */
  gone(row: Row): void {
    this.suspects.forget(row)
    this.recorded(row)
  }

  /**
   * Not to be sent by this tenure of the shard: whoever has the shard next reads it. If this worker has it again, its first read
   * left this row out because it was still held: so the Reader goes back to it.
   */
  private handOver(row: Row): void {
    this.recorded(row)
    if (row.tenure.lost && this.owns(row.shard)) this.agenda.goBackTo(row.due)
  }

  /** Settled without an observation: they are read again. */
  readAgain(rows: ReadonlyArray<Row>): void {
    for (const row of rows) {
      this.recorded(row)
      this.agenda.goBackTo(row.due)
    }
    this.wake()
  }

  /** It is not loading, ready or sent any more. */
  private leave(row: Row): void {
    this.inFlight--
    row.lane.tenant.inFlight--
    if (row.state === "sent") this.slots.leave(row)
  }
}
