/**
 * The queue as a worker reads it: due deliveries, what an attempt needs, and the claims that are written down.
 *
 * Reading cursors nothing: the owner of a shard remembers what it holds. So most claims cost no write, and a repeated poll
 * does no harm. The statements are functions in migrations/0004_engine.sql, so that PostgreSQL keeps their plans. Times are
 * microseconds since 1970 by the database's clock. internal/ has a poll (Polls.ts), its rows (DueRows.ts), the content of attempts
 * (Loads.ts), and endpoints and policies as they were read last (KnownEndpoints.ts, Policies.ts). Source: spec §3.1, §8 and §3.4.
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
import { type DueRow, dueRows, type LaneRef, RUN } from "./internal/DueRows.ts"
import { KnownEndpoints } from "./internal/KnownEndpoints.ts"
import { type Content, load } from "./internal/Loads.ts"
import { type Cursor, type Due, due } from "./internal/Polls.ts"

export type { DueRow, LaneRef } from "./internal/DueRows.ts"
export type { DispatchEndpoint } from "./internal/KnownEndpoints.ts"
export type { Content } from "./internal/Loads.ts"
export type { VersionedPolicy } from "./internal/Policies.ts"
export type { Cursor, Due, Open } from "./internal/Polls.ts"

export interface EndpointFirsts {
  readonly rows: ReadonlyArray<DueRow>
  /** Where to continue; null after the last endpoint. */
  readonly next: LaneRef | null
}

/** A claim to write down. `count` is the new number of claims, so writing it twice counts it once. */
export interface Claim {
  readonly row: DueRow
  readonly count: number
}

/** `counted`: written down. `given_up`: at the limit, and now a dead letter. `blocked`: another transaction has locked the row. */
const ClaimOutcome = Schema.Literal("counted", "given_up", "blocked")
export type ClaimOutcome = typeof ClaimOutcome.Type

const Claimed = Schema.Struct({ id: Id("delivery"), outcome: ClaimOutcome })

/** An endpoint with a rate limit. */
export interface RateLimited extends LaneRef, RateLimit {
  /** Most attempts that its last owner may have made and not recorded. */
  readonly mostUnrecorded: number
}

/** Starts of an endpoint's attempts within the window of its rate limit. */
export interface Starts {
  /** How long ago each was, the last one first. */
  readonly agesMs: ReadonlyArray<number>
}

/** The rows of one endpoint from this due time and delivery on. */
export interface Refill extends LaneRef {
  readonly due: number
  readonly deliveryId: DeliveryId
  /** The number of rows. */
  readonly wanted: number
}

export class Queue extends Context.Tag("@posthorn/persistence/engine/Queue")<
  Queue,
  {
    /**
     * What became due past the cursors, at most `perShard` rows of each shard, without the endpoints in `skip`. If `skip` is
     * not empty, it scans at most `scanLimit` rows in each shard.
     */
    readonly due: (
      cursors: ReadonlyArray<Cursor>,
      skip: ReadonlyArray<string>,
      perShard: number,
      scanLimit: number
    ) => Effect.Effect<Due, SqlError>
    /**
     * The first due row of each enabled endpoint in all shards. Looks at `most` endpoints that have rows, starting after `after`
     * (null: from the beginning).
     */
    readonly firstOfEndpoints: (
      after: LaneRef | null,
      most: number
    ) => Effect.Effect<EndpointFirsts, SqlError>
    /** When the next row of these shards becomes due, or null. */
    readonly nextDue: (shards: ReadonlyArray<number>) => Effect.Effect<number | null, SqlError>
    /** Due rows of single enabled endpoints, each endpoint's by due time. */
    readonly dueOfEndpoints: (
      refills: ReadonlyArray<Refill>
    ) => Effect.Effect<ReadonlyArray<DueRow>, SqlError>
    /** In the order of `rows`; null for a delivery that is gone or was recorded meanwhile. One call at a time. */
    readonly load: (rows: ReadonlyArray<DueRow>) => Effect.Effect<ReadonlyArray<Content | null>, SqlError>
    /**
     * When attempts of these endpoints started, within the windows of their rate limits. Attempts that an owner that died may not have
     * recorded count as started when that owner has stopped.
     */
    readonly startsSince: (
      limited: ReadonlyArray<RateLimited>
    ) => Effect.Effect<ReadonlyArray<Starts>, SqlError>
    /** Writes claims down; gives the outcome by delivery. Deliveries that are gone are left out. */
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
  ["due", Count],
  ["is_ready", Schema.Boolean],
  ["is_last", Schema.Boolean]
] as const

const DUE_OF_ENDPOINTS = statement("posthorn.due_of_endpoints($1, $2, $3, $4, $5)", RUN)
const FIRST_OF_ENDPOINTS = statement("posthorn.first_of_endpoints($1, $2, $3)", FIRST)
const STARTS_SINCE = statement("posthorn.starts_since($1, $2, $3, $4, $5)", [
  ["index", Count],
  ["ages", Schema.Array(Schema.Number)]
])
const NEXT_DUE = statement("posthorn.next_due($1)", [["next_due", Schema.NullOr(Count)]])

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
