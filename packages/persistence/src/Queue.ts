/**
 * The outbox as a worker sees it: what is due, what a post needs, and the few marks a take-up leaves.
 *
 * Reading takes nothing: whoever owns a shard remembers what it holds. So a claim costs no write, and a read that is
 * repeated does no harm. The statements are functions in migrations/0004_engine.sql, so that PostgreSQL keeps their
 * plans. Times are microseconds since 1970 by the database's clock. Source: spec §3.1 and §8, decision §7.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Effect, Layer } from "effect"

/** A delivery that waits: all the memory it takes until it is its turn. */
export interface Waiting {
  readonly workspaceId: string
  readonly deliveryId: string
  readonly endpointId: string
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
  readonly deliveryId: string
}

export interface Due {
  /** The time up to which the statement looked. */
  readonly horizon: number
  readonly rows: ReadonlyArray<Waiting>
}

/** What a post needs, as it stands at dispatch. */
export interface Loaded {
  readonly workspaceId: string
  readonly deliveryId: string
  readonly attempts: number
  readonly eventType: string
  /** JSON text, exactly as published. */
  readonly payload: string
  readonly traceId: string
  readonly url: string
  readonly enabled: boolean
  readonly generation: number
  /** Sealed by SecretBox. */
  readonly secret: Uint8Array
  /** Null once the grace window is over. */
  readonly previousSecret: Uint8Array | null
}

export interface LaneRef {
  readonly workspaceId: string
  readonly endpointId: string
}

export class Queue extends Context.Tag("@posthorn/persistence/Queue")<
  Queue,
  {
    /** What became due past the watermarks, without the rows of the endpoints in `skip`. */
    readonly due: (
      marks: ReadonlyArray<Watermark>,
      skip: ReadonlyArray<string>,
      perShard: number
    ) => Effect.Effect<Due, SqlError>
    /** When the next row of these shards becomes due after now, or null. */
    readonly nextDue: (shards: ReadonlyArray<number>) => Effect.Effect<number | null, SqlError>
    /** The oldest due rows of single endpoints, `wanted` of each. */
    readonly dueOf: (
      lanes: ReadonlyArray<LaneRef & { readonly wanted: number }>
    ) => Effect.Effect<ReadonlyArray<Waiting>, SqlError>
    /** Leaves out what is gone or was recorded meanwhile. */
    readonly load: (rows: ReadonlyArray<Waiting>) => Effect.Effect<ReadonlyArray<Loaded>, SqlError>
    /** Counts a take-up before or after the fact; gives the new counts, without what went to the dead letters. */
    readonly takeUp: (
      rows: ReadonlyArray<Waiting>,
      assumed: 0 | 1,
      limit: number
    ) => Effect.Effect<ReadonlyMap<string, number>, SqlError>
    /** Which of these endpoints exist and are disabled. */
    readonly disabledAmong: (lanes: ReadonlyArray<LaneRef>) => Effect.Effect<ReadonlyArray<string>, SqlError>
  }
>() {}

interface WaitingRow {
  readonly workspace_id: string
  readonly delivery_id: string
  readonly endpoint_id: string
  readonly shard: number
  readonly due: number
  readonly attempts: number
  readonly take_ups: number
}

const waiting = (row: WaitingRow): Waiting => ({
  workspaceId: row.workspace_id,
  deliveryId: row.delivery_id,
  endpointId: row.endpoint_id,
  shard: row.shard,
  due: row.due,
  attempts: row.attempts,
  takeUps: row.take_ups
})

interface LoadedRow {
  readonly workspace_id: string
  readonly delivery_id: string
  readonly attempts: number
  readonly event_type: string
  readonly payload: string
  readonly trace_id: string
  readonly url: string
  readonly enabled: boolean
  readonly generation: number
  readonly secret: Uint8Array
  readonly previous_secret: Uint8Array | null
}

const loaded = (row: LoadedRow): Loaded => ({
  workspaceId: row.workspace_id,
  deliveryId: row.delivery_id,
  attempts: row.attempts,
  eventType: row.event_type,
  payload: row.payload,
  traceId: row.trace_id,
  url: row.url,
  enabled: row.enabled,
  generation: row.generation,
  secret: row.secret,
  previousSecret: row.previous_secret
})

const workspacesOf = (rows: ReadonlyArray<{ readonly workspaceId: string }>) =>
  rows.map((row) => row.workspaceId)
const deliveriesOf = (rows: ReadonlyArray<Waiting>) => rows.map((row) => row.deliveryId)
const endpointsOf = (rows: ReadonlyArray<LaneRef>) => rows.map((row) => row.endpointId)

export const layer: Layer.Layer<Queue, never, SqlClient.SqlClient> = Layer.effect(
  Queue,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    due: (marks, skip, perShard) =>
      Effect.map(
        sql<WaitingRow>`select * from posthorn.due(${marks.map((mark) => mark.shard)}::smallint[],
          ${marks.map((mark) => mark.due)}::bigint[], ${marks.map((mark) => mark.deliveryId)}::text[],
          ${[...skip]}::text[], ${perShard})`,
        ([head, ...rows]) => ({ horizon: head!.due, rows: rows.map(waiting) })
      ),
    nextDue: (shards) =>
      Effect.map(
        sql<{ next: number | null }>`select posthorn.next_due(${[...shards]}::smallint[]) as next`,
        ([row]) => row!.next
      ),
    dueOf: (lanes) =>
      Effect.map(
        sql<WaitingRow>`select * from posthorn.due_of(${workspacesOf(lanes)}::text[], ${endpointsOf(lanes)}::text[],
          ${lanes.map((lane) => lane.wanted)}::integer[])`,
        (rows) => rows.map(waiting)
      ),
    load: (rows) =>
      Effect.map(
        sql<LoadedRow>`select * from posthorn.load(${workspacesOf(rows)}::text[], ${deliveriesOf(rows)}::text[],
          ${rows.map((row) => row.attempts)}::smallint[])`,
        (found) => found.map(loaded)
      ),
    takeUp: (rows, assumed, limit) =>
      Effect.map(
        sql<{
          delivery_id: string
          take_ups: number
        }>`select * from posthorn.take_up(${workspacesOf(rows)}::text[],
          ${deliveriesOf(rows)}::text[], ${assumed}, ${limit})`,
        (counted) => new Map(counted.map((row) => [row.delivery_id, row.take_ups]))
      ),
    disabledAmong: (lanes) =>
      Effect.map(
        sql<{ id: string }>`select e.id from posthorn.endpoints e
          join unnest(${workspacesOf(lanes)}::text[], ${endpointsOf(lanes)}::text[]) as w(workspace_id, id)
            on e.workspace_id = w.workspace_id and e.id = w.id
          where not e.enabled`,
        (rows) => rows.map((row) => row.id)
      )
  }))
)
