/**
 * Writes observations down, in groups: whatever finished while the last group was being written is the next group.
 *
 * - One writer, so groups keep their order and cannot wait for each other's locks.
 * - The database is away: the observations are kept and tried again, without end; the engine starts no more than
 *   `MOST_UNRECORDED` ahead of what is written.
 * - The answer to a COMMIT was lost: the same group is sent again, and what was stored already changes nothing.
 * - A row that the database refuses does not sink its group: the group is halved until the row stands alone; then it is
 *   stored without what the receiver answered, and if even that is refused it is given up as unobserved.
 *
 * Source: spec §2.3, decision §7 (First observation wins), docs/adr/0010-engine.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { FAILURE_LIMIT } from "@posthorn/domain/Verdict"
import type { Waiting } from "@posthorn/persistence/Queue"
import { type Observed, type Recorded, Records } from "@posthorn/persistence/Records"
import { isDatabaseAway } from "@posthorn/persistence/Statement"
import { Effect, Schedule } from "effect"
import { Signal } from "./internal/Signal.ts"

export interface Entry {
  readonly row: Waiting
  readonly observed: Observed
}

export interface LedgerEvents {
  /** The entries are stored, for good. */
  readonly stored: (entries: ReadonlyArray<Entry>, result: Recorded) => void
  /** The database refuses this one whatever is left out of it. */
  readonly refused: (entry: Entry) => void
}

const GROUP_MOST = 500

/** How far sending may run ahead of writing. */
export const MOST_UNRECORDED = 1_000

const backOff = Schedule.exponential(100, 2).pipe(Schedule.union(Schedule.spaced(5_000)), Schedule.jittered)

export class Ledger {
  private entries: Array<Entry> = []
  private writing = 0
  private readonly arrived = new Signal()
  private readonly records: Records["Type"]
  private readonly events: LedgerEvents

  constructor(records: Records["Type"], events: LedgerEvents) {
    this.records = records
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
      const group = this.entries.splice(0, GROUP_MOST)
      this.writing = group.length
      return this.store(group).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            this.writing = 0
          })
        )
      )
    })
  )

  private store(group: ReadonlyArray<Entry>): Effect.Effect<void> {
    return this.send(group.map((entry) => entry.observed)).pipe(
      Effect.map((result) => this.events.stored(group, result)),
      Effect.catchAll((error) => this.divide(group, error))
    )
  }

  private send(observed: ReadonlyArray<Observed>): Effect.Effect<Recorded, SqlError> {
    return Effect.uninterruptible(this.records.record(observed, FAILURE_LIMIT)).pipe(
      Effect.tapError((error) => Effect.logDebug("Recording failed", error)),
      Effect.retry({ schedule: backOff, while: isDatabaseAway })
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
    const bare = { ...entry.observed, response_body: null, request_headers: "{}" }
    return Effect.logWarning(`The evidence of ${bare.delivery_id} was refused; storing it bare`, error).pipe(
      Effect.zipRight(this.send([bare])),
      Effect.map((result) => this.events.stored([{ ...entry, observed: bare }], result)),
      Effect.catchAll((again) =>
        Effect.logError(`No observation of ${bare.delivery_id} could be stored`, again).pipe(
          Effect.map(() => this.events.refused(entry))
        )
      )
    )
  }
}

export { Records }

export const make = (events: LedgerEvents): Effect.Effect<Ledger, never, Records> =>
  Effect.map(Records, (records) => new Ledger(records, events))
