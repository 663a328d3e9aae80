/**
 * Writes observations down, in groups: whatever finished while the last group was being written is the next group.
 *
 * - One writer, so groups keep their order and cannot wait for each other's locks.
 * - The database is away: the observations are kept and tried again, without end; the engine starts no more than
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
import type { Waiting } from "@posthorn/persistence/Queue"
import { type Observed, type Recorded, Records } from "@posthorn/persistence/Records"
import { isDatabaseAway, problemOf } from "@posthorn/persistence/Statement"
import { Array as Arrays, type Clock, Effect, Schedule } from "effect"
import { elapsed } from "./internal/Elapsed.ts"
import { Signal } from "./internal/Signal.ts"
import { Tuning, type TuningValues } from "./Tuning.ts"

export interface Entry {
  readonly row: Waiting
  readonly observed: Observed
}

export interface LedgerEvents {
  /** Whether attempts are under way that may end soon. */
  readonly moreComing: () => boolean
  /** The entries are stored, for good. */
  readonly stored: (entries: ReadonlyArray<Entry>, result: Recorded) => void
  /** Somebody holds rows of this endpoint: what is sent to it now cannot be written down for a while. */
  readonly heldUp: (endpointId: string) => void
  /** The database refuses this one whatever is left out of it. */
  readonly refused: (entry: Entry) => void
}

const LOCK_NOT_AVAILABLE = "55P03"
const isHeldUp = (error: SqlError) => problemOf(error).code === LOCK_NOT_AVAILABLE

const backOff = Schedule.exponential(100, 2).pipe(Schedule.union(Schedule.spaced(5_000)), Schedule.jittered)

export class Ledger {
  private entries: Array<Entry> = []
  private writing = 0
  /** Observations whose rows somebody holds, and their endpoints: nothing else waits for them. */
  private readonly aside: Array<Entry> = []
  private readonly heldUp = new Set<string>()
  private nextTry = 0
  private readonly arrived = new Signal()
  private readonly records: Records["Type"]
  private readonly events: LedgerEvents

  /** See `Records`. */
  private readonly fixedHeaders: string

  private readonly tuning: TuningValues

  private readonly clock: Clock.Clock

  constructor(
    records: Records["Type"],
    fixedHeaders: string,
    events: LedgerEvents,
    tuning: TuningValues,
    clock: Clock.Clock
  ) {
    this.records = records
    this.clock = clock
    this.tuning = tuning
    this.fixedHeaders = fixedHeaders
    this.events = events
  }

  /** How far sending has run ahead of writing; what is held up does not count, as its endpoints stay within their caps. */
  get unrecorded(): number {
    return this.entries.length + this.writing
  }

  /** Observations in memory. */
  get kept(): number {
    return this.unrecorded + this.aside.length
  }

  add(entry: Entry): void {
    this.entries.push(entry)
    this.arrived.raise()
  }

  /** The writer; runs until interrupted, never within a group. */
  readonly write: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      if (this.entries.length === 0) {
        if (this.aside.length === 0) return this.arrived.wait
        return Effect.zipRight(this.arrived.waitAtMost(this.tuning.heldPauseMs), this.writeGroup)
      }
      if (this.entries.length >= this.tuning.groupWanted || !this.events.moreComing()) return this.writeGroup
      return Effect.zipRight(Effect.sleep(this.tuning.lingerMs), this.writeGroup)
    })
  )

  /** With what was set aside, when it is time to try that again. */
  private readonly writeGroup: Effect.Effect<void> = Effect.suspend(() => {
    const again = this.aside.length > 0 && elapsed(this.clock) >= this.nextTry
    if (again) this.heldUp.clear()
    const group = [...(again ? this.aside.splice(0) : []), ...this.entries.splice(0, this.tuning.groupMost)]
    const [free, held] = Arrays.partition(group, ({ row }) => this.heldUp.has(row.endpointId))
    this.setAside(held)
    this.writing = free.length
    return (again || this.aside.length > 0 ? this.sift(free) : this.store(free)).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.writing = 0
        })
      )
    )
  })

  private store(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    if (group.length === 0) return Effect.void
    return this.send(group.map((entry) => entry.observed)).pipe(
      Effect.map((result) => this.events.stored(group, result)),
      Effect.catchAll((error) => (isHeldUp(error) ? this.sift(group) : this.divide(group, error)))
    )
  }

  /** One look tells which rows somebody holds; everything else is stored at once. */
  private sift(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    if (group.length === 0) return Effect.void
    return this.records.held(group.map((entry) => entry.observed)).pipe(
      Effect.orElseSucceed((): ReadonlySet<string> => new Set()),
      Effect.flatMap((endpoints) => {
        const [free, held] = Arrays.partition(group, ({ row }) => endpoints.has(row.endpointId))
        this.setAside(held)
        this.writing -= held.length
        return Effect.forEach(Arrays.chunksOf(free, this.tuning.groupMost), (some) => this.storeFree(some), {
          discard: true
        })
      })
    )
  }

  private storeFree(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    return this.send(group.map((entry) => entry.observed)).pipe(
      Effect.map((result) => this.events.stored(group, result)),
      Effect.catchAll((error) => (isHeldUp(error) ? this.goRound(group) : this.divide(group, error)))
    )
  }

  /** Held by what a look does not show, or only since then: found by halving. */
  private goRound(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    const endpoints = [...new Set(group.map(({ row }) => row.endpointId))]
    if (endpoints.length === 1)
      return Effect.sync(() => {
        this.setAside(group)
        this.writing -= group.length
      })
    const half = new Set(endpoints.slice(endpoints.length >> 1))
    const [first, second] = Arrays.partition(group, ({ row }) => half.has(row.endpointId))
    return Effect.zipRight(this.store(first), this.store(second))
  }

  /** Tried again in a while; nobody waits for it but its own endpoint. */
  private setAside(group: ReadonlyArray<Entry>): void {
    if (group.length === 0) return
    if (this.aside.length === 0) this.nextTry = elapsed(this.clock) + this.tuning.heldPauseMs
    for (const { row } of group) {
      if (this.heldUp.has(row.endpointId)) continue
      this.heldUp.add(row.endpointId)
      this.events.heldUp(row.endpointId)
    }
    this.aside.push(...group)
  }

  private send(observed: ReadonlyArray<Observed>): Effect.Effect<Recorded, SqlError> {
    return Effect.uninterruptible(this.records.record(observed, this.fixedHeaders, FAILURE_LIMIT)).pipe(
      Effect.tapError((error) => Effect.logDebug("Recording failed", error)),
      Effect.retry({ schedule: backOff, while: (error) => isDatabaseAway(error) && !isHeldUp(error) })
    )
  }

  private divide(group: ReadonlyArray<Entry>, error: SqlError): Effect.Effect<void> {
    const [only] = group
    if (only === undefined) return Effect.void
    if (group.length === 1) return this.storeBare(only, error)
    const half = group.length >> 1
    return Effect.zipRight(this.store(group.slice(0, half)), this.store(group.slice(half)))
  }

  private storeBare(entry: Entry, error: SqlError): Effect.Effect<void> {
    const bare = { ...entry.observed, responseBody: null, responseHeaders: null, signature: null }
    return Effect.logWarning(`The evidence of ${bare.deliveryId} was refused; storing it bare`, error).pipe(
      Effect.zipRight(this.send([bare])),
      Effect.map((result) => this.events.stored([{ ...entry, observed: bare }], result)),
      Effect.catchAll((again) => {
        if (isHeldUp(again)) return this.goRound([entry])
        return Effect.logError(`No observation of ${bare.deliveryId} could be stored`, again).pipe(
          Effect.map(() => this.events.refused(entry))
        )
      })
    )
  }
}

export const make = (fixedHeaders: string, events: LedgerEvents): Effect.Effect<Ledger, never, Records> =>
  Effect.map(
    Effect.all([Records, Tuning, Effect.clock]),
    ([records, tuning, clock]) => new Ledger(records, fixedHeaders, events, tuning, clock)
  )
