/**
 * Writes observations down, in groups: whatever finished while the last group was being written is the next group.
 *
 * - One writer, so groups keep their order and cannot wait for each other's locks.
 * - The database is away: the observations are kept and tried again, without end; the engine starts no more than
 *   `mostUnrecorded` ahead of what is written.
 * - The answer to a COMMIT was lost: the same group is sent again, and what was stored already changes nothing.
 * - Rows that somebody else holds for long (the deletion of an endpoint with a long history) hold up their own endpoint only.
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
import { Array as Arrays, Effect, Schedule } from "effect"
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
  /** Endpoints whose rows were held when last tried: their observations go separately. */
  private readonly heldUp = new Set<string>()
  private readonly arrived = new Signal()
  private readonly records: Records["Type"]
  private readonly events: LedgerEvents

  /** See `Records`. */
  private readonly fixedHeaders: string

  private readonly tuning: TuningValues

  constructor(records: Records["Type"], fixedHeaders: string, events: LedgerEvents, tuning: TuningValues) {
    this.records = records
    this.tuning = tuning
    this.fixedHeaders = fixedHeaders
    this.events = events
  }

  get unrecorded(): number {
    return this.entries.length + this.writing
  }

  add(entry: Entry): void {
    this.entries.push(entry)
    this.arrived.raise()
  }

  /** The writer; runs until interrupted, never within a group. */
  readonly write: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      if (this.entries.length === 0) return this.arrived.wait
      if (this.entries.length >= this.tuning.groupWanted || !this.events.moreComing())
        return this.writeGroup()
      return Effect.zipRight(
        Effect.sleep(this.tuning.lingerMs),
        Effect.suspend(() => this.writeGroup())
      )
    })
  )

  private writeGroup(): Effect.Effect<void> {
    const group = this.entries.splice(0, this.tuning.groupMost)
    this.writing = group.length
    const [free, held] = Arrays.partition(group, ({ row }) => this.heldUp.has(row.endpointId))
    return Effect.zipRight(this.store(free), this.store(held)).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.writing = 0
        })
      )
    )
  }

  private store(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    if (group.length === 0) return Effect.void
    return this.send(group.map((entry) => entry.observed)).pipe(
      Effect.map((result) => {
        if (this.heldUp.size > 0) for (const { row } of group) this.heldUp.delete(row.endpointId)
        this.events.stored(group, result)
      }),
      Effect.catchAll((error) => (isHeldUp(error) ? this.goRound(group) : this.divide(group, error)))
    )
  }

  /** Somebody holds rows of an endpoint, to delete it perhaps: those wait at the end of the line, the others go on. */
  private goRound(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    const endpoints = [...new Set(group.map(({ row }) => row.endpointId))]
    const [only] = endpoints
    if (endpoints.length === 1)
      return Effect.sync(() => {
        this.heldUp.add(only!)
        this.events.heldUp(only!)
        this.entries.push(...group)
      })
    const half = new Set(endpoints.slice(endpoints.length >> 1))
    const [first, second] = Arrays.partition(group, ({ row }) => half.has(row.endpointId))
    return Effect.zipRight(this.store(first), this.store(second))
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
      Effect.catchAll((again) =>
        Effect.logError(`No observation of ${bare.deliveryId} could be stored`, again).pipe(
          Effect.map(() => this.events.refused(entry))
        )
      )
    )
  }
}

export const make = (fixedHeaders: string, events: LedgerEvents): Effect.Effect<Ledger, never, Records> =>
  Effect.map(
    Effect.all([Records, Tuning]),
    ([records, tuning]) => new Ledger(records, fixedHeaders, events, tuning)
  )
