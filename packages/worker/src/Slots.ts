/**
 * From the lanes to the ledger: whose turn it is gets a free slot, is loaded, signed, sent, and judged.
 *
 * Slots are independent: each is free again when its own post is over. Loading takes what is free in one statement, so
 * groups grow with the load. Nothing is sent without certain ownership of its shard, nor what was loaded for a shard
 * that was lost meanwhile. Deliveries that a dead worker may have held are counted just before they are sent.
 * Source: spec §3.1 and §8, decision §7 (Snapshot, Poison), docs/adr/0010-engine.md and 0012-poison.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { judge, MAX_TAKE_UPS, type Observation } from "@posthorn/domain/Verdict"
import type { Loaded, Queue, Waiting } from "@posthorn/persistence/Queue"
import { SecretUnreadable } from "@posthorn/persistence/SecretBox"
import { Cause, Clock, Effect, Schedule } from "effect"
import type { Prepare } from "./Attempt.ts"
import type { Pace } from "./internal/Lane.ts"
import { observedOf } from "./internal/Observed.ts"
import { Signal } from "./internal/Signal.ts"
import type { Lanes } from "./Lanes.ts"
import { type Ledger, MOST_UNRECORDED } from "./Ledger.ts"
import type { Ownership } from "./Ownership.ts"
import type { Reader } from "./Reader.ts"
import type { Receiver } from "./Receiver.ts"

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
  /** Something was put into the dead-letter queue. */
  readonly deadLettered: () => void
  /** Runs beside everything else, until the engine stops. */
  readonly fork: (effect: Effect.Effect<void>) => void
}

const UNCERTAIN_PAUSE_MS = 200
const LOAD_PAUSE_MS = 500
const DEFECT_PAUSE = "1 second"

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

export class Slots {
  private readonly parts: SlotsParts
  private readonly ready = new Signal()
  private readonly fixedEvidence: string
  /** By shard: rows due by then may have been in flight at an owner that died. */
  private readonly suspectUntil = new Map<number, number>()

  constructor(parts: SlotsParts) {
    this.parts = parts
    this.fixedEvidence = `${JSON.stringify(parts.receiver.fixedHeaders).slice(0, -1)},`
  }

  /** There may be something to pick. */
  wake(): void {
    this.ready.raise()
  }

  suspect(shard: number, until: number | null): void {
    if (until === null) this.suspectUntil.delete(shard)
    else this.suspectUntil.set(shard, until)
  }

  /** Fills the slots until interrupted. */
  readonly run: Effect.Effect<never> = Effect.forever(Effect.suspend(() => this.takeTurn()))

  private takeTurn(): Effect.Effect<void> {
    const { lanes, ownership, reader } = this.parts
    if (!ownership.certain()) return Effect.sleep(UNCERTAIN_PAUSE_MS)
    const wasFull = lanes.room === 0
    const picked = this.free > 0 ? lanes.pick(this.free) : []
    if (picked.length === 0) return this.ready.wait
    if (wasFull || lanes.hasThin) reader.resume()
    return this.serve(picked).pipe(
      Effect.as(0),
      Effect.catchAll((error) => {
        this.giveBack(picked.filter((row) => lanes.holds(row.deliveryId)))
        return Effect.as(Effect.logWarning("Deliveries cannot be loaded", error), LOAD_PAUSE_MS)
      }),
      // What was picked is either launched or given back, also when the engine stops just now.
      Effect.uninterruptible,
      Effect.flatMap((pause) => (pause === 0 ? Effect.void : Effect.sleep(pause)))
    )
  }

  private get free(): number {
    const { lanes, ledger, slots } = this.parts
    return Math.min(slots - lanes.inFlight, MOST_UNRECORDED - ledger.unrecorded)
  }

  private serve(rows: ReadonlyArray<Waiting>): Effect.Effect<void, SqlError> {
    return Effect.gen(this, function* () {
      const found = yield* this.parts.queue.load(rows)
      const loadedOf = new Map(found.map((loaded) => [loaded.deliveryId, loaded]))
      const innocent = yield* this.countSuspects(rows.filter((row) => this.sendable(row, loadedOf)))
      const at = yield* Clock.currentTimeMillis
      if (this.parts.ownership.certain()) this.launch(innocent, loadedOf, at)
      else this.giveBack(innocent)
    })
  }

  /** What is gone, recorded by somebody else, or not to be sent now, leaves its slot. */
  private sendable(row: Waiting, loadedOf: ReadonlyMap<string, Loaded>): boolean {
    const loaded = loadedOf.get(row.deliveryId)
    if (loaded?.enabled === true) return true
    if (loaded !== undefined) this.parts.lanes.park(row.endpointId)
    this.gone(row)
    return false
  }

  /** Counted before they are sent; what was taken up too often goes to the dead letters instead. */
  private countSuspects(rows: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Waiting>, SqlError> {
    const suspects = rows.filter((row) => this.isSuspect(row))
    if (suspects.length === 0) return Effect.succeed(rows)
    return Effect.map(this.parts.queue.takeUp(suspects, 1, MAX_TAKE_UPS), (counts) => {
      const poison = new Set(suspects.filter((row) => !counts.has(row.deliveryId)))
      for (const row of poison) this.gone(row)
      if (poison.size > 0) this.parts.deadLettered()
      return rows.filter((row) => !poison.has(row))
    })
  }

  private isSuspect(row: Waiting): boolean {
    return (
      row.takeUps >= MAX_TAKE_UPS || row.due <= (this.suspectUntil.get(row.shard) ?? Number.NEGATIVE_INFINITY)
    )
  }

  private launch(rows: ReadonlyArray<Waiting>, loadedOf: ReadonlyMap<string, Loaded>, at: number): void {
    for (const row of rows) {
      if (this.parts.reader.has(row.shard)) this.attempt(row, loadedOf.get(row.deliveryId)!, at)
      else this.gone(row)
    }
  }

  private attempt(row: Waiting, loaded: Loaded, at: number): void {
    const { prepare, receiver } = this.parts
    try {
      const prepared = prepare(row.endpointId, loaded, Math.floor(at / 1000))
      if (prepared === "invalid_url") {
        this.observe(row, loaded.generation, at, "{}", INVALID_URL)
        return
      }
      const evidence = this.fixedEvidence + prepared.evidence
      receiver.send(prepared, (seen) => {
        // Null: the receiver closed, as the engine's last act. The delivery stays in the queue.
        if (seen !== null) this.observe(row, loaded.generation, at, evidence, seen)
      })
    } catch (defect) {
      this.broken(row, defect)
    }
  }

  private observe(row: Waiting, generation: number, at: number, headers: string, seen: Observation): void {
    const { lanes, ledger, retryDelayMs } = this.parts
    const verdict = judge(row.attempts + 1, seen)
    ledger.add({ row, observed: observedOf({ row, generation, verdict, seen, at, headers, retryDelayMs }) })
    lanes.settle(row, paceOf(seen), verdict.status === "delivered")
    this.ready.raise()
  }

  private broken(row: Waiting, defect: unknown): void {
    const { fork, lanes } = this.parts
    lanes.settle(row, "same", false)
    if (defect instanceof SecretUnreadable) {
      // Not the delivery's fault: nothing is sent to this endpoint until the key is there again.
      lanes.park(row.endpointId)
      lanes.recorded(row)
    } else this.unobserved(row)
    // Errors as such lose their message in JSON logs; a cause keeps it, and the stack.
    const why = defect instanceof SecretUnreadable ? defect.message : Cause.die(defect)
    fork(Effect.logError(`Delivery ${row.deliveryId} could not be attempted`, why))
  }

  /** Ended without an observation: counted, so that a delivery that breaks the worker stops some day. */
  unobserved(row: Waiting): void {
    const { fork, lanes, queue, reader } = this.parts
    fork(
      queue.takeUp([row], 0, MAX_TAKE_UPS).pipe(
        Effect.retry(Schedule.spaced(DEFECT_PAUSE)),
        Effect.delay(DEFECT_PAUSE),
        Effect.map(() => {
          lanes.recorded(row)
          reader.goBackTo(row.due)
        }),
        Effect.orDie
      )
    )
  }

  private gone(row: Waiting): void {
    this.parts.lanes.settle(row, "same", true)
    this.parts.lanes.recorded(row)
  }

  /** Not sent after all. What is of a shard that was lost meanwhile is its next owner's. */
  private giveBack(rows: ReadonlyArray<Waiting>): void {
    for (const row of rows.toReversed()) {
      if (this.parts.reader.has(row.shard)) this.parts.lanes.giveBack(row)
      else this.gone(row)
    }
  }
}

const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"
