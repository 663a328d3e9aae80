/**
 * The queue as a worker reads it: due deliveries, what an attempt needs, and stored claims.
 *
 * Reading writes nothing: the owner of a shard remembers what it read. The statements are functions in
 * migrations/0004_engine.sql. Times are microseconds since 1970 by the database's clock. Source: spec §3.1, §8 and §3.4.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { DeliveryId } from "@posthorn/domain/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import {
  PreparedStatements,
  plain,
  layer as prepared,
  type Run,
  statement
} from "../client/PreparedStatements.ts"
import { rows } from "../client/Rows.ts"
import { DatabaseMicros } from "./DatabaseMicros.ts"
import { type DueRow, dueRows, type LaneRef, RUN } from "./internal/DueRows.ts"
import { KnownEndpoints } from "./internal/KnownEndpoints.ts"
import { type Found, load } from "./internal/Loads.ts"
import { type Cursor, type Due, due } from "./internal/Polls.ts"

export type { DueRow, LaneRef } from "./internal/DueRows.ts"
export type { DispatchEndpoint } from "./internal/KnownEndpoints.ts"
export type { Content, Found } from "./internal/Loads.ts"
export type { VersionedPolicy } from "./internal/Policies.ts"
export type { Cursor, Due, Open } from "./internal/Polls.ts"

export interface EndpointFirsts {
  readonly rows: ReadonlyArray<DueRow>
  /** Null after the last endpoint. */
  readonly next: LaneRef | null
}

/** `count` is the new total, so writing it twice counts it once. */
export interface Claim {
  readonly row: DueRow
  readonly count: number
}

/** `counted`: written down. `given_up`: at the limit, and now a dead letter. `blocked`: another transaction has locked the row. */
const ClaimOutcome = Schema.Literal("counted", "given_up", "blocked")
export type ClaimOutcome = typeof ClaimOutcome.Type

const Payload = Schema.Struct({ payload: Schema.String })

const Claimed = Schema.Struct({ id: Id("delivery"), outcome: ClaimOutcome })

export interface RateLimited extends LaneRef, RateLimit {
  /** The most starts that the shard's last owner can have left unrecorded. */
  readonly mostUnrecorded: number
}

export interface Starts {
  /** Ages of starts, the last start first. */
  readonly agesMs: ReadonlyArray<number>
}

export interface Refill extends LaneRef {
  readonly due: number
  readonly deliveryId: DeliveryId
  readonly wanted: number
}

export class Queue extends Context.Tag("@posthorn/persistence/engine/Queue")<
  Queue,
  {
    /**
     * At most `perShard` rows of each shard past its cursor, without the endpoints in `skip`. With `skip` it scans at most
     * `scanLimit`.
     */
    readonly due: (
      cursors: ReadonlyArray<Cursor>,
      skip: ReadonlyArray<string>,
      perShard: number,
      scanLimit: number
    ) => Effect.Effect<Due, SqlError>
    /** Of `most` endpoints that have rows, after `after` (null: from the beginning). */
    readonly firstOfEndpoints: (
      after: LaneRef | null,
      most: number
    ) => Effect.Effect<EndpointFirsts, SqlError>
    readonly nextDue: (shards: ReadonlyArray<number>) => Effect.Effect<DatabaseMicros | null, SqlError>
    readonly dueOfEndpoints: (
      refills: ReadonlyArray<Refill>
    ) => Effect.Effect<ReadonlyArray<DueRow>, SqlError>
    /**
     * In the order of `rows`; null for a delivery that is gone or recorded. Payloads of more than 64 KiB are left out. One call at
     * a time.
     */
    readonly load: (rows: ReadonlyArray<DueRow>) => Effect.Effect<ReadonlyArray<Found>, SqlError>
    /** Null for a delivery that is gone. */
    readonly payload: (row: DueRow) => Effect.Effect<string | null, SqlError>
    /**
     * Starts within the windows of the rate limits. Attempts that a dead owner may have made count as started when it stopped.
     */
    readonly startsSince: (
      limited: ReadonlyArray<RateLimited>
    ) => Effect.Effect<ReadonlyArray<Starts>, SqlError>
    /** By delivery. Deliveries that are gone are left out. */
    readonly countClaims: (
      claims: ReadonlyArray<Claim>,
      limit: number,
      sending: boolean
    ) => Effect.Effect<ReadonlyMap<string, ClaimOutcome>, SqlError>
  }
>() {}

const FIRST = [
  ["workspace_id", Id("workspace")],
  ["endpoint_id", Id("endpoint")],
  ["shard", Count],
  ["attempts", Count],
  ["claims", Count],
  ["at_once", Schema.Boolean],
  ["delivery_id", Id("delivery")],
  ["due", DatabaseMicros],
  ["is_ready", Schema.Boolean],
  ["is_last", Schema.Boolean]
] as const

const DUE_OF_ENDPOINTS = statement("posthorn.due_of_endpoints($1, $2, $3, $4, $5)", RUN)
const FIRST_OF_ENDPOINTS = statement("posthorn.first_of_endpoints($1, $2, $3)", FIRST)
const STARTS_SINCE = statement("posthorn.starts_since($1, $2, $3, $4, $5)", [
  ["index", Count],
  ["ages", Schema.Array(Schema.Number)]
])
const NEXT_DUE = statement("posthorn.next_due($1)", [["next_due", Schema.NullOr(DatabaseMicros)]])

const firstOfEndpoints = (run: Run, after: LaneRef | null, most: number) =>
  Effect.map(
    run(FIRST_OF_ENDPOINTS, [after?.workspaceId ?? "", after?.endpointId ?? "", most]),
    (all): EndpointFirsts => {
      const last = all.find((first) => first[9])
      return {
        rows: all
          .filter((first) => first[8])
          .map(([workspaceId, endpointId, shard, attempts, claims, atOnce, deliveryId, due]) => {
            return { workspaceId, endpointId, shard, attempts, claims, atOnce, deliveryId, due }
          }),
        next: last === undefined ? null : { workspaceId: last[0], endpointId: last[1] }
      }
    }
  )

const dueOfEndpoints = (run: Run, refills: ReadonlyArray<Refill>) =>
  Effect.map(
    run(DUE_OF_ENDPOINTS, [
      plain(refills, (refill) => refill.workspaceId),
      plain(refills, (refill) => refill.endpointId),
      plain(refills, (refill) => refill.due),
      plain(refills, (refill) => `"${refill.deliveryId}"`),
      plain(refills, (refill) => refill.wanted)
    ]),
    dueRows
  )

const startsSince = (run: Run, limited: ReadonlyArray<RateLimited>) =>
  Effect.map(
    run(STARTS_SINCE, [
      plain(limited, (one) => one.workspaceId),
      plain(limited, (one) => one.endpointId),
      plain(limited, (one) => one.requests),
      plain(limited, (one) => one.perSeconds),
      plain(limited, (one) => one.mostUnrecorded)
    ]),
    (found) => {
      const all: Array<Starts> = limited.map(() => ({ agesMs: [] }))
      for (const [index, agesMs] of found) all[index - 1] = { agesMs }
      return all
    }
  )

export const layer: Layer.Layer<Queue, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Queue,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* PreparedStatements
    const known = new KnownEndpoints()
    return {
      due: (cursors, skip, perShard, scanLimit) => due(run, cursors, skip, perShard, scanLimit),
      firstOfEndpoints: (after, most) => firstOfEndpoints(run, after, most),
      nextDue: (shards) => Effect.map(run(NEXT_DUE, [plain(shards, (shard) => shard)]), ([row]) => row![0]),
      dueOfEndpoints: (refills) => dueOfEndpoints(run, refills),
      startsSince: (limited) => startsSince(run, limited),
      load: (wanted) => Effect.suspend(() => load(run, known, wanted)),
      payload: ({ deliveryId, workspaceId }) =>
        Effect.map(
          rows(sql, Payload)`select coalesce(d.payload, (select e.payload from posthorn.events e
              where e.workspace_id = d.workspace_id and e.id = d.event_id)) as payload
            from posthorn.deliveries d where d.workspace_id = ${workspaceId} and d.id = ${deliveryId}`,
          ([found]) => found?.payload ?? null
        ),
      countClaims: (claims, limit, sending) =>
        Effect.map(
          rows(sql, Claimed)`select delivery_id as id, outcome from posthorn.claim(
            ${claims.map(({ row }) => row.workspaceId)}::text[], ${claims.map(({ row }) => row.deliveryId)}::text[],
            ${claims.map(({ row }) => row.attempts)}::smallint[], ${claims.map(({ count }) => count)}::smallint[],
            ${limit}, ${sending})`,
          (claimed) => new Map(claimed.map(({ id, outcome }) => [id, outcome]))
        )
    }
  })
).pipe(Layer.provide(prepared))
