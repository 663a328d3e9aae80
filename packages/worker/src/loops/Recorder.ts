/**
 * Records observations in batches: those that settle while one batch is written form the next.
 *
 * - There is one writer. So the order is kept, and it never waits for a lock that it holds itself.
 * - While the database is unavailable, observations are kept and retried; the Loader stops at `mostUnrecorded`.
 * - A batch whose COMMIT got no answer is sent again. Observations that were stored the first time change nothing the second.
 * - Locked rows hold up their own endpoint only: one query finds them, and they are retried twice a second.
 * - A refused row is sent again without headers, signature and body. If it is refused again, it counts as unobserved. For
 * `REFUSED_MS` its endpoint is recorded apart.
 *
 * Source: spec §2.3 and §3.4 (First observation wins), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { judge } from "@posthorn/domain/Verdict"
import { isDatabaseAway, isInTheWay, sqlProblemOf } from "@posthorn/persistence/client/Statement"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Disabled, Observed, Recorded, RecordedEach } from "@posthorn/persistence/engine/Records"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Array as Arrays, Effect } from "effect"
import { LRUCache } from "lru-cache"
import type { Settled } from "../dispatcher/Dispatched.ts"
import * as Meters from "../EngineMeters.ts"
import type { Parts } from "../Parts.ts"
import { recordAgain } from "../Schedules.ts"

type Batch = ReadonlyArray<Settled>

const LOCK_NOT_AVAILABLE = "55P03"
const isBlocked = (error: SqlError) => sqlProblemOf(error).code === LOCK_NOT_AVAILABLE
const isAway = (error: SqlError) => isDatabaseAway(error) && !isInTheWay(sqlProblemOf(error).code)
const mayComeBack = (error: SqlError) => isDatabaseAway(error) && !isBlocked(error)

/** More observations are expected for this many linger times after a batch was stored. */
const STREAM = 3

const REFUSED_MS = 60_000
const REFUSED_MOST = 1_000

const NONE_REFUSED: RecordedEach["refused"] = new Map()

export class Recorder {
  private readonly trouble = makeTrouble(
    "Attempts cannot be recorded, and are kept",
    "Attempts can be recorded again"
  )
  private readonly parts: Parts
  /** Observations whose rows are locked. Nothing else waits for them. */
  private readonly aside: Array<Settled> = []
  private nextTry = 0
  private readonly refused: LRUCache<string, true>
  private storedAt = Number.NEGATIVE_INFINITY
  private readonly fixedHeaders: string

  constructor(parts: Parts) {
    this.parts = parts
    this.fixedHeaders = JSON.stringify(parts.sender.fixedHeaders)
    this.refused = new LRUCache({
      max: REFUSED_MOST,
      ttl: REFUSED_MS,
      perf: { now: () => elapsed(parts.clock) }
    })
  }

  /** Interruptible between batches, never within one. */
  readonly run: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      const { dispatcher, tuning } = this.parts
      if (dispatcher.unrecorded.length === 0) {
        if (this.aside.length === 0) return dispatcher.toRecord.wait
        return Effect.zipRight(dispatcher.toRecord.waitAtMost(tuning.blockedPauseMs), this.writeBatch)
      }
      if (dispatcher.unrecorded.length >= tuning.batchWanted || !this.moreIsComing) return this.writeBatch
      return Effect.zipRight(dispatcher.batchIsFull.waitAtMost(tuning.lingerMs), this.writeBatch)
    })
  )

  /** One larger batch is cheaper than two. */
  private get moreIsComing(): boolean {
    const { clock, dispatcher, tuning } = this.parts
    return dispatcher.inFlight > 0 || elapsed(clock) - this.storedAt < STREAM * tuning.lingerMs
  }

  private readonly writeBatch: Effect.Effect<void> = Effect.suspend(() =>
    this.aside.length > 0 && elapsed(this.parts.clock) >= this.nextTry
      ? Effect.zipRight(this.writeAside, this.writeFresh)
      : this.writeFresh
  )

  private readonly writeAside: Effect.Effect<void> = Effect.suspend(() =>
    this.sift(this.aside.splice(0)).pipe(
      // The pause begins at the end of this try, so that other observations have their turn.
      Effect.ensuring(Effect.sync(() => this.tryLater()))
    )
  )

  private readonly writeFresh: Effect.Effect<void> = Effect.suspend(() => {
    const batch = this.parts.dispatcher.unrecorded.take(this.parts.tuning.batchMost)
    if (this.refused.size === 0) return this.writeAccepted(batch)
    const [accepted, watched] = Arrays.partition(batch, ({ row }) => this.refused.has(row.endpointId))
    return Effect.zipRight(this.writeAccepted(accepted), this.storeEach(watched))
  })

  private writeAccepted(batch: Batch): Effect.Effect<void> {
    if (this.aside.length === 0) return this.store(batch)
    const [free, blocked] = Arrays.partition(batch, ({ row }) => row.lane.awaitsRecord)
    this.setAside(blocked)
    return this.sift(free)
  }

  private tryLater(): void {
    this.nextTry = elapsed(this.parts.clock) + this.parts.tuning.blockedPauseMs
  }

  private store(batch: Batch): Effect.Effect<void> {
    return this.write(batch, () => this.sift(batch))
  }

  private write(batch: Batch, whenBlocked: () => Effect.Effect<void>): Effect.Effect<void> {
    if (batch.length === 0) return Effect.void
    const { record } = this.parts.records
    return this.send(record, batch).pipe(
      Effect.flatMap((result) => this.stored(batch, result)),
      Effect.catchAll((error) => (isBlocked(error) ? whenBlocked() : this.storeRefused(batch, error)))
    )
  }

  private sift(batch: Batch): Effect.Effect<void> {
    if (batch.length === 0) return Effect.void
    const { records, tuning } = this.parts
    return records.blocked(batch.map(({ observed }) => observed)).pipe(
      Effect.retry({ schedule: recordAgain, while: mayComeBack }),
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning("Locked rows are found by halving", error), new Set<string>())
      ),
      Effect.flatMap((endpoints) => {
        const [free, blocked] = Arrays.partition(batch, ({ row }) => endpoints.has(row.endpointId))
        this.setAside(blocked)
        return Effect.forEach(Arrays.chunksOf(free, tuning.batchMost), (some) => this.storeFree(some), {
          discard: true
        })
      })
    )
  }

  private storeFree(batch: Batch): Effect.Effect<void> {
    return this.write(batch, () => this.goRound(batch))
  }

  /** For rows locked since the query, or by a lock that the query does not show: halves the batch to find their endpoints. */
  private goRound(batch: Batch): Effect.Effect<void> {
    const lanes = [...new Set(batch.map(({ row }) => row.lane))]
    if (lanes.length === 1) return Effect.sync(() => this.setAside(batch))
    const half = new Set(lanes.slice(lanes.length >> 1))
    const [first, second] = Arrays.partition(batch, ({ row }) => half.has(row.lane))
    return Effect.zipRight(this.storeFree(first), this.storeFree(second))
  }

  private setAside(batch: Batch): void {
    if (batch.length === 0) return
    if (this.aside.length === 0) this.tryLater()
    this.aside.push(...batch)
    this.parts.dispatcher.setAside(batch)
  }

  /** Locks and conflicts with other sessions are not reported as an outage. */
  private send<A>(
    record: (observed: ReadonlyArray<Observed>, fixedHeaders: string) => Effect.Effect<A, SqlError>,
    batch: Batch
  ): Effect.Effect<A, SqlError> {
    const observed = batch.map((settled) => settled.observed)
    return Effect.uninterruptible(record(observed, this.fixedHeaders)).pipe(
      Effect.tapBoth({
        onFailure: (error) => (isAway(error) ? this.trouble.failed(reasonOf(error)) : Effect.void),
        onSuccess: () => this.trouble.over
      }),
      Effect.retry({ schedule: recordAgain, while: mayComeBack })
    )
  }

  private storeRefused(batch: Batch, error: SqlError): Effect.Effect<void> {
    const [only, ...others] = batch
    if (only === undefined) return Effect.void
    return others.length === 0 ? this.storeBare(only, error) : this.storeEach(batch)
  }

  private storeEach(batch: Batch): Effect.Effect<void> {
    if (batch.length === 0) return Effect.void
    const { recordEach } = this.parts.records
    return this.send(recordEach, batch).pipe(
      Effect.flatMap((result) =>
        Effect.zipRight(
          this.stored(batch, result, result.refused),
          Effect.forEach(result.refused, ([index, why]) => this.storeBare(batch[index]!, why), {
            discard: true
          })
        )
      ),
      Effect.catchAll((error) => {
        if (isBlocked(error)) return this.goRound(batch)
        // The database could not even read the values.
        return Effect.forEach(batch, (one) => this.store([one]), { discard: true })
      })
    )
  }

  private storeBare(settled: Settled, error: unknown): Effect.Effect<void> {
    const { deliveryId, endpointId } = settled.row
    this.refused.set(endpointId, true)
    const nothing = { responseBody: null, responseHeaders: null, signature: null, requestHeaders: null }
    const bare = { ...settled, observed: { ...settled.observed, ...nothing } }
    return Effect.logWarning(`The evidence of ${deliveryId} was refused; storing it bare`, error).pipe(
      Effect.zipRight(this.send(this.parts.records.record, [bare])),
      Effect.flatMap((result) => this.stored([settled], result)),
      Effect.catchAll((again) => {
        if (isBlocked(again)) return this.goRound([settled])
        return Effect.logError(`No observation of ${deliveryId} could be stored`, again).pipe(
          Effect.map(() => this.parts.dispatcher.unrecordable(settled))
        )
      })
    )
  }

  private stored(batch: Batch, result: Recorded, refused = NONE_REFUSED): Effect.Effect<void> {
    const { changed, deadLettered, disabled, moment, tooLate } = result
    const { clock, dispatcher, inbox, trace } = this.parts
    this.storedAt = elapsed(clock)
    const told = tellDisabled(batch, disabled)
    if (disabled.length > 0) {
      const ids = new Set(disabled.map(({ endpointId }) => endpointId))
      dispatcher.requeueReady(({ row }) => ids.has(row.endpointId))
      Meters.disabled(disabled.length)
    }
    let waitMs = Number.POSITIVE_INFINITY
    for (const [index, settled] of batch.entries()) {
      const { observed, row } = settled
      if (changed.has(row.endpointId) || refused.has(index)) continue
      if (!tooLate.includes(index)) Meters.recorded(observed, row.due)
      trace?.(settled)
      waitMs = Math.min(waitMs, observed.waitMs ?? waitMs)
      dispatcher.recorded(settled)
    }
    if (Number.isFinite(waitMs)) inbox.tell({ kind: "from", moment: databaseMicros(moment + waitMs * 1000) })
    if (deadLettered > 0) dispatcher.givenUp.notify()
    dispatcher.notifyLoader()
    if (changed.size === 0) return told
    return Effect.zipRight(
      told,
      this.judgeAgain(batch.filter(({ row }, n) => changed.has(row.endpointId) && !refused.has(n)))
    )
  }

  private judgeAgain(batch: Batch): Effect.Effect<void> {
    const { databaseClock, records, resolve } = this.parts
    const now = databaseClock.now()
    return records.policies(batch.map(({ row }) => row)).pipe(
      Effect.retry({ schedule: recordAgain, while: mayComeBack }),
      Effect.orDie,
      Effect.flatMap((policies) => {
        for (const [n, settled] of batch.entries()) {
          const policy = policies[n]
          // The endpoint is gone.
          if (policy === null || policy === undefined) continue
          const { deliveryId, ordinal } = settled.observed
          const again = judge(
            resolve(policy),
            { deliveryId, ordinal, retry: settled.retry, now },
            settled.seen
          )
          settled.observed = { ...settled.observed, ...again, policyVersion: policy.version }
        }
        return this.store(batch)
      })
    )
  }
}

const tellDisabled = (batch: Batch, disabled: ReadonlyArray<Disabled>): Effect.Effect<void> =>
  Effect.forEach(
    disabled,
    ({ endpointId, reason }) => {
      const { workspaceId } = batch.find(({ row }) => row.endpointId === endpointId)!.row
      return Effect.annotateLogs(Effect.logInfo("Endpoint disabled by its failures"), {
        workspaceId,
        endpointId,
        reason
      })
    },
    { discard: true }
  )
