/**
 * Brings what is due from the database into the lanes, reading each row once.
 *
 * Each shard has a watermark: where reading stopped. Rows past it are new. What can appear behind it comes from a
 * transaction that took its time before it committed; its notification names the moment since when, and the watermark
 * goes back there. Cost per read: one index range per shard, whatever lies behind.
 *
 * What waited before a shard was taken, and what no notification told of, is found by the sweep (Sweep.ts): it alone makes
 * it true that nothing is forgotten. It goes on step by step beside the reading, so nothing new waits for it.
 * Durations are of a clock that only goes forward.
 *
 * Source: decision §7 (Due times are judged by the database's clock), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { type Due, Queue, type Waiting, type Watermark } from "@posthorn/persistence/Queue"
import { type Clock, Effect } from "effect"
import { elapsed } from "./internal/Elapsed.ts"
import { isBefore } from "./internal/Lane.ts"
import { Signal } from "./internal/Signal.ts"
import type { Lanes } from "./Lanes.ts"
import { Sweep } from "./Sweep.ts"
import { Tuning, type TuningValues } from "./Tuning.ts"

interface Mark {
  due: number
  deliveryId: string
}

/** Past everything: until the first read says what time it is. */
const NOWHERE: Mark = { due: Number.MAX_SAFE_INTEGER, deliveryId: "" }

export interface ReaderParts {
  readonly queue: Queue["Type"]
  readonly lanes: Lanes
  /** Called when there may be something to pick. */
  readonly filled: () => void
  readonly tuning: TuningValues
  readonly clock: Clock.Clock
}

export class Reader {
  private readonly marks = new Map<number, Mark>()
  private readonly wake = new Signal()
  private readonly queue: Queue["Type"]
  private readonly lanes: Lanes
  private readonly filled: () => void
  private backTo = Number.POSITIVE_INFINITY
  private readonly sweep: Sweep
  private nextParkedCheck = Number.NEGATIVE_INFINITY
  /** When the next known row becomes due, by the database's clock; null when it is not known. */
  private nextDue: number | null = null
  /** Up to when the last read looked, by the database's clock and by ours. */
  private horizon = 0
  private horizonAt = 0
  private checkParked = false
  /** The last read stopped at its limit: the next one goes on from there. */
  private unfinished = false
  private listening = false
  private readonly tuning: TuningValues
  private readonly clock: Clock.Clock

  constructor(parts: ReaderParts) {
    this.queue = parts.queue
    this.lanes = parts.lanes
    this.filled = parts.filled
    this.tuning = parts.tuning
    this.clock = parts.clock
    this.sweep = new Sweep(parts, (rows) => this.ours(rows))
  }

  take(shard: number): void {
    this.marks.set(shard, { ...NOWHERE })
    this.nextDue = null
    this.sweep.begin()
    this.wake.raise()
  }

  drop(shard: number): void {
    this.marks.delete(shard)
  }

  /** The shards that are this worker's. */
  get shards(): ReadonlyArray<number> {
    return [...this.marks.keys()]
  }

  has(shard: number): boolean {
    return this.marks.has(shard)
  }

  /** There is something since this moment (microseconds by the database's clock). */
  goBackTo(moment: number): void {
    this.backTo = Math.min(this.backTo, moment)
    this.wake.raise()
  }

  /** A row will be due then. */
  expect(due: number): void {
    if (due <= this.horizon) this.goBackTo(due)
    else if (this.nextDue !== null && due < this.nextDue) {
      this.nextDue = due
      this.wake.raise()
    }
  }

  /** Somebody says that an endpoint may be usable again, or that there is more to do without knowing since when. */
  lookAgain(): void {
    this.checkParked = true
    this.goBackTo(this.recently)
  }

  /** From now on nothing committed goes unheard; what was until now, nobody knows. */
  hearing(): void {
    this.listening = true
    this.checkParked = true
    this.sweep.begin()
    this.goBackTo(this.recently)
  }

  deaf(): void {
    this.listening = false
  }

  /** So far back looks whoever may have missed something, before the sweep finds it. */
  private get recently(): number {
    return this.horizon === 0 ? Number.POSITIVE_INFINITY : this.horizon - this.tuning.lookBackMs * 1000
  }

  /** There is room again, or a lane runs low. */
  resume(): void {
    this.wake.raise()
  }

  /** Runs until interrupted. */
  readonly run: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(
      Effect.catchAll(this.round, (error) => {
        this.sweep.begin()
        return Effect.zipRight(
          Effect.logWarning("The queue cannot be read", error),
          Effect.sleep(this.tuning.readPauseMs)
        )
      })
    )
  )

  private readonly round: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      const now = elapsed(self.clock)
      yield* self.unparkEnabled(now)
      yield* self.refillLanes
      self.unfinished = yield* self.readOn
      const sweeping = self.lanes.room > 0 && (yield* self.sweep.step)
      if (self.unfinished || sweeping || (self.lanes.hasThin && self.lanes.room > 0)) return
      if (self.nextDue === null && self.marks.size > 0) {
        self.nextDue = (yield* self.queue.nextDue([...self.marks.keys()])) ?? Number.POSITIVE_INFINITY
      }
      yield* self.wake.waitAtMost(self.pause(elapsed(self.clock)))
    })
  })

  private pause(now: number): number {
    const poll = this.listening ? this.tuning.pollMs : this.tuning.deafPollMs
    if (this.nextDue === null || this.nextDue === Number.POSITIVE_INFINITY) return poll
    const untilDue = (this.nextDue - this.horizon) / 1000 - (now - this.horizonAt)
    return Math.max(1, Math.min(poll, Math.ceil(untilDue)))
  }

  /** True when a shard had more than was asked for. */
  private readonly readOn: Effect.Effect<boolean, SqlError> = Effect.suspend(() => {
    const { room } = this.lanes
    const { readMost, shardLeast, shardMost } = this.tuning
    if (this.marks.size === 0 || room === 0) return Effect.succeed(false)
    const backTo = this.goBack()
    const perShard = Math.max(
      shardLeast,
      Math.min(shardMost, Math.ceil(Math.min(room, readMost) / this.marks.size))
    )
    const read = new Map(this.marks)
    const marks: ReadonlyArray<Watermark> = Array.from(read, ([shard, mark]) => ({ shard, ...mark }))
    this.lanes.readStarted()
    return this.queue.due(marks, this.lanes.skip(backTo), perShard).pipe(
      Effect.map((due) => this.accept(read, due, perShard)),
      Effect.ensuring(Effect.sync(() => this.lanes.readEnded()))
    )
  })

  /** To when; infinity when there is nothing behind. */
  private goBack(): number {
    const hears = this.listening || this.unfinished
    const to = Math.min(this.backTo, hears ? Number.POSITIVE_INFINITY : this.recently)
    this.backTo = Number.POSITIVE_INFINITY
    for (const mark of this.marks.values()) {
      if (mark.due < to) continue
      mark.due = Math.max(0, to)
      mark.deliveryId = ""
    }
    return to
  }

  private accept(read: ReadonlyMap<number, Mark>, due: Due, perShard: number): boolean {
    this.lanes.add(this.ours(due.rows))
    this.horizon = due.horizon
    this.horizonAt = elapsed(this.clock)
    if (this.nextDue !== null && this.nextDue <= due.horizon) this.nextDue = null
    const last = new Map<number, { readonly row: Waiting; readonly count: number }>()
    for (const row of due.rows) {
      const known = last.get(row.shard)
      const later = known === undefined || isBefore(known.row, row) ? row : known.row
      last.set(row.shard, { row: later, count: (known?.count ?? 0) + 1 })
    }
    let more = false
    for (const [shard, mark] of read) {
      // Lost while it was read: if it is ours again, it is read anew.
      if (this.marks.get(shard) !== mark) continue
      const found = last.get(shard)
      const unfinished = found?.count === perShard
      more ||= unfinished
      mark.due = unfinished ? found.row.due : due.horizon
      mark.deliveryId = unfinished ? found.row.deliveryId : ""
    }
    if (due.rows.length > 0) this.filled()
    return more
  }

  /** A shard may have been given away, to an owner who sends its rows, while the statement ran. */
  private ours(rows: ReadonlyArray<Waiting>): ReadonlyArray<Waiting> {
    return rows.every((row) => this.marks.has(row.shard))
      ? rows
      : rows.filter((row) => this.marks.has(row.shard))
  }

  private readonly refillLanes: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const wanted = this.lanes.toRefill(this.tuning.refillMost)
    if (wanted.length === 0) return Effect.void
    this.lanes.readStarted()
    return this.queue.dueOf(wanted).pipe(
      Effect.map((rows) => {
        this.lanes.refill(wanted, this.ours(rows))
        this.filled()
      }),
      Effect.ensuring(Effect.sync(() => this.lanes.readEnded()))
    )
  })

  private unparkEnabled(now: number): Effect.Effect<void, SqlError> {
    if (!this.checkParked && now < this.nextParkedCheck) return Effect.void
    this.checkParked = false
    this.nextParkedCheck = now + this.tuning.parkedCheckMs
    const parked = this.lanes.parkedLanes()
    if (parked.length === 0) return Effect.void
    return Effect.map(this.queue.disabledAmong(parked), (disabled) => {
      const still = new Set(disabled)
      for (const { endpointId } of parked) if (!still.has(endpointId)) this.lanes.unpark(endpointId)
    })
  }
}

export const make = (lanes: Lanes, filled: () => void): Effect.Effect<Reader, never, Queue> =>
  Effect.map(
    Effect.all([Queue, Tuning, Effect.clock]),
    ([queue, tuning, clock]) => new Reader({ queue, lanes, filled, tuning, clock })
  )
