/**
 * Brings what is due from the database into the lanes, reading each row once.
 *
 * Each shard has a watermark: where reading stopped. Rows past it are new. What can appear behind it comes from a
 * transaction that took its time before it committed. Either a read has seen it while it was open, or it notifies
 * (Alertness.ts): then the watermark goes back to before it published. Cost per read: one index range per shard, whatever
 * lies behind.
 *
 * What waited before a shard was read for the first time, and what no notification told of, is found by the sweep
 * (Sweep.ts): it alone makes it true that nothing is forgotten. It goes on step by step beside the reading, so nothing new
 * waits for it.
 * Durations are of a clock that only goes forward.
 *
 * Source: decision §7 (Due times are judged by the database's clock), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import type { Due, Lookout, Waiting } from "@posthorn/persistence/Queue"
import type { SleepLocks } from "@posthorn/persistence/SleepLocks"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, telling } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import { Alertness } from "./internal/Alertness.ts"
import { isBefore } from "./lanes/Lane.ts"
import type { Tenure } from "./lanes/Tenure.ts"
import type { ReaderParts } from "./Parts.ts"
import { schedulesOf } from "./Schedules.ts"
import { Sweep } from "./Sweep.ts"

/** To go back to: there is nothing behind. */
const NOWHERE = Number.POSITIVE_INFINITY

export class Reader {
  private readonly trouble = makeTrouble("The queue cannot be read", "The queue can be read again")
  private readonly parts: ReaderParts
  private readonly sweep: Sweep
  private readonly alertness: Alertness
  private nextParkedCheck = Number.NEGATIVE_INFINITY
  private checkParked = false
  /** The last read stopped at its limit: the next one goes on from there. */
  private unfinished = false
  private listening = false
  /** Up to when many came: for what may be new among them nobody goes back before it is. */
  private crowd = 0
  /** What the last read showed and the next one would show again. */
  private known: Lookout["known"] = []
  private lookout: Lookout | null = null

  constructor(parts: ReaderParts) {
    this.parts = parts
    this.sweep = new Sweep(parts)
    this.alertness = new Alertness(parts.tuning, parts.clock)
  }

  /** A publisher found this worker asleep: there is something since this moment in these shards. */
  woken(since: number, shards: ReadonlyArray<number>): void {
    if (!shards.some((shard) => this.parts.lanes.owns(shard))) return
    this.alertness.rouse()
    this.parts.lanes.agenda.goBackTo(since)
  }

  /** Somebody says that an endpoint may be usable again, or that there is more to do without knowing since when. */
  lookAgain(): void {
    this.checkParked = true
    this.parts.lanes.agenda.goBackTo(this.recently)
  }

  /** From now on nothing committed goes unheard; what was until now, nobody knows. */
  hearing(locks: SleepLocks): void {
    this.listening = true
    this.alertness.listening(locks)
    this.sweep.begin()
    this.lookAgain()
  }

  deaf(): void {
    this.listening = false
    this.alertness.deaf()
    this.parts.lanes.agenda.wake.raise()
  }

  private get recently(): number {
    return this.parts.lanes.agenda.since(this.parts.tuning.lookBackMs)
  }

  /** Runs until interrupted. */
  readonly run: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(telling(this.trouble)(this.round)).pipe(
      Effect.tapError(() => Effect.sync(() => this.sweep.begin())),
      Effect.retry(schedulesOf(this.parts.tuning).readAgain),
      Effect.orDie
    )
  )

  private readonly round: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const self = this
    const { agenda } = this.parts.lanes
    return Effect.gen(function* () {
      // Of a shard that was taken the locks are not ours yet; for one that was lost its next owner wants them.
      if (agenda.haveShardsChanged()) self.alertness.rouse()
      yield* self.unparkEnabled(elapsed(self.parts.clock))
      yield* self.refillLanes
      const more = yield* self.alertness.isRoused
        ? Effect.zipLeft(self.readOn, self.alertness.wakeUp, { concurrent: true })
        : self.readOn
      self.unfinished = more
      const sweeping = self.parts.lanes.room > 0 && (yield* self.sweep.step)
      if (more || sweeping || (self.parts.lanes.hasThin && self.parts.lanes.room > 0)) return
      const { shards } = self.parts.lanes
      if (!agenda.knowsNextDue && shards.length > 0)
        agenda.foundNextDue(yield* self.parts.queue.nextDue(shards))
      if (yield* self.alertness.fallAsleep(shards)) return
      self.lookout = self.lookOut(shards)
      if (self.lookout !== null) return
      const until = agenda.untilDue(elapsed(self.parts.clock))
      yield* agenda.wake.waitAtMost(Math.max(1, Math.min(self.alertness.pause(shards), Math.ceil(until))))
    })
  })

  /** Whether the next read goes on looking by itself: so what is new is on its way here the sooner, and at less cost. */
  private lookOut(shards: ReadonlyArray<number>): Lookout | null {
    const { known, parts } = this
    const { agenda } = parts.lanes
    const mayStay = !agenda.wake.isRaised && parts.lanes.room > 0 && known.length <= parts.tuning.knownMost
    if (!mayStay || parts.lanes.skip(NOWHERE).length > 0) return null
    const lookout = this.alertness.lookout(shards)
    const { earlyMost, fewMost, wholeFrom } = parts.tuning
    const whole = known.length >= wholeFrom || this.alertness.hasOld
    const loadMost = Math.max(0, Math.min(earlyMost, parts.lanes.slots.free))
    return lookout && { ...lookout, known, fewMost, loadMost, whole }
  }

  /** True when a shard may have more. */
  private readonly readOn: Effect.Effect<boolean, SqlError> = Effect.suspend(() => {
    const { room, tenures } = this.parts.lanes
    const { lookMost, readMost, shardLeast, shardMost } = this.parts.tuning
    if (tenures.length === 0 || room === 0) return Effect.succeed(false)
    const backTo = this.goBack(tenures)
    const perShard = Math.max(
      shardLeast,
      Math.min(shardMost, Math.ceil(Math.min(room, readMost) / tenures.length))
    )
    const skip = this.parts.lanes.skip(backTo)
    const lookout = skip.length === 0 && areSame(tenures) ? this.lookout : null
    this.lookout = null
    this.parts.lanes.readStarted()
    const latest = elapsed(this.parts.clock) + (lookout?.patienceMs ?? 0) + this.parts.tuning.freshMs
    return this.parts.queue.due(tenures, skip, perShard, lookMost, lookout).pipe(
      Effect.map((due) => {
        this.parts.lanes.early.put(due.rows, due.loaded, elapsed(this.parts.clock), latest)
        return this.accept(tenures, due, perShard)
      }),
      Effect.ensuring(Effect.sync(() => this.parts.lanes.readEnded()))
    )
  })

  /** To when; infinity when there is nothing behind. */
  private goBack(tenures: ReadonlyArray<Tenure>): number {
    const hears = this.listening || this.unfinished
    const to = this.parts.lanes.agenda.begin(hears ? NOWHERE : this.recently)
    for (const tenure of tenures) {
      if (tenure.due < to) continue
      tenure.due = Math.max(0, to)
      tenure.deliveryId = ""
    }
    return to
  }

  private accept(read: ReadonlyArray<Tenure>, due: Due, perShard: number): boolean {
    const { agenda } = this.parts.lanes
    this.parts.lanes.add(due.rows)
    if (due.open === null) return this.goOn(due)
    const before = agenda.horizon
    const unread = new Set(read.filter(({ isNew }) => isNew).map(({ shard }) => shard))
    const { anyTime, back, soon } = this.alertness.looked(due.open, due.horizon, before, (shard) =>
      unread.has(shard)
    )
    // Only now: a sweep of before this read might have passed by what was committed in between.
    if (anyTime || read.some(({ isNew, lost }) => isNew && !lost)) this.sweep.begin()
    if (due.rows.some((row) => row.due >= before)) this.alertness.stir()
    const more = this.moveMarks(read, due, perShard)
    const isCrowd = more || due.rows.filter((row) => row.due >= soon).length > this.parts.tuning.knownMost
    if (isCrowd) this.crowd = due.horizon
    const next = soon <= this.crowd ? back : soon
    this.known = due.rows.filter((row) => row.due >= next).map(({ deliveryId }) => deliveryId)
    agenda.looked(due.horizon, next, elapsed(this.parts.clock))
    return more
  }

  /** Only something new was found: the next read begins where this one did, and knows it. */
  private goOn({ rows }: Due): false {
    this.known = rows.map(({ deliveryId }) => deliveryId)
    this.alertness.stir()
    return false
  }

  /** Each to where the read stopped. */
  private moveMarks(read: ReadonlyArray<Tenure>, due: Due, perShard: number): boolean {
    const last = new Map<number, { readonly row: Waiting; readonly count: number }>()
    for (const row of due.rows) {
      const known = last.get(row.shard)
      const later = known === undefined || isBefore(known.row, row) ? row : known.row
      last.set(row.shard, { row: later, count: (known?.count ?? 0) + 1 })
    }
    const stopped = new Map(due.stopped.map((place) => [place.shard, place]))
    let more = false
    for (const tenure of read) {
      // Lost while it was read: if it is ours again, it is read anew.
      if (tenure.lost) continue
      const found = last.get(tenure.shard)
      const end = found?.count === perShard ? found.row : stopped.get(tenure.shard)
      more ||= end !== undefined
      tenure.isNew = false
      tenure.due = end?.due ?? due.horizon
      tenure.deliveryId = end?.deliveryId ?? ""
    }
    return more
  }

  private readonly refillLanes: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const wanted = this.parts.lanes.toRefill(this.parts.tuning.refillMost)
    if (wanted.length === 0) return Effect.void
    this.parts.lanes.readStarted()
    return this.parts.queue.dueOf(wanted).pipe(
      Effect.map((rows) => this.parts.lanes.refill(wanted, rows)),
      Effect.ensuring(Effect.sync(() => this.parts.lanes.readEnded()))
    )
  })

  private unparkEnabled(now: number): Effect.Effect<void, SqlError> {
    if (!this.checkParked && now < this.nextParkedCheck) return Effect.void
    this.checkParked = false
    this.nextParkedCheck = now + this.parts.tuning.parkedCheckMs
    const parked = this.parts.lanes.parkedLanes()
    if (parked.length === 0) return Effect.void
    return Effect.map(this.parts.queue.disabledAmong(parked), (disabled) => {
      const still = new Set(disabled)
      for (const { endpointId } of parked) if (!still.has(endpointId)) this.parts.lanes.unpark(endpointId)
    })
  }
}

/** Read to the same moment, whole. */
const areSame = (tenures: ReadonlyArray<Tenure>): boolean =>
  tenures.every(({ deliveryId, due, isNew }) => !isNew && due === tenures[0]!.due && deliveryId === "")
