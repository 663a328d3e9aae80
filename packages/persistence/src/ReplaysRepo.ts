/**
 * Replays: of one delivery, and jobs that replay all that failed in a time. The statements are functions of
 * migrations/0007_replays.sql; a job's steps are made by a worker. Source: spec §3.1, decision §4 and §10.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import {
  type DeliveryId,
  type EndpointId,
  newId,
  type ReplayId,
  type WorkspaceId
} from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import type { Actor } from "@posthorn/domain/Principal"
import { ReplayableStatus, ReplayState } from "@posthorn/domain/States"
import { Effect, type Option, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"
import { olderThan } from "./Statement.ts"

export const ReplayRow = Schema.Struct({
  id: Id("replay"),
  endpointId: Id("endpoint"),
  statuses: Schema.Array(ReplayableStatus),
  since: Time,
  until: Schema.NullOr(Time),
  state: ReplayState,
  matched: Count,
  missed: Count,
  replayed: Count,
  failed: Count,
  createdAt: Time,
  finishedAt: Schema.NullOr(Time)
})
export type ReplayRow = typeof ReplayRow.Type

/** Which deliveries and missed events of an endpoint. Times are of the deliveries and events themselves. */
export interface ReplayRange {
  readonly endpointId: EndpointId
  readonly statuses: ReadonlyArray<ReplayableStatus>
  /** Inclusive. */
  readonly since: string
  /** Exclusive; null: up to now. */
  readonly until: string | null
  readonly includeMissed: boolean
}

/** Who asked, for the audit log. */
export interface Asked {
  readonly actor: Actor
  readonly traceId: string
}

const ReplayCount = Schema.Struct({
  /** Deliveries and missed events together. */
  matched: Count,
  missed: Count
})

const Replayed = Schema.Struct({ delivery: Id("delivery") })

export class ReplaysRepo extends Effect.Service<ReplaysRepo>()("@posthorn/persistence/ReplaysRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(columnsOf(ReplayRow))

    const counted = (workspaceId: WorkspaceId, range: ReplayRange) =>
      sql`posthorn.count_replay(${workspaceId}, ${range.endpointId}, ${range.statuses as Array<string>}::text[],
        ${range.since}::timestamptz, ${range.until}::timestamptz, ${range.includeMissed})`

    /** How many deliveries and missed events a job over the range would be about. */
    const count = (workspaceId: WorkspaceId, range: ReplayRange) =>
      rows(
        sql,
        ReplayCount
      )`select deliveries + missed as matched, missed from ${counted(workspaceId, range)}`.pipe(
        Effect.map((rows) => rows[0]!),
        Effect.orDie
      )

    /** Store a job; a worker makes it. What is counted is exactly what its snapshot sees. */
    const start = (workspaceId: WorkspaceId, range: ReplayRange, { actor, traceId }: Asked) =>
      rows(sql, ReplayRow)`
        insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, until, include_missed, matched,
          missed, actor_type, actor_id, via, trace_id)
        select ${workspaceId}, ${newId("replay")}, ${range.endpointId}, posthorn.shard_of(${range.endpointId}),
          ${range.statuses as Array<string>}::text[], ${range.since}::timestamptz, ${range.until}::timestamptz,
          ${range.includeMissed}, deliveries + missed, missed, ${actor.type}, ${actor.id}, ${actor.via}, ${traceId}
        from ${counted(workspaceId, range)}
        returning ${columns}`.pipe(
        Effect.map((rows) => rows[0]!),
        Effect.orDie
      )

    const find = (workspaceId: WorkspaceId, replayId: ReplayId) =>
      rows(sql, ReplayRow)`select ${columns} from posthorn.replays
        where workspace_id = ${workspaceId} and id = ${replayId}`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    /** Newest first, strictly past the position. */
    const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
      rows(sql, ReplayRow)`select ${columns} from posthorn.replays
        where workspace_id = ${workspaceId} and ${olderThan(sql, from)}
        order by created_at desc, id desc limit ${limit + 1}`.pipe(Effect.orDie)

    /** Ends a running job, after the step that is being made; undefined when it was not running. */
    const cancel = (workspaceId: WorkspaceId, replayId: ReplayId) =>
      rows(sql, ReplayRow)`
        update posthorn.replays set state = 'cancelled', finished_at = date_trunc('milliseconds', clock_timestamp())
        where workspace_id = ${workspaceId} and id = ${replayId} and state = 'running'
        returning ${columns}`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    /** Replay one delivery; gives the new one's id, or undefined when it cannot be replayed as it stands. */
    const replayOne = (
      workspaceId: WorkspaceId,
      source: { readonly id: DeliveryId; readonly endpointId: EndpointId },
      { actor, traceId }: Asked
    ) =>
      rows(sql, Replayed)`
        select delivery from posthorn.replay(${workspaceId}, ${source.endpointId}, array[${source.id}], null, null,
          ${actor.type}, ${actor.id}, ${actor.via}, ${traceId})`.pipe(
        Effect.map((rows) => rows[0]?.delivery),
        Effect.orDie
      )

    return { cancel, count, find, list, replayOne, start } as const
  })
}) {}
