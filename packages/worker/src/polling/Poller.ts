/**
 * Polls the queue: brings due rows into the lanes. Rhythm.ts decides when a round begins. While the Poller is asleep, news can
 * begin one earlier.
 *
 * A round refills lanes that run low, reads on from the cursors (ReadCursors.ts) or from further back (LateCommits.ts), and makes
 * a step of the sweep (Sweep.ts). The sweep alone guarantees that no row is forgotten. No statement waits for a lock. Source: spec
 * §3.4 (Times), docs/adr/0010-engine.md, docs/adr/0015-publishing.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { type DatabaseMicros, databaseMicros, earliest } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Due, DueRow } from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { elapsed, elapsedNow, type MonotonicMs } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Effect, Option } from "effect"
import type { PollerParts } from "../Parts.ts"
import { schedulesOf } from "../Schedules.ts"
import { LateCommits } from "./LateCommits.ts"
import { NEVER, type ReadCursor, ReadCursors } from "./ReadCursors.ts"
import { beginning, next, type Seen, type State } from "./Rhythm.ts"
import { Sweep } from "./Sweep.ts"

/** The database's clock is known to about a millisecond. */
const SOON_MS = 2

interface ReadResult extends Pick<Seen, "found" | "transactionsChanged"> {
  readonly more: boolean
}

const NOTHING: ReadResult = { found: false, transactionsChanged: false, more: false }

export class Poller {
  private readonly trouble = makeTrouble("The queue cannot be read", "The queue can be read again")
  private readonly parts: PollerParts
  private readonly cursors = new ReadCursors()
  private readonly lateCommits: LateCommits
  private readonly sweep: Sweep
  private state: State
  /** Null while nothing listens. */
  private locks: SleepLocks | null = null
  private readonly locked = new Set<number>()
  /** Shards whose sleep lock another session holds. */
  private lockedByOthers: ReadonlySet<number> = new Set()
  private backTo = NEVER
  private unfinished = false
  /** When a read last returned a large batch. Open transactions cause no rewind to before it. */
  private largeBatchAt = databaseMicros(0)

  constructor(parts: PollerParts) {
    this.parts = parts
    this.sweep = new Sweep(parts)
    this.lateCommits = new LateCommits(parts.tuning.restMs)
    this.state = beginning(elapsed(parts.clock), parts.tuning)
  }

  /** Earlier notifications may have been missed. */
  listening(locks: SleepLocks): void {
    this.locks = locks
    this.locked.clear()
    this.lockedByOthers = new Set()
    this.sweep.begin()
    this.parts.inbox.tell({ kind: "anywhere" })
  }

  stoppedListening(): void {
    this.locks = null
    this.locked.clear()
    this.lockedByOthers = new Set()
    this.parts.inbox.tell({ kind: "goOn" })
  }

  readonly run: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(Effect.zipRight(this.wait, reporting(this.trouble)(this.round))).pipe(
      Effect.tapError(() => Effect.sync(() => this.failed())),
      Effect.retry(schedulesOf(this.parts.tuning).readAgain),
      Effect.orDie
    )
  )

  private failed(): void {
    this.sweep.begin()
    this.decide({ atOnce: true })
  }

  /** While the Poller is asleep, news may bring `pollAt` forward. Most news does not; then the timer stays. */
  private readonly wait: Effect.Effect<void> = Effect.suspend(() => {
    const { pollAt } = this.state
    const pauseMs = Math.ceil(pollAt - elapsed(this.parts.clock))
    if (pauseMs <= 0) return Effect.void
    if (this.state._tag === "Awake") return Effect.sleep(pauseMs)
    const sooner: Effect.Effect<void> = Effect.flatMap(this.parts.inbox.told, () => {
      this.takeInbox()
      return this.state.pollAt < pollAt - 1 ? Effect.void : sooner
    })
    return Effect.flatMap(Effect.timeoutOption(sooner, pauseMs), (news) =>
      Option.isSome(news) ? this.wait : Effect.void
    )
  })

  private decide(seen: Partial<Seen>): void {
    const at = elapsed(this.parts.clock)
    const all: Seen = {
      polled: false,
      found: false,
      transactionsChanged: false,
      shardsChanged: false,
      atOnce: false,
      ...seen,
      at,
      hears: this.locks !== null,
      locked: this.cursors.shards.every((shard) => this.locked.has(shard) || this.lockedByOthers.has(shard)),
      othersLock: this.lockedByOthers.size > 0,
      // With full memory, due rows wait in the database until there is room.
      untilDueMs: this.parts.dispatcher.memory.room === 0 ? NEVER : this.cursors.untilDue(at)
    }
    this.state = next(this.state, all, this.parts.tuning)
  }

  private takeInbox(): void {
    const { dispatcher, inbox, tuning } = this.parts
    const all = inbox.take()
    const unread: Array<DueRow> = []
    let atOnce = false
    for (const news of all) {
      if (news.kind === "delivery" && this.cursors.isUnread(news.row)) unread.push(news.row)
      else if (news.kind === "delivery") atOnce = this.expect(news.row.due) || atOnce
      else if (news.kind === "from") atOnce = this.expect(news.moment) || atOnce
      else atOnce = true
      if (news.kind === "usable") dispatcher.intake.usable(news.endpoint)
      if (news.kind !== "anywhere") continue
      this.backTo = earliest(this.backTo, this.cursors.recently(tuning.lookBackMs))
    }
    if (unread.length > 0) dispatcher.intake.add(unread)
    if (all.length > 0) this.decide({ found: unread.length > 0, atOnce })
  }

  /** True if `due` is now or past: the next read must reach back to it. */
  private expect(due: DatabaseMicros): boolean {
    if (this.cursors.until(due, elapsed(this.parts.clock)) > SOON_MS) {
      this.cursors.expect(due)
      return false
    }
    this.backTo = earliest(this.backTo, due)
    return true
  }

  private readonly round: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const { dispatcher, queue } = this.parts
    const self = this
    return Effect.gen(function* () {
      self.takeInbox()
      const shardsChanged = self.cursors.follow(dispatcher.leases.all)
      yield* self.refillLanes
      const { found, more, transactionsChanged } = yield* self.read
      self.unfinished = more
      const sweeps = yield* self.sweep.step
      const atOnce = more || sweeps || dispatcher.backlog.needsRefill
      const { shards } = self.cursors
      if (!atOnce && !self.cursors.knowsNextDue && shards.length > 0)
        self.cursors.foundNextDue(yield* queue.nextDue(shards))
      self.decide({ found, transactionsChanged, atOnce, polled: true, shardsChanged })
      if (!self.state.maySleep) yield* self.releaseLocks
      else if (!atOnce && (self.state._tag === "Awake" || self.lockedByOthers.size > 0))
        yield* self.takeLocks(shards)
    })
  })

  /** Releasing loses no notification: each one sent before is in the inbox, or will arrive. */
  private readonly releaseLocks: Effect.Effect<void> = Effect.suspend(() => {
    this.lockedByOthers = new Set()
    if (this.locks === null || this.locked.size === 0) return Effect.void
    this.locked.clear()
    return Effect.ignore(this.locks.release)
  })

  /** After new locks the Poller polls once more before it sleeps. It wakes when another session's sleep lock is gone. */
  private takeLocks(shards: ReadonlyArray<number>): Effect.Effect<void> {
    const { locks } = this
    const wanted = shards.filter((shard) => !this.locked.has(shard) && !this.lateCommits.isOpen(shard))
    if (locks === null || wanted.length === 0) return Effect.void
    return locks.take(wanted).pipe(
      Effect.map(({ others, taken }) => {
        // The connection broke meanwhile.
        if (this.locks !== locks) return
        const before = this.lockedByOthers
        this.lockedByOthers = new Set(others)
        for (const shard of taken) this.locked.add(shard)
        const shardsChanged = [...before].some((shard) => !this.lockedByOthers.has(shard))
        if (shardsChanged || taken.length > 0 || others.some((shard) => !before.has(shard)))
          this.decide({ atOnce: true, shardsChanged })
      }),
      Effect.ignore
    )
  }

  private readonly read: Effect.Effect<ReadResult, SqlError> = Effect.suspend(() => {
    const { dispatcher, queue, tuning } = this.parts
    const cursors = this.cursors.list
    const { room } = dispatcher.memory
    if (cursors.length === 0 || room === 0) return Effect.succeed(NOTHING)
    const hears = this.locks !== null || this.unfinished
    const backTo = hears ? this.backTo : earliest(this.backTo, this.cursors.recently(tuning.lookBackMs))
    this.backTo = NEVER
    this.cursors.goBack(backTo)
    const share = Math.ceil(Math.min(room, tuning.readMost) / cursors.length)
    const perShard = Math.max(tuning.shardLeast, Math.min(tuning.shardMost, share))
    dispatcher.ids.readStarted()
    return queue.due(cursors, dispatcher.backlog.skip(backTo), perShard, tuning.scanLimit).pipe(
      Effect.zipWith(elapsedNow, (due, now) => this.accept(cursors, due, perShard, now)),
      Effect.ensuring(Effect.sync(() => dispatcher.ids.readEnded()))
    )
  })

  private accept(read: ReadonlyArray<ReadCursor>, due: Due, perShard: number, now: MonotonicMs): ReadResult {
    const before = this.cursors.horizon
    this.parts.dispatcher.intake.add(due.rows)
    const newShards = new Set(read.filter(({ isNew }) => isNew).map(({ shard }) => shard))
    const { back, soon, sweeps, transactionsChanged } = this.lateCommits.seen(
      due.open,
      due.horizon,
      before,
      (shard) => newShards.has(shard)
    )
    // A sweep that began before this read might have missed rows.
    if (sweeps || read.some(({ isNew, term }) => isNew && !term.lost)) this.sweep.begin()
    const more = this.cursors.advance(read, due, perShard, now)
    const again = due.rows.filter((row) => row.due >= soon).length
    if (more || again > this.parts.tuning.largeBatchFrom) this.largeBatchAt = due.horizon
    this.backTo = earliest(this.backTo, soon <= this.largeBatchAt ? back : soon)
    return { found: due.rows.some((row) => row.due >= before), transactionsChanged, more }
  }

  private readonly refillLanes: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const { dispatcher, queue, tuning } = this.parts
    const wanted = dispatcher.backlog.toRefill(tuning.refillMost)
    if (wanted.length === 0) return Effect.void
    dispatcher.ids.readStarted()
    return queue.dueOfEndpoints(wanted).pipe(
      Effect.map((rows) => dispatcher.intake.refill(wanted, rows)),
      Effect.ensuring(Effect.sync(() => dispatcher.ids.readEnded()))
    )
  })
}
