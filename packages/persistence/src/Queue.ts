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
import { type DispatchEndpoint, KnownEndpoints, LOADED } from "./internal/KnownEndpoints.ts"
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
  /** Those that were open then: what they commit is not among the rows. Nor is what was published within the millisecond. */
  readonly open: ReadonlyArray<Open>
  readonly rows: ReadonlyArray<Waiting>
  /** Shards in which it stopped before that, having looked at as many rows as it may: each with the last one. */
  readonly stopped: ReadonlyArray<Watermark>
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
    /** What became due past the watermarks, without the rows of the endpoints in `skip`: looks at `lookMost` in each shard. */
    readonly due: (
      marks: ReadonlyArray<Watermark>,
      skip: ReadonlyArray<string>,
      perShard: number,
      lookMost: number
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
  ["delivery_ids", Schema.String],
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

const DUE = {
  ...statement("posthorn.due($1, $2, $3, $4, $5, $6)", RUN),
  row: Schema.Union(rowOf(RUN), rowOf(PLACE))
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
    (runs): Due => {
      const places = runs.filter(isPlace)
      const whole = places.find(([, , shard]) => shard === null)!
      return {
        horizon: Number(whole[6]),
        open: openOf(whole[5]),
        rows: waiting(runs.filter((one): one is Runs => !isPlace(one))),
        stopped: places.flatMap(([, , shard, , , deliveryId, due]) =>
          shard === null ? [] : [{ shard, deliveryId, due: Number(due) }]
        )
      }
    }
  )

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
      for (const row of found) {
        const { endpointId } = rows[row[0] - 1]!
        loaded[row[0] - 1] = {
          eventType: row[1],
          payload: row[2],
          traceId: row[3],
          endpoint: known.now(endpointId, row),
          failures: row[4]
        }
      }
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
      due: (marks, skip, perShard, lookMost) => due(run, marks, skip, perShard, lookMost),
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
