/**
 * Writes observations down, in groups: whatever is settled while the last group is being written is the next group.
 *
 * - One writer, so groups keep their order and cannot wait for each other's locks.
 * - The database is away: the observations are kept and tried again, without end; the Loader loads no more than
 *   `mostUnrecorded` ahead of what is written.
 * - The answer to a COMMIT was lost: the same group is sent again, and what was stored already changes nothing.
 * - Rows that somebody else holds for long (the deletion of an endpoint with a long history) hold up their own endpoint only:
 *   one look tells which they are, however many, and they are tried again twice a second.
 * - A row that the database refuses does not sink its group: the group is halved until the row stands alone; then it is
 *   stored without what the receiver answered, and if even that is refused it is given up as unobserved.
 *
 * Source: spec §2.3, decision §7 (First observation wins), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { FAILURE_LIMIT } from "@posthorn/domain/Verdict"
import type { Observed, Recorded } from "@posthorn/persistence/Records"
import { isDatabaseAway, isInTheWay, problemOf } from "@posthorn/persistence/Statement"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Array as Arrays, Effect } from "effect"
import type { Row } from "./lanes/Lane.ts"
import * as Meters from "./Meters.ts"
import type { Parts } from "./Parts.ts"
import { recordAgain } from "./Schedules.ts"

type Rows = ReadonlyArray<Row>

const LOCK_NOT_AVAILABLE = "55P03"
const isHeldUp = (error: SqlError) => problemOf(error).code === LOCK_NOT_AVAILABLE
const isAway = (error: SqlError) => isDatabaseAway(error) && !isInTheWay(problemOf(error).code)
const mayComeBack = (error: SqlError) => isDatabaseAway(error) && !isHeldUp(error)

/** So many times as long as a group waits for more, another one is expected after the last. */
const STREAM = 3

/** Settled, and so observed. */
const observedOf = (row: Row): Observed => row.observed!

export class Ledger {
  private readonly trouble = makeTrouble(
    "Attempts cannot be recorded, and are kept",
    "Attempts can be recorded again"
  )
  private readonly parts: Parts
  /** Those whose rows somebody holds: nothing else waits for them. */
  private readonly aside: Array<Row> = []
  private nextTry = 0
  private storedAt = Number.NEGATIVE_INFINITY
  /** See `Records`. */
  private readonly fixedHeaders: string

  constructor(parts: Parts) {
    this.parts = parts
    this.fixedHeaders = JSON.stringify(parts.receiver.fixedHeaders)
  }

  /** The writer; runs until interrupted, never within a group. */
  readonly run: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      const { lanes, tuning } = this.parts
      if (lanes.settled.length === 0) {
        if (this.aside.length === 0) return lanes.settled.toRecord.wait
        return Effect.zipRight(lanes.settled.toRecord.waitAtMost(tuning.heldPauseMs), this.writeGroup)
      }
      if (lanes.settled.length >= tuning.groupWanted || !this.moreIsComing) return this.writeGroup
      return Effect.zipRight(Effect.sleep(tuning.lingerMs), this.writeGroup)
    })
  )

  /** What is in flight; or, where one came just now, what will be: each call costs as much as what is in it. */
  private get moreIsComing(): boolean {
    const { clock, lanes, tuning } = this.parts
    return lanes.inFlight > 0 || elapsed(clock) - this.storedAt < STREAM * tuning.lingerMs
  }

  /** What was set aside first, when it is time to try that again. */
  private readonly writeGroup: Effect.Effect<void> = Effect.suspend(() =>
    this.aside.length > 0 && elapsed(this.parts.clock) >= this.nextTry
      ? Effect.zipRight(this.writeAside, this.writeFresh)
      : this.writeFresh
  )

  private readonly writeAside: Effect.Effect<void> = Effect.suspend(() =>
    this.sift(this.aside.splice(0)).pipe(
      // From its end on: however long it takes, others have their turn in between.
      Effect.ensuring(Effect.sync(() => this.tryLater()))
    )
  )

  private readonly writeFresh: Effect.Effect<void> = Effect.suspend(() => {
    const group = this.parts.lanes.settled.take(this.parts.tuning.groupMost)
    if (this.aside.length === 0) return this.store(group)
    const [free, held] = Arrays.partition(group, ({ lane }) => lane.heldUp)
    this.setAside(held)
    return this.sift(free)
  })

  private tryLater(): void {
    this.nextTry = elapsed(this.parts.clock) + this.parts.tuning.heldPauseMs
  }

  private store(group: Rows): Effect.Effect<void> {
    return this.write(group, () => this.sift(group))
  }

  private write(group: Rows, whenHeld: () => Effect.Effect<void>): Effect.Effect<void> {
    if (group.length === 0) return Effect.void
    return this.send(group.map(observedOf)).pipe(
      Effect.flatMap((result) => this.stored(group, result)),
      Effect.catchAll((error) => (isHeldUp(error) ? whenHeld() : this.divide(group, error)))
    )
  }

  /** One look tells which rows somebody holds; everything else is stored at once. */
  private sift(group: Rows): Effect.Effect<void> {
    if (group.length === 0) return Effect.void
    const { records, tuning } = this.parts
    return records.held(group.map(observedOf)).pipe(
      Effect.orElseSucceed((): ReadonlySet<string> => new Set()),
      Effect.flatMap((endpoints) => {
        const [free, held] = Arrays.partition(group, (row) => endpoints.has(row.endpointId))
        this.setAside(held)
        return Effect.forEach(Arrays.chunksOf(free, tuning.groupMost), (some) => this.storeFree(some), {
          discard: true
        })
      })
    )
  }

  private storeFree(group: Rows): Effect.Effect<void> {
    return this.write(group, () => this.goRound(group))
  }

  /** Held by what a look does not show, or only since then: found by halving. */
  private goRound(group: Rows): Effect.Effect<void> {
    const lanes = [...new Set(group.map(({ lane }) => lane))]
    if (lanes.length === 1) return Effect.sync(() => this.setAside(group))
    const half = new Set(lanes.slice(lanes.length >> 1))
    const [first, second] = Arrays.partition(group, ({ lane }) => half.has(lane))
    return Effect.zipRight(this.storeFree(first), this.storeFree(second))
  }

  /** Tried again in a while; nobody waits for it but its own endpoint. */
  private setAside(group: Rows): void {
    if (group.length === 0) return
    if (this.aside.length === 0) this.tryLater()
    this.aside.push(...group)
    this.parts.lanes.setAside(group)
  }

  /** Tried until the database is there. That somebody holds rows, or was quicker, is no trouble of that kind. */
  private send(observed: ReadonlyArray<Observed>): Effect.Effect<Recorded, SqlError> {
    const { record } = this.parts.records
    return Effect.uninterruptible(record(observed, this.fixedHeaders, FAILURE_LIMIT)).pipe(
      Effect.tapBoth({
        onFailure: (error) => (isAway(error) ? this.trouble.failed(reasonOf(error)) : Effect.void),
        onSuccess: () => this.trouble.over
      }),
      Effect.retry({ schedule: recordAgain, while: mayComeBack })
    )
  }

  private divide(group: Rows, error: SqlError): Effect.Effect<void> {
    const [only] = group
    if (only === undefined) return Effect.void
    if (group.length === 1) return this.storeBare(only, error)
    const half = group.length >> 1
    return Effect.zipRight(this.store(group.slice(0, half)), this.store(group.slice(half)))
  }

  private storeBare(row: Row, error: SqlError): Effect.Effect<void> {
    row.observed = { ...observedOf(row), responseBody: null, responseHeaders: null, signature: null }
    return Effect.logWarning(`The evidence of ${row.deliveryId} was refused; storing it bare`, error).pipe(
      Effect.zipRight(this.send([row.observed])),
      Effect.flatMap((result) => this.stored([row], result)),
      Effect.catchAll((again) => {
        if (isHeldUp(again)) return this.goRound([row])
        return Effect.logError(`No observation of ${row.deliveryId} could be stored`, again).pipe(
          Effect.map(() => this.parts.lanes.unobserved(row))
        )
      })
    )
  }

  private stored(group: Rows, { deadLettered, disabled, moment, tooLate }: Recorded): Effect.Effect<void> {
    const { clock, lanes, trace } = this.parts
    this.storedAt = elapsed(clock)
    const told = tellDisabled(group, disabled)
    if (disabled.length > 0) {
      lanes.giveBackReady(({ endpointId }) => disabled.includes(endpointId))
      lanes.early.forget()
      Meters.disabled(disabled.length)
    }
    for (const [place, row] of group.entries()) {
      const observed = observedOf(row)
      if (!tooLate.includes(place)) Meters.recorded(observed, row.due)
      trace?.(row, observed)
      if (observed.retryAfterMs !== null) lanes.agenda.expect(moment + observed.retryAfterMs * 1000)
      lanes.recorded(row)
    }
    if (deadLettered > 0) lanes.givenUp.raise()
    lanes.wake()
    return told
  }
}

/** One line for each endpoint that its failures have disabled. */
const tellDisabled = (group: Rows, disabled: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.forEach(
    disabled,
    (endpointId) => {
      const { workspaceId } = group.find((row) => row.endpointId === endpointId)!
      return Effect.annotateLogs(Effect.logInfo(`Endpoint disabled: ${FAILURE_LIMIT} failures in a row`), {
        workspaceId,
        endpointId
      })
    },
    { discard: true }
  )
