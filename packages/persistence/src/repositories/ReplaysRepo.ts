/**
 * Replays and resends of one delivery, and replay jobs, by the functions of migrations/0007_replays.sql. Source: spec §3.1 and
 * §4.6.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { invalid } from "@posthorn/domain/Errors"
import {
  type DeliveryId,
  type EndpointId,
  newId,
  type ReplayId,
  type WorkspaceId
} from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import type { Acting, Within } from "@posthorn/domain/Principal"
import { ReplayableStatus, ReplayState } from "@posthorn/domain/States"
import { Effect, type Option, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all, first } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { newestFirst, refusing } from "../client/Statement.ts"
import { newestWithin, ofEndpoints } from "../client/Within.ts"

/** Failures in the range that a job does not take. */
const LeftOut = Schema.Struct({ recovered: Count, underWay: Count, tests: Count })

export const ReplayRow = Schema.Struct({
  id: Id("replay"),
  endpointId: Id("endpoint"),
  statuses: Schema.Array(ReplayableStatus),
  since: Time,
  until: Schema.NullOr(Time),
  state: ReplayState,
  matched: Count,
  missed: Count,
  unsent: Count,
  leftOut: LeftOut,
  replayed: Count,
  failed: Count,
  createdAt: Time,
  finishedAt: Schema.NullOr(Time)
})
export type ReplayRow = typeof ReplayRow.Type

/** A range of an endpoint's deliveries and events, by their own times. */
export interface ReplayRange {
  readonly endpointId: EndpointId
  readonly statuses: ReadonlyArray<ReplayableStatus>
  readonly since: string
  /** Exclusive; null: up to now. */
  readonly until: string | null
  readonly includeMissed: boolean
  readonly includeUnsent: boolean
  readonly includeRecovered: boolean
  readonly includeTests: boolean
}

/** What limits unsent events: how long history is kept, and the beginnings of the types that are left out. */
export interface UnsentLimits {
  readonly keptMs: number
  readonly hidden: ReadonlyArray<string>
}

export interface Asked {
  readonly actor: Acting
  readonly traceId: string
}

const ReplayCount = Schema.Struct({
  matched: Count,
  missed: Count,
  unsent: Count,
  leftOut: LeftOut
})

const Replayed = Schema.Struct({ delivery: Id("delivery") })

export class ReplaysRepo extends Effect.Service<ReplaysRepo>()(
  "@posthorn/persistence/repositories/ReplaysRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const leftOut = "json_build_object('recovered', recovered, 'underWay', under_way, 'tests', tests)"
      const columns = sql.literal(
        columnsOf(ReplayRow, "", {
          leftOut,
          state:
            "case when state = 'running' and posthorn.replay_is_queued(workspace_id, id) then 'queued' else state end"
        })
      )

      const unsentSince = ({ includeUnsent, since }: ReplayRange, { keptMs }: UnsentLimits) =>
        includeUnsent
          ? sql`greatest(${since}::timestamptz, now() - ${keptMs}::bigint * interval '1 millisecond')`
          : sql`null::timestamptz`

      const refused = refusing({ PH400: ({ hint = "", message }) => invalid(hint, message) })

      const counted = (workspaceId: WorkspaceId, range: ReplayRange, limits: UnsentLimits) =>
        sql`posthorn.count_replay(${workspaceId}, ${range.endpointId}, ${range.statuses as Array<string>}::text[],
        ${range.since}::timestamptz, ${range.until}::timestamptz, ${range.includeMissed}, ${range.includeRecovered},
        ${range.includeTests}, ${range.includeUnsent}, ${unsentSince(range, limits)},
        ${limits.hidden as Array<string>}::text[])`

      /** The number of deliveries and events that a job over the range would replay. */
      const count = (workspaceId: WorkspaceId, range: ReplayRange, limits: UnsentLimits) =>
        rows(
          sql,
          ReplayCount
        )`select deliveries + missed + unsent as matched, missed, unsent, ${sql.literal(leftOut)} as "leftOut" from ${counted(workspaceId, range, limits)}`.pipe(
          refused,
          Effect.map(([found]) => found!)
        )

      /** Stores a job for a worker. It counts exactly what its snapshot sees. */
      const start = (
        workspaceId: WorkspaceId,
        range: ReplayRange,
        limits: UnsentLimits,
        { actor, traceId }: Asked
      ) =>
        rows(sql, ReplayRow)`
        insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, until, include_missed,
          include_unsent, unsent_since, hidden, event_types, filter_path, filter_program,
          include_recovered, include_tests, matched, missed, unsent, recovered, under_way, tests, actor_type, actor_id, actor_name, root_type, root_id, via, trace_id)
        select ${workspaceId}, ${newId("replay")}, ${range.endpointId}, posthorn.shard_of(${range.endpointId}),
          ${range.statuses as Array<string>}::text[], ${range.since}::timestamptz, ${range.until}::timestamptz,
          ${range.includeMissed}, ${range.includeUnsent}, ${unsentSince(range, limits)}, ${limits.hidden as Array<string>}::text[],
          e.event_types, e.filter_path, e.filter_program,
          ${range.includeRecovered}, ${range.includeTests}, deliveries + missed + unsent, missed, unsent, recovered,
          under_way, tests, ${actor.type}, ${actor.id},
          ${actor.name}::text, ${actor.root?.type ?? null}::text, ${actor.root?.id ?? null}::text, ${actor.via}, ${traceId}
        from ${counted(workspaceId, range, limits)} cross join posthorn.endpoints e
        where e.workspace_id = ${workspaceId} and e.id = ${range.endpointId}
        returning ${columns}`.pipe(
          refused,
          Effect.map(([started]) => started!)
        )

      const find = (caller: Within, replayId: ReplayId) =>
        first(sql, ReplayRow)`select ${columns} from posthorn.replays
        where workspace_id = ${caller.workspaceId} and id = ${replayId} ${ofEndpoints(sql, caller, "endpoint_id")}`

      const list = (caller: Within, limit: number, from: Option.Option<TimePosition>) =>
        all(
          sql,
          ReplayRow
        )`select ${columns} from ${newestWithin(sql, caller, "posthorn.replays", newestFirst(sql, limit, from))}`

      /** Ends a running job after its current step; undefined when it was not running. */
      const cancel = (caller: Within, replayId: ReplayId) =>
        first(sql, ReplayRow)`
        update posthorn.replays set state = 'cancelled', finished_at = date_trunc('milliseconds', clock_timestamp())
        where workspace_id = ${caller.workspaceId} and id = ${replayId} and state = 'running'
          ${ofEndpoints(sql, caller, "endpoint_id")}
        returning ${columns}`

      /** Sends one delivery again; gives the new id, or undefined when its status does not allow it. */
      const sendAgain = (
        workspaceId: WorkspaceId,
        source: { readonly id: DeliveryId; readonly endpointId: EndpointId },
        how: "replay" | "resend",
        { actor, traceId }: Asked
      ) =>
        Effect.map(
          first(sql, Replayed)`
        select delivery from posthorn.replay(${workspaceId}, ${source.endpointId}, array[${source.id}], null, null,
          ${actor.type}, ${actor.id}, ${actor.via}, ${traceId}, ${actor.root?.type ?? null}::text,
          ${actor.root?.id ?? null}::text, ${actor.name}::text, ${how === "resend"})`,
          (replayed) => replayed?.delivery
        )

      return { cancel, count, find, list, sendAgain, start } as const
    })
  }
) {}
