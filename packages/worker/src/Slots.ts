/**
 * From the lanes to the ledger: whose turn it is gets a free slot, is loaded, signed, sent, and judged.
 *
 * Slots are independent: each is free again when its own post is over. Some are left to workspaces that have few of them
 * (internal/Places.ts). Loading takes what is free in one statement, and what will be free in a moment: so groups grow with
 * the load, no slot waits for the database while receivers are quick, and nothing is loaded ahead while they are slow.
 * Nothing is sent without certain ownership of its shard, nor what was loaded for a shard that was lost meanwhile.
 * Deliveries that a dead worker may have held are counted just before they are sent.
 * Source: spec §3.1 and §8, decision §7 (Snapshot, Poison), docs/adr/0010-engine.md and 0012-poison.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { judge, MAX_TAKE_UPS, type Observation } from "@posthorn/domain/Verdict"
import type { Loaded, Queue, Waiting } from "@posthorn/persistence/Queue"
import { SecretUnreadable } from "@posthorn/persistence/SecretBox"
import { Cause, type Clock, Effect, Schedule } from "effect"
import type { Prepare } from "./Attempt.ts"
import { elapsed } from "./internal/Elapsed.ts"
import type { Pace, Rest } from "./internal/Lane.ts"
import { type Attempted, observedOf } from "./internal/Observed.ts"
import { Places } from "./internal/Places.ts"
import { Ready, type ReadyRow } from "./internal/Ready.ts"
import { Signal } from "./internal/Signal.ts"
import { Suspects } from "./internal/Suspects.ts"
import type { Lanes } from "./Lanes.ts"
import type { Ledger } from "./Ledger.ts"
import type { Ownership } from "./Ownership.ts"
import type { Reader } from "./Reader.ts"
import type { Receiver } from "./Receiver.ts"
import type { TuningValues } from "./Tuning.ts"

export interface SlotsParts {
  readonly slots: number
  readonly retryDelayMs: number
  readonly queue: Queue["Type"]
  readonly receiver: Receiver["Type"]
  readonly ownership: Ownership["Type"]
  readonly prepare: Prepare
  readonly lanes: Lanes
  readonly reader: Reader
  readonly ledger: Ledger
  readonly clock: Clock.Clock
  readonly tuning: TuningValues
  /** Something was put into the dead-letter queue. */
  readonly deadLettered: () => void
  /** Runs beside everything else, until the engine stops. */
  readonly fork: (effect: Effect.Effect<void>) => void
}

/** The request of an attempt. */
type Made = Pick<Attempted, "generation" | "at" | "signature" | "url">

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

export class Slots {
  private readonly parts: SlotsParts
  private readonly changed = new Signal()
  /** Loaded, until a slot is free. */
  private readonly ready = new Ready()
  private readonly sending: Places
  /** Picked, and neither loaded nor gone. */
  private readonly loading = new Set<Waiting>()
  /** How many slots will be free `aheadMs` from now, at the rate at which they became free since the last load. */
  private ahead = 0
  /** Free slots that nobody who waits may take: they are left to workspaces that have few. */
  private kept = 0
  private over = 0
  private countedAt = 0
  private stopped = false
  private readonly suspects = new Suspects()

  constructor(parts: SlotsParts) {
    this.parts = parts
    this.sending = new Places(parts.slots)
  }

  /** There may be something to pick. */
  wake(): void {
    this.kept = 0
    this.changed.raise()
  }

  /** The shard is this worker's; see `Owner.taken`. */
  taken(shard: number, suspectUntil: number | null): void {
    this.suspects.taken(shard, suspectUntil)
  }

  /** Whether rows of the shard may have been in flight at an owner that died. */
  suspectsIn(shard: number): boolean {
    return this.suspects.suspectsIn(shard)
  }

  /** Fills the slots until interrupted; then nothing more is started. */
  readonly run: Effect.Effect<never> = Effect.ensuring(
    Effect.forever(Effect.suspend(() => this.takeTurn())),
    Effect.sync(() => {
      this.stopped = true
      this.giveBack(this.ready.remove(() => true))
    })
  )

  private takeTurn(): Effect.Effect<void> {
    const { lanes, ownership, reader, tuning } = this.parts
    if (!ownership.certain()) return Effect.sleep(tuning.uncertainPauseMs)
    const wasFull = lanes.room === 0
    const picked = this.pick()
    // What was loaded for slots that do not become free must not stand in the way for longer than it stays fresh.
    if (picked.length === 0)
      return this.ahead > 0 ? this.changed.waitAtMost(tuning.freshMs) : this.changed.wait
    if (wasFull || lanes.hasThin) reader.resume()
    return this.serve(picked).pipe(
      Effect.as(0),
      Effect.catchAll((error) => {
        this.giveBack([...this.loading].map((row) => ({ row })))
        this.loading.clear()
        return Effect.as(Effect.logWarning("Deliveries cannot be loaded", error), tuning.loadPauseMs)
      }),
      // What was picked is either launched or given back, also when the engine stops just now.
      Effect.uninterruptible,
      Effect.flatMap((pause) => (pause === 0 ? Effect.void : Effect.sleep(pause)))
    )
  }

  /** How many to load: what is free, and what will be by the time they are loaded. */
  private get wanted(): number {
    return Math.min(this.empty + this.ahead, this.parts.tuning.mostUnrecorded - this.parts.ledger.unrecorded)
  }

  private get empty(): number {
    return this.sending.free - this.ready.length
  }

  /** Not before half of what will be free can be had at once. */
  private get ripe(): boolean {
    return this.wanted - this.kept > this.ahead / 2
  }

  private pick(): ReadonlyArray<Waiting> {
    this.refresh()
    if (!this.ripe) return []
    const { empty, wanted } = this
    const { lanes } = this.parts
    const picked = lanes.pick(wanted)
    this.kept = picked.length < wanted && lanes.refused ? wanted - picked.length : 0
    // Suspects are counted when they are loaded, so they are loaded only to be sent.
    if (picked.length <= empty || !picked.some((row) => this.suspects.has(row))) return picked
    const kept = Math.max(0, empty)
    this.giveBack(picked.slice(kept).map((row) => ({ row })))
    return picked.slice(0, kept)
  }

  /** What was loaded for slots that did not become free is given back, and not so much is loaded ahead any more. */
  private refresh(): void {
    const { clock, tuning } = this.parts
    const now = elapsed(clock)
    if (now - this.countedAt <= tuning.freshMs) return
    this.giveBack(this.ready.remove(({ loadedAt }) => now - loadedAt > tuning.freshMs))
    this.lookAhead(now)
  }

  private serve(rows: ReadonlyArray<Waiting>): Effect.Effect<void, SqlError> {
    return Effect.gen(this, function* () {
      for (const row of rows) this.loading.add(row)
      const found = yield* this.parts.queue.load(rows)
      const loaded: Array<ReadyRow> = []
      const loadedAt = elapsed(this.parts.clock)
      for (let n = 0; n < rows.length; n++) {
        const one = found[n]!
        if (this.sendable(rows[n]!, one)) loaded.push({ row: rows[n]!, loaded: one, loadedAt })
      }
      const innocent = yield* this.countSuspects(loaded)
      this.lookAhead(loadedAt)
      this.loading.clear()
      for (const one of innocent) this.ready.push(one)
      this.launch()
    })
  }

  private lookAhead(now: number): void {
    const { slots, tuning } = this.parts
    const passed = Math.max(1, now - this.countedAt)
    // Never more than may be loaded at all: `ripe` would wait for it for ever.
    const most = Math.min(2 * slots, tuning.mostUnrecorded)
    this.ahead = Math.min(most, Math.floor((this.over * tuning.aheadMs) / passed))
    this.over = 0
    this.countedAt = now
  }

  /** What is gone, recorded by somebody else, or not to be sent now, leaves its slot. */
  private sendable(row: Waiting, loaded: Loaded | null): loaded is Loaded {
    const { lanes } = this.parts
    if (loaded?.endpoint.enabled === true) {
      this.rest(lanes.learn(row, loaded.endpoint.failures))
      if (lanes.maySend(row)) return true
      this.loading.delete(row)
      this.giveBack([{ row }])
      return false
    }
    if (loaded !== null) lanes.park(row.endpointId)
    else this.suspects.forget(row)
    this.gone(row)
    return false
  }

  /** Counted before they are sent; what was taken up too often goes to the dead letters instead. */
  private countSuspects(loaded: ReadonlyArray<ReadyRow>): Effect.Effect<ReadonlyArray<ReadyRow>, SqlError> {
    const takeUps = this.suspects.toCount(loaded.map(({ row }) => row))
    if (takeUps.length === 0) return Effect.succeed(loaded)
    return Effect.map(this.parts.queue.takeUp(takeUps, MAX_TAKE_UPS, true), (outcomes) => {
      const outcomeOf = (row: Waiting) => outcomes.get(row.deliveryId)
      const left = new Set<Waiting>()
      for (const { row } of takeUps) {
        if (outcomeOf(row) === "counted") this.suspects.written(row)
        else left.add(row)
      }
      const held = [...left].filter((row) => outcomeOf(row) === "held")
      if (held.length > 0) this.later(held)
      for (const row of left) {
        if (outcomeOf(row) === "held") continue
        this.suspects.forget(row)
        this.gone(row)
      }
      if ([...left].some((row) => outcomeOf(row) === "buried")) this.parts.deadLettered()
      return left.size === 0 ? loaded : loaded.filter(({ row }) => !left.has(row))
    })
  }

  /** Somebody holds their rows, so they cannot be counted: nobody waits for them, and they are read again in a moment. */
  private later(rows: ReadonlyArray<Waiting>): void {
    const { fork, lanes, reader, tuning } = this.parts
    for (const row of rows) {
      this.loading.delete(row)
      lanes.settle(row, "same", true)
    }
    const readAgain = Effect.sync(() => {
      for (const row of rows) {
        lanes.recorded(row)
        reader.goBackTo(row.due)
      }
      this.wake()
    })
    fork(Effect.delay(readAgain, tuning.heldPauseMs))
  }

  /** The fence: nothing is sent without certain ownership, nor while the engine stops. */
  private get mayStart(): boolean {
    return this.parts.ownership.certain() && !this.stopped
  }

  /** Sends what is loaded as far as slots are free. What may not be sent yet, or was loaded too long ago, waits again. */
  private launch(): void {
    const { clock, lanes, reader, tuning } = this.parts
    if (this.ready.length === 0) return
    const at = clock.unsafeCurrentTimeMillis()
    const now = elapsed(clock)
    const stale: Array<ReadyRow> = []
    const { mayStart } = this
    for (let one = this.ready.next(this.sending.open); one; one = this.ready.next(this.sending.open)) {
      const { loaded, loadedAt, row } = one
      if (!mayStart || now - loadedAt > tuning.freshMs || !lanes.maySend(row)) stale.push(one)
      else if (reader.has(row.shard)) this.attempt(row, loaded, at)
      else this.gone(row)
    }
    this.giveBack(stale)
  }

  /** The shard is another worker's, or these endpoints were disabled: nothing of them is sent that is only loaded. */
  drop(concerned: (row: Waiting) => boolean): void {
    this.giveBack(this.ready.remove(({ row }) => concerned(row)))
    this.changed.raise()
  }

  private attempt(row: Waiting, loaded: Loaded, at: number): void {
    const { prepare, receiver } = this.parts
    const { generation } = loaded.endpoint
    let sent = false
    this.sending.take(row.workspaceId)
    try {
      const prepared = prepare(row, loaded, Math.floor(at / 1000))
      if (prepared === "invalid_url") {
        this.observe(row, { generation, at, signature: null, url: loaded.endpoint.url }, INVALID_URL)
        return
      }
      sent = true
      receiver.send(prepared, (seen) => {
        // Null: the receiver closed, as the engine's last act. The delivery stays in the queue.
        if (seen !== null)
          this.observe(row, { generation, at, signature: prepared.signature, url: prepared.url }, seen)
      })
    } catch (defect) {
      this.broken(row, sent, defect)
    }
  }

  private observe(row: Waiting, made: Made, seen: Observation): void {
    const { lanes, ledger, retryDelayMs } = this.parts
    const verdict = judge(row.attempts + 1, seen)
    this.suspects.forget(row)
    ledger.add({ row, observed: observedOf({ row, verdict, seen, retryDelayMs, ...made }) })
    this.rest(lanes.observed(row, paceOf(seen), verdict.status === "delivered"))
    this.free(row)
  }

  /** Wakes a slow lane when its pause is over. */
  private rest(rest: Rest | null): void {
    if (rest === null) return
    const { fork, lanes, retryDelayMs } = this.parts
    const over = Effect.sync(() => {
      lanes.rested(rest)
      this.wake()
    })
    fork(Effect.delay(over, rest.units * retryDelayMs))
  }

  private free(row: Waiting): void {
    this.sending.release(row.workspaceId)
    this.over++
    this.launch()
    if (this.sending.isModest(row.workspaceId)) this.kept = 0
    // Waking the fiber for each post would cost more than what it does.
    if (this.ripe) this.changed.raise()
  }

  private broken(row: Waiting, sent: boolean, defect: unknown): void {
    const { fork, lanes } = this.parts
    lanes.settle(row, "same", false)
    if (defect instanceof SecretUnreadable) {
      // Not the delivery's fault: nothing is sent to this endpoint until the key is there again.
      lanes.park(row.endpointId)
      lanes.recorded(row)
    } else this.unobserved(row, sent)
    // Errors as such lose their message in JSON logs; a cause keeps it, and the stack.
    const why = defect instanceof SecretUnreadable ? defect.message : Cause.die(defect)
    fork(Effect.logError(`Delivery ${row.deliveryId} could not be attempted`, why))
    this.free(row)
  }

  /** Ended without an observation: counted, so that a delivery that breaks the worker stops some day. */
  unobserved(row: Waiting, sent: boolean): void {
    const { fork, lanes, queue, reader, tuning } = this.parts
    fork(
      Effect.suspend(() => queue.takeUp([this.suspects.ended(row)], MAX_TAKE_UPS, sent)).pipe(
        Effect.filterOrFail((outcomes) => outcomes.get(row.deliveryId) !== "held"),
        Effect.retry(Schedule.spaced(tuning.defectPauseMs)),
        Effect.delay(tuning.defectPauseMs),
        Effect.map(() => {
          this.suspects.forget(row)
          lanes.recorded(row)
          reader.goBackTo(row.due)
          this.wake()
        }),
        Effect.orDie
      )
    )
  }

  private gone(row: Waiting): void {
    this.loading.delete(row)
    this.parts.lanes.settle(row, "same", true)
    this.parts.lanes.recorded(row)
  }

  /** Not sent after all, in the order in which they were picked. What is of a lost shard is its next owner's. */
  private giveBack(rows: ReadonlyArray<Pick<ReadyRow, "row">>): void {
    for (const { row } of rows.toReversed()) {
      if (this.parts.reader.has(row.shard)) this.parts.lanes.giveBack(row)
      else this.gone(row)
    }
  }
}

const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"
