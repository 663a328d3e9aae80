/**
 * A look at what became due past where shards were read: answered at once (`posthorn.due`), or when there is something new, then
 * with what a post of it needs (`posthorn.await_due`). It says up to when it looked, in which shards it stopped before, and which
 * transactions may still commit rows behind that. What follows from these is the Reader's. A look takes nothing.
 */
import type { DeliveryId } from "@posthorn/domain/Ids"
import { Effect, Schema } from "effect"
import { plain, type RowOf, type Run, rowOf, statement } from "../Prepared.ts"
import { Count } from "./Columns.ts"
import { RUN, type Runs, type Waiting, waiting } from "./DueRows.ts"
import { type KnownEndpoints, LOADED, type LoadedRow } from "./KnownEndpoints.ts"
import { type Loaded, loadedOf } from "./Loads.ts"

/** How far a shard has been read: everything up to this row was seen, if it was visible then. */
export interface Watermark {
  readonly shard: number
  readonly due: number
  readonly deliveryId: DeliveryId
}

/** A transaction that has published to a shard and may still commit. */
export interface Open {
  readonly transaction: string
  readonly shard: number
}

export interface Due {
  /** The time up to which the statement looked. */
  readonly horizon: number
  /**
   * Those that were open then: what they commit is not among the rows. Nor is what was published within the millisecond.
   * Null: nobody has looked, so the next read has to begin where this one did.
   */
  readonly open: ReadonlyArray<Open> | null
  readonly rows: ReadonlyArray<Waiting>
  /** What a post needs, of those of which it was loaded too, by delivery. */
  readonly loaded: ReadonlyMap<DeliveryId, Loaded>
  /** Shards in which it stopped before that, having looked at as many rows as it may: each with the last one. */
  readonly stopped: ReadonlyArray<Watermark>
}

/** Waits in the database until there is something new, instead of being asked again and again. */
export interface Lookout {
  /** Rows past the marks that the caller has. */
  readonly known: ReadonlyArray<DeliveryId>
  /** Of so many at most it also loads what a post needs, where there are fewer than `fewMost`. */
  readonly loadMost: number
  readonly fewMost: number
  /** Whether the answer is to tell what is open also when there is something new: to ask takes as long as to load. */
  readonly whole: boolean
  /** Between two looks. */
  readonly pauseMs: number
  /** For so long at most. */
  readonly patienceMs: number
}

/** The same columns tell where was looked; without a shard, up to when, and what was open then. */
const PLACE = [
  ["workspace_id", Schema.Null],
  ["endpoint_id", Schema.Null],
  ["shard", Schema.NullOr(Count)],
  ["attempts", Schema.Null],
  ["take_ups", Schema.Null],
  ["delivery_ids", Schema.NullOr(Schema.String)],
  ["dues", Schema.String]
] as const
type Place = RowOf<typeof PLACE>

/** `posthorn.sighted`: with what was loaded, or with nulls. */
const [, ...OF_LOADED] = LOADED
const NOT_LOADED = OF_LOADED.map(([name]) => [name, Schema.Null] as const)
const SIGHTED = [...RUN, ...OF_LOADED] as const
type Sighted = RowOf<typeof SIGHTED>

const DUE = {
  ...statement("posthorn.due($1, $2, $3, $4, $5, $6)", RUN),
  row: Schema.Union(rowOf(RUN), rowOf(PLACE))
}
const AWAIT_DUE = {
  ...statement("posthorn.await_due($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", SIGHTED),
  row: Schema.Union(rowOf(SIGHTED), rowOf([...RUN, ...NOT_LOADED]), rowOf([...PLACE, ...NOT_LOADED]))
}

const isPlace = (run: Runs | Place): run is Place => run[1] === null

const isLoaded = (run: Sighted | ReadonlyArray<unknown>): run is Sighted => run[RUN.length] !== null

const loadedRow = (run: Sighted) => [1, ...run.slice(RUN.length)] as ReadonlyArray<unknown> as LoadedRow

const openOf = (text: string): ReadonlyArray<Open> =>
  text === ""
    ? []
    : text.split(",").map((one) => {
        const [transaction, shard] = one.split(" ")
        return { transaction: transaction!, shard: Number(shard) }
      })

export const due = (
  run: Run,
  marks: ReadonlyArray<Watermark>,
  skip: ReadonlyArray<string>,
  perShard: number,
  lookMost: number
) =>
  Effect.map(
    run(DUE, [
      plain(marks, (mark) => mark.shard),
      plain(marks, (mark) => mark.due),
      plain(marks, (mark) => `"${mark.deliveryId}"`),
      plain(skip, (id) => id),
      perShard,
      lookMost
    ]),
    (runs) => seen(runs)
  )

/**
 * Until what the last answer made ready has gone out: this statement wakes a process of PostgreSQL, which may take the processor
 * for half a millisecond. The HTTP client watches an idle connection for one turn of the event loop before it writes.
 */
const afterPosts = Effect.async<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** Past its patience, until a look is cancelled: while it sleeps, PostgreSQL goes by the server's clock, which may be set back. */
const OVERDUE_MS = 1_000

export const awaitDue = (
  run: Run,
  known: KnownEndpoints,
  marks: ReadonlyArray<Watermark>,
  perShard: number,
  lookMost: number,
  lookout: Lookout
) =>
  Effect.map(
    Effect.zipRight(
      afterPosts,
      run(
        AWAIT_DUE,
        [
          plain(marks, (mark) => mark.shard),
          marks[0]!.due,
          plain(lookout.known, (id) => id),
          perShard,
          lookMost,
          lookout.fewMost,
          lookout.loadMost,
          String(lookout.whole),
          lookout.pauseMs,
          lookout.patienceMs
        ],
        lookout.patienceMs + OVERDUE_MS
      )
    ),
    (runs) => {
      const loaded = new Map<DeliveryId, Loaded>()
      for (const run of runs) if (isLoaded(run)) loaded.set(run[5], loadedOf(known, run[1], loadedRow(run)))
      return seen(runs as ReadonlyArray<unknown> as ReadonlyArray<Runs | Place>, loaded)
    }
  )

const NOTHING: ReadonlyMap<DeliveryId, Loaded> = new Map()

const seen = (runs: ReadonlyArray<Runs | Place>, loaded = NOTHING): Due => {
  const places = runs.filter(isPlace)
  const whole = places.find(([, , shard]) => shard === null)!
  return {
    horizon: Number(whole[6]),
    open: whole[5] === null ? null : openOf(whole[5]),
    rows: waiting(runs.filter((one): one is Runs => !isPlace(one))),
    loaded,
    stopped: places.flatMap(([, , shard, , , deliveryId, due]) =>
      shard === null ? [] : [{ shard, deliveryId: deliveryId!, due: Number(due) }]
    )
  }
}
