/**
 * Polls the outbox: brings due rows into the dispatcher, and decides when to poll again.
 *
 * Its parts are private: the state (Rhythm.ts draws its transitions), the read cursors (ReadCursors.ts), the transactions that
 * may still commit behind them (LateCommits.ts), and the sweep that finds what notifications missed (Sweep.ts). Others tell it
 * where to poll, and what was published, by `PollInbox`.
 *
 * Each row is read once. Asleep, the worker holds the sleep locks of all its shards, so publishers notify it; a notification
 * that names its delivery needs no poll. Awake, it polls, and each poll also returns the transactions that have published and
 * not committed. Notifications and polls only save time: the sweep alone guarantees that nothing is forgotten. No statement waits
 * within the database.
 *
 * Source: spec §3.4 (Due times are judged by the database's clock), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import type { Due } from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { elapsed, elapsedNow } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Array as Arrays, Effect, Option } from "effect"
import type { PollerParts } from "../Parts.ts"
import { schedulesOf, whileAwake } from "../Schedules.ts"
import { LateCommits } from "./LateCommits.ts"
import { SOMETIME } from "./PollInbox.ts"
import { type ReadCursor, ReadCursors } from "./ReadCursors.ts"
import { beginning, next, type Seen, type State } from "./Rhythm.ts"
import { Sweep } from "./Sweep.ts"

/** No need to rewind. */
const NOWHERE = Number.POSITIVE_INFINITY

/** A row due this soon counts as due: the database's clock is known to about a millisecond. */
const SOON_MS = 2

/** The result of one read. */
interface Read extends Pick<Seen, "found" | "transactionsChanged"> {
  /** A shard has more rows; the next read continues there. */
  readonly more: boolean
}

const NOTHING: Read = { found: false, transactionsChanged: false, more: false }

export class Poller {
  private readonly trouble = makeTrouble("The queue cannot be read", "The queue can be read again")
  private readonly parts: PollerParts
  private readonly cursors = new ReadCursors()
  private readonly lateCommits: LateCommits
  private readonly sweep: Sweep
  private state: State
  /** Null while notifications are not heard. */
  private locks: SleepLocks | null = null
  /** Shards whose sleep locks this worker holds. */
  private readonly locked = new Set<number>()
  /** Where the next read rewinds to. */
  private backTo = NOWHERE
  private unfinished = false
  private polledAt = Number.NEGATIVE_INFINITY
  private checkParked = false
  private nextParkedCheck = Number.NEGATIVE_INFINITY
  /** Latest due time of a large batch. Do not rewind into it for rows that may still commit. */
  private crowd = 0

  constructor(parts: PollerParts) {
    this.parts = parts
    this.sweep = new Sweep(parts)
    this.lateCommits = new LateCommits(parts.tuning.restMs)
    this.state = beginning(elapsed(parts.clock), parts.tuning)
  }

  /** From now on every commit that notifies is heard. Earlier ones may have been missed. */
  listening(locks: SleepLocks): void {
    this.locks = locks
    this.locked.clear()
    this.sweep.begin()
    this.parts.inbox.pollFrom(SOMETIME)
  }

  /** The locks went with the connection. */
  stoppedListening(): void {
    this.locks = null
    this.locked.clear()
    this.parts.inbox.pollFrom(NOWHERE)
  }

  /** Runs until interrupted. */
  readonly run: Effect.Effect<never> = Effect.suspend(() => {
    const awake = Effect.repeat(reporting(this.trouble)(this.rounds), whileAwake)
    const asleep = Effect.repeat(Effect.zipRight(this.sleep, reporting(this.trouble)(this.rounds)), {
      while: ({ _tag }) => _tag === "Asleep"
    })
    return Effect.forever(Effect.zipRight(awake, asleep)).pipe(
      Effect.tapError(() => Effect.sync(() => this.sweep.begin())),
      Effect.retry(schedulesOf(this.parts.tuning).readAgain),
      Effect.orDie
    )
  })

  /**
   * Waits until something is due, or may be. Most news needs neither a poll now nor an earlier one, so the timer stays: setting
   * another costs more than taking the news.
   */
  private readonly sleep: Effect.Effect<void> = Effect.suspend(() => {
    const until = this.untilPoll
    if (until <= 0) return Effect.void
    const end = elapsed(this.parts.clock) + until
    const isTime: Effect.Effect<boolean> = Effect.flatMap(this.parts.inbox.news, () => {
      if (this.takeInbox()) return Effect.succeed(true)
      return elapsed(this.parts.clock) + this.untilPoll < end - 1 ? Effect.succeed(false) : isTime
    })
    return Effect.flatMap(Effect.timeoutOption(isTime, until), (told) =>
      Option.getOrElse(told, () => false) ? Effect.void : this.sleep
    )
  })

  /** Whole milliseconds until the next poll of a worker that is asleep. */
  private get untilPoll(): number {
    const now = elapsed(this.parts.clock)
    return Math.ceil(Math.min(this.polledAt + this.parts.tuning.pollMs - now, this.untilDue(now)))
  }

  /** In milliseconds. While memory is full, due rows wait in the database until the hub reports room. */
  private untilDue(now: number): number {
    return this.parts.dispatcher.room === 0 ? NOWHERE : this.cursors.untilDue(now)
  }

  /**
   * Processes the inbox: what was published, where to rewind to, and when something becomes due. True when it is time to poll. A
   * delivery that a read may have returned is read once more; all others need no read.
   */
  private takeInbox(): boolean {
    const now = elapsed(this.parts.clock)
    const { moments, published, sometime } = this.parts.inbox.take()
    if (sometime) {
      this.checkParked = true
      this.backTo = Math.min(this.backTo, this.cursors.recently(this.parts.tuning.lookBackMs))
    }
    const [late, unread] = Arrays.partition(published, (row) => this.cursors.isUnread(row))
    let isTime = sometime
    for (const moment of [...moments, ...late.map(({ due }) => due)]) {
      const isLater = Number.isFinite(moment) && this.cursors.until(moment, now) > SOON_MS
      if (isLater) this.cursors.expect(moment)
      else this.backTo = Math.min(this.backTo, moment)
      isTime ||= !isLater
    }
    if (unread.length > 0) {
      this.parts.dispatcher.add(unread)
      this.see({ found: true, transactionsChanged: false, shardsChanged: false })
    }
    return isTime || this.state._tag === "Awake"
  }

  /** Polls until nothing is left to do at once. */
  private readonly rounds: Effect.Effect<State, SqlError> = Effect.suspend(() =>
    Effect.repeat(this.round, { until: (isOver) => isOver })
  ).pipe(Effect.map(() => this.state))

  /** One poll, and the other pending reads. False if there is more to do at once. */
  private readonly round: Effect.Effect<boolean, SqlError> = Effect.suspend(() => {
    const { clock, dispatcher, queue } = this.parts
    const self = this
    return Effect.gen(function* () {
      self.takeInbox()
      const shardsChanged = self.cursors.follow(dispatcher.terms)
      yield* self.unparkEnabled
      yield* self.refillLanes
      const read = yield* self.read
      self.polledAt = elapsed(clock)
      self.unfinished = read.more
      const sweeps = yield* self.sweep.step
      yield* self.goOn({ ...read, shardsChanged })
      if (read.more || sweeps || dispatcher.needsRefill) return false
      const { shards } = self.cursors
      if (!self.cursors.knowsNextDue && shards.length > 0)
        self.cursors.foundNextDue(yield* queue.nextDue(shards))
      if (self.state._tag === "Asleep") return true
      if (self.state.maySleep && (yield* self.fallAsleep(shards))) return false
      const pauseMs = Math.max(1, Math.ceil(Math.min(self.state.pauseMs, self.untilDue(elapsed(clock)))))
      self.state = { ...self.state, pauseMs }
      return true
    })
  })

  /** Computes the next state. */
  private see(read: Pick<Seen, "found" | "transactionsChanged" | "shardsChanged">): void {
    const hears = this.locks !== null
    const locked = this.cursors.shards.every((shard) => this.locked.has(shard))
    this.state = next(
      this.state,
      { ...read, at: elapsed(this.parts.clock), hears, locked },
      this.parts.tuning
    )
  }

  /** The same, and a worker that is no longer asleep releases the sleep locks. */
  private goOn(read: Pick<Seen, "found" | "transactionsChanged" | "shardsChanged">): Effect.Effect<void> {
    this.see(read)
    const keeps = this.state._tag === "Asleep" || this.state.maySleep
    if ((keeps && !read.shardsChanged) || this.locks === null || this.locked.size === 0) return Effect.void
    this.locked.clear()
    // All notifications up to now are in the inbox, or will be.
    return Effect.ignore(this.locks.release)
  }

  /** Takes the sleep locks that are free. True if it got some: then it must poll once more. */
  private fallAsleep(shards: ReadonlyArray<number>): Effect.Effect<boolean> {
    const { locks } = this
    const wanted = shards.filter((shard) => !this.locked.has(shard) && !this.lateCommits.isOpen(shard))
    if (locks === null || wanted.length === 0) return Effect.succeed(false)
    return locks.take(wanted).pipe(
      Effect.map((taken) => {
        // The connection broke meanwhile, and the locks with it.
        if (this.locks !== locks) return false
        for (const shard of taken) this.locked.add(shard)
        return taken.length > 0
      }),
      Effect.orElseSucceed(() => false)
    )
  }

  private readonly read: Effect.Effect<Read, SqlError> = Effect.suspend(() => {
    const { dispatcher, queue, tuning } = this.parts
    const cursors = this.cursors.list
    const { room } = dispatcher
    if (cursors.length === 0 || room === 0) return Effect.succeed(NOTHING)
    const hears = this.locks !== null || this.unfinished
    const backTo = hears ? this.backTo : Math.min(this.backTo, this.cursors.recently(tuning.lookBackMs))
    this.backTo = NOWHERE
    this.cursors.goBack(backTo)
    const share = Math.ceil(Math.min(room, tuning.readMost) / cursors.length)
    const perShard = Math.max(tuning.shardLeast, Math.min(tuning.shardMost, share))
    dispatcher.readStarted()
    return queue.due(cursors, dispatcher.skip(backTo), perShard, tuning.scanLimit).pipe(
      Effect.zipWith(elapsedNow, (due, now) => this.accept(cursors, due, perShard, now)),
      Effect.ensuring(Effect.sync(() => dispatcher.readEnded()))
    )
  })

  private accept(read: ReadonlyArray<ReadCursor>, due: Due, perShard: number, now: number): Read {
    const before = this.cursors.horizon
    this.parts.dispatcher.add(due.rows)
    const unread = new Set(read.filter(({ isNew }) => isNew).map(({ shard }) => shard))
    const { back, soon, transactionsChanged, sweeps } = this.lateCommits.seen(
      due.open,
      due.horizon,
      before,
      (shard) => unread.has(shard)
    )
    // Only now: a sweep before this read might have missed rows committed in between.
    if (sweeps || read.some(({ isNew, term }) => isNew && !term.lost)) this.sweep.begin()
    const more = this.cursors.advance(read, due, perShard, now)
    const again = due.rows.filter((row) => row.due >= soon).length
    if (more || again > this.parts.tuning.largeBatchFrom) this.crowd = due.horizon
    this.backTo = Math.min(this.backTo, soon <= this.crowd ? back : soon)
    return { found: due.rows.some((row) => row.due >= before), transactionsChanged, more }
  }

  private readonly refillLanes: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const { dispatcher, queue, tuning } = this.parts
    const wanted = dispatcher.toRefill(tuning.refillMost)
    if (wanted.length === 0) return Effect.void
    dispatcher.readStarted()
    return queue.dueOfEndpoints(wanted).pipe(
      Effect.map((rows) => dispatcher.refill(wanted, rows)),
      Effect.ensuring(Effect.sync(() => dispatcher.readEnded()))
    )
  })

  /** Unparks endpoints that can be used again. */
  private readonly unparkEnabled: Effect.Effect<void, SqlError> = Effect.flatMap(elapsedNow, (now) => {
    const { dispatcher, queue, tuning } = this.parts
    if (!this.checkParked && now < this.nextParkedCheck) return Effect.void
    this.checkParked = false
    this.nextParkedCheck = now + tuning.suspendedCheckMs
    const parked = dispatcher.suspendedLanes
    if (parked.length === 0) return Effect.void
    return Effect.map(queue.disabledAmong(parked), (disabled) => {
      const still = new Set(disabled)
      for (const { endpointId } of parked) if (!still.has(endpointId)) dispatcher.resume(endpointId)
    })
  })
}
