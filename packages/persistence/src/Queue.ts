/**
 * The outbox as a worker sees it: what is due, what a post needs, and the few marks a take-up leaves.
 *
 * Reading takes nothing: whoever owns a shard remembers what it holds. So a claim costs no write, and a read that is
 * repeated does no harm. The statements are functions in migrations/0004_engine.sql, so that PostgreSQL keeps their
 * plans. Times are microseconds since 1970 by the database's clock. Source: spec §3.1 and §8, decision §7.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "./internal/Columns.ts"
import { type DispatchEndpoint, KnownEndpoints, LOADED, type LoadedRow } from "./internal/KnownEndpoints.ts"
import { Prepared, plain, layer as prepared, type RowOf, type Run, rowOf, statement } from "./Prepared.ts"
import { rows } from "./Rows.ts"

export type { DispatchEndpoint }

/** A delivery that waits: all the memory it takes until it is its turn. */
export interface Waiting {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly shard: number
  readonly due: number
  /** Attempts recorded so far; the next one's ordinal is one more. */
  readonly attempts: number
  /** Take-ups in a row that left no observation, as far as they were written down. */
  readonly takeUps: number
}

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

export interface Heads {
  readonly rows: ReadonlyArray<Waiting>
  /** Where to go on; null when no endpoint is left. */
  readonly next: LaneRef | null
}

/** What a post needs. */
export interface Loaded {
  readonly eventType: string
  /** JSON text, exactly as published. */
  readonly payload: string
  readonly traceId: string
  readonly endpoint: DispatchEndpoint
  /** Recorded attempts in a row of the endpoint that were not delivered. */
  readonly failures: number
}

/** A take-up to be written down: `count` is how many there are with it, so writing it twice counts it once. */
export interface TakeUp {
  readonly row: Waiting
  readonly count: number
}

/** It is counted; it stood at the limit and went to the dead letters; somebody holds its row. */
const TakeUpOutcome = Schema.Literal("counted", "buried", "held")
export type TakeUpOutcome = typeof TakeUpOutcome.Type

const TakenUp = Schema.Struct({ id: Id("delivery"), outcome: TakeUpOutcome })

const Disabled = Schema.Struct({ id: Id("endpoint") })

export interface LaneRef {
  readonly workspaceId: WorkspaceId
  readonly endpointId: EndpointId
}

/** The rows of one endpoint from a place in its line on. */
export interface Refill extends LaneRef {
  readonly due: number
  readonly deliveryId: DeliveryId
  /** How many. */
  readonly wanted: number
}

export class Queue extends Context.Tag("@posthorn/persistence/Queue")<
  Queue,
  {
    /**
     * What became due past the watermarks, without the rows of the endpoints in `skip`: looks at `lookMost` in each shard. With
     * a lookout all watermarks are the same moment, without an id, and nothing is skipped.
     */
    readonly due: (
      marks: ReadonlyArray<Watermark>,
      skip: ReadonlyArray<string>,
      perShard: number,
      lookMost: number,
      lookout: Lookout | null
    ) => Effect.Effect<Due, SqlError>
    /** The first row that is due of each endpoint, whatever shard, going on after one of them (null: from the beginning). */
    readonly heads: (after: LaneRef | null, most: number) => Effect.Effect<Heads, SqlError>
    /** When the next row of these shards becomes due after now, or null. */
    readonly nextDue: (shards: ReadonlyArray<number>) => Effect.Effect<number | null, SqlError>
    /** What is due of single endpoints, each one's by due time. */
    readonly dueOf: (refills: ReadonlyArray<Refill>) => Effect.Effect<ReadonlyArray<Waiting>, SqlError>
    /** In the order asked; null for what is gone or was recorded meanwhile. One call at a time. */
    readonly load: (rows: ReadonlyArray<Waiting>) => Effect.Effect<ReadonlyArray<Loaded | null>, SqlError>
    /** Writes take-ups down; gives what came of each, by delivery. What is gone is left out. */
    readonly takeUp: (
      takeUps: ReadonlyArray<TakeUp>,
      limit: number,
      sending: boolean
    ) => Effect.Effect<ReadonlyMap<string, TakeUpOutcome>, SqlError>
    /** Which of these endpoints exist and are disabled. */
    readonly disabledAmong: (lanes: ReadonlyArray<LaneRef>) => Effect.Effect<ReadonlyArray<string>, SqlError>
  }
>() {}

/** `posthorn.waiting`. */
const RUN = [
  ["workspace_id", Id("workspace")],
  ["endpoint_id", Id("endpoint")],
  ["shard", Count],
  ["attempts", Count],
  ["take_ups", Count],
  ["delivery_ids", Schema.String],
  ["dues", Schema.String]
] as const
type Runs = RowOf<typeof RUN>

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

const HEAD = [
  ["workspace_id", Id("workspace")],
  ["endpoint_id", Id("endpoint")],
  ["shard", Count],
  ["attempts", Count],
  ["take_ups", Count],
  ["delivery_id", Id("delivery")],
  ["due", Count],
  ["is_due", Schema.Boolean]
] as const

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
const DUE_OF = statement("posthorn.due_of($1, $2, $3, $4, $5)", RUN)
const HEADS = statement("posthorn.heads($1, $2, $3)", HEAD)
const NEXT_DUE = statement("posthorn.next_due($1)", [["next_due", Schema.NullOr(Count)]])
const LOAD = statement("posthorn.load($1, $2, $3, $4)", LOADED)

const byDue = (a: Waiting, b: Waiting) =>
  a.due - b.due || (a.deliveryId < b.deliveryId ? -1 : a.deliveryId > b.deliveryId ? 1 : 0)

/**
 * One object for each delivery; what the deliveries of an endpoint share, they share in memory. Each endpoint's by due
 * time: they come so, but for an endpoint with several runs.
 */
const waiting = (runs: ReadonlyArray<Runs>): ReadonlyArray<Waiting> => {
  const rows: Array<Waiting> = []
  const endpoints = new Set<string>()
  for (const run of runs) {
    const [workspaceId, endpointId, shard, attempts, takeUps, ids, times] = run
    endpoints.add(endpointId)
    const dues = times.split(",")
    const deliveryIds = ids.split(",")
    for (let n = 0; n < dues.length; n++) {
      const due = Number(dues[n])
      rows.push({ workspaceId, deliveryId: deliveryIds[n]!, endpointId, shard, due, attempts, takeUps })
    }
  }
  return endpoints.size === runs.length ? rows : rows.sort(byDue)
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

const due = (
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

/** Past its patience, until a look is cancelled: while it sleeps, PostgreSQL goes by the server's clock, which may be set back. */
const OVERDUE_MS = 1_000

const awaitDue = (
  run: Run,
  known: KnownEndpoints,
  marks: ReadonlyArray<Watermark>,
  perShard: number,
  lookMost: number,
  lookout: Lookout
) =>
  Effect.map(
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

const heads = (run: Run, after: LaneRef | null, most: number) =>
  Effect.map(run(HEADS, [after?.workspaceId ?? "", after?.endpointId ?? "", most]), (all): Heads => {
    const last = all.length < most ? undefined : all.at(-1)
    return {
      rows: all
        .filter((head) => head[7])
        .map(([workspaceId, endpointId, shard, attempts, takeUps, deliveryId, due]) => {
          return { workspaceId, endpointId, shard, attempts, takeUps, deliveryId, due }
        }),
      next: last === undefined ? null : { workspaceId: last[0], endpointId: last[1] }
    }
  })

const dueOf = (run: Run, refills: ReadonlyArray<Refill>) =>
  Effect.map(
    run(DUE_OF, [
      plain(refills, (refill) => refill.workspaceId),
      plain(refills, (refill) => refill.endpointId),
      plain(refills, (refill) => refill.due),
      plain(refills, (refill) => `"${refill.deliveryId}"`),
      plain(refills, (refill) => refill.wanted)
    ]),
    waiting
  )

const loadedOf = (known: KnownEndpoints, endpointId: EndpointId, row: LoadedRow): Loaded => ({
  eventType: row[1],
  payload: row[2],
  traceId: row[3],
  endpoint: known.now(endpointId, row),
  failures: row[4]
})

const load = (run: Run, known: KnownEndpoints, rows: ReadonlyArray<Waiting>) =>
  Effect.map(
    run(LOAD, [
      plain(rows, (row) => row.workspaceId),
      plain(rows, (row) => row.deliveryId),
      plain(rows, (row) => row.attempts),
      plain(rows, (row) => known.version(row.endpointId))
    ]),
    (found) => {
      const loaded: Array<Loaded | null> = new Array(rows.length).fill(null)
      for (const row of found) loaded[row[0] - 1] = loadedOf(known, rows[row[0] - 1]!.endpointId, row)
      return loaded
    }
  )

const workspacesOf = (rows: ReadonlyArray<LaneRef>) => rows.map((row) => row.workspaceId)
const endpointsOf = (rows: ReadonlyArray<LaneRef>) => rows.map((row) => row.endpointId)

export const layer: Layer.Layer<Queue, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Queue,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* Prepared
    const known = new KnownEndpoints()
    return {
      due: (marks, skip, perShard, lookMost, lookout) =>
        lookout === null
          ? due(run, marks, skip, perShard, lookMost)
          : awaitDue(run, known, marks, perShard, lookMost, lookout),
      heads: (after, most) => heads(run, after, most),
      nextDue: (shards) => Effect.map(run(NEXT_DUE, [plain(shards, (shard) => shard)]), ([row]) => row![0]),
      dueOf: (refills) => dueOf(run, refills),
      load: (wanted) => Effect.suspend(() => load(run, known, wanted)),
      takeUp: (takeUps, limit, sending) =>
        Effect.map(
          rows(sql, TakenUp)`select delivery_id as id, outcome from posthorn.take_up(
            ${takeUps.map(({ row }) => row.workspaceId)}::text[], ${takeUps.map(({ row }) => row.deliveryId)}::text[],
            ${takeUps.map(({ row }) => row.attempts)}::smallint[], ${takeUps.map(({ count }) => count)}::smallint[],
            ${limit}, ${sending})`,
          (taken) => new Map(taken.map(({ id, outcome }) => [id, outcome]))
        ),
      disabledAmong: (lanes) =>
        Effect.map(
          rows(sql, Disabled)`select e.id from posthorn.endpoints e
            join unnest(${workspacesOf(lanes)}::text[], ${endpointsOf(lanes)}::text[]) as w(workspace_id, id)
              on e.workspace_id = w.workspace_id and e.id = w.id
            where not e.enabled`,
          (disabled) => disabled.map(({ id }) => id)
        )
    }
  })
).pipe(Layer.provide(prepared))
