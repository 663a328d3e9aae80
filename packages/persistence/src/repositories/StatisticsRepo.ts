/**
 * Counts over a workspace or an endpoint. Large numbers of waiting deliveries may be a few seconds old.
 *
 * Hours that are over are rolled up (migrations/0008_statistics.sql); deliveries of the last hour or two, and of endpoints that
 * were open then, are read by index, 1 to 2 µs each. So the cost follows the traffic of an hour. The number of waiting
 * deliveries is never 0 beside an oldest one, nor above 0 without one. Source: spec §4.5.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"
import { Effect, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { idsIn, ofEndpoints } from "../client/Within.ts"
import { makeBacklogCounts } from "./internal/BacklogCounts.ts"

export const OVERVIEW_HOURS = 24

/** Of the newest 1,000 events of that time, so many that an endpoint wants by type say something about its filter. */
const FILTERED_OUT_EVENTS = 50

const outcomes = {
  pending: Count,
  delivered: Count,
  failed: Count,
  failedPermanent: Count,
  deadLettered: Count
}

const Overview = Schema.Struct({
  at: Time,
  endpoints: Count,
  enabledEndpoints: Count,
  /** Of the first 100 that have been enabled and unchanged for as long and have a filter, at most 20. */
  filteredOut: Schema.Array(Id("endpoint")),
  /** Deliveries of the last `OVERVIEW_HOURS` before the first whole hour, where `ofWorkspace` starts. */
  ...outcomes,
  /** Those of the last `OVERVIEW_HOURS` that were given up and then recovered. */
  recovered: Count,
  oldestWaitingSeconds: Schema.NullOr(Count),
  members: Count,
  apiTokens: Count,
  unreadNotifications: Count
})

interface OverviewRow extends Schema.Schema.Type<typeof Overview> {
  readonly waiting: number
  readonly waitingAtDisabled: number
}

export const HourRow = Schema.Struct({
  hour: Schema.NullOr(Time),
  ...outcomes,
  p50Ms: Schema.NullOr(Count),
  p95Ms: Schema.NullOr(Count)
})
export type HourRow = typeof HourRow.Type

const secondsBetween = (from: string, to: string) =>
  Math.max(0, Math.floor((Date.parse(to) - Date.parse(from)) / 1_000))

export class StatisticsRepo extends Effect.Service<StatisticsRepo>()(
  "@posthorn/persistence/repositories/StatisticsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(HourRow))

      const backlog = makeBacklogCounts(sql)

      /** Of a limited caller's endpoints each number; it sees no members and no tokens. */
      const overview = (caller: Within) => {
        const { endpointIds, workspaceId } = caller
        const since = sql`now() - make_interval(hours => ${OVERVIEW_HOURS})`
        const theirs = (column: string) => ofEndpoints(sql, caller, column)
        return rows(sql, Overview)`
        with recent as materialized (
          select r.event_type, count(*) as events from (
            select r.event_type from posthorn.events r
            where r.workspace_id = ${workspaceId}
              and r.id >= posthorn.id_at('evt_', now() - make_interval(hours => ${OVERVIEW_HOURS}))
            order by r.id desc limit 1000
          ) r group by r.event_type
        )
        select now() as at, e.*, d.*,
          ${
            endpointIds === null
              ? sql`(select greatest(0, floor(extract(epoch from now() - d.created_at)))::integer
           from posthorn.deliveries d
           where d.workspace_id = ${workspaceId} and d.id = (
             select delivery_id from posthorn.queue where workspace_id = ${workspaceId}
             order by delivery_id limit 1))`
              : sql`null`
          } as "oldestWaitingSeconds",
          (select count(*) from posthorn.failed_deliveries f where f.workspace_id = ${workspaceId} ${theirs("f.endpoint_id")}
             and f.created_at >= now() - make_interval(hours => ${OVERVIEW_HOURS}) and f.recovered_by is not null
             and f.status <> 'failed') as recovered,
          array(
            select f.id from (
              select f.id, f.event_types from posthorn.endpoints f
              where f.workspace_id = ${workspaceId} and f.enabled and f.filter_path is not null ${theirs("f.id")}
                and f.updated_at < now() - make_interval(hours => ${OVERVIEW_HOURS})
              order by f.id limit 100
            ) f
            where not exists (
                select from posthorn.deliveries g
                where g.workspace_id = ${workspaceId} and g.endpoint_id = f.id and g.event_id is not null
                  and g.id >= posthorn.id_at('whd_', now() - make_interval(hours => ${OVERVIEW_HOURS})))
              and ${FILTERED_OUT_EVENTS} <= (
                select sum(t.events) from recent t where posthorn.patterns_of(t.event_type) && f.event_types)
            order by f.id limit 20) as "filteredOut",
          (select count(*) from posthorn.members where workspace_id = ${workspaceId} ${endpointIds === null ? sql`` : sql`and false`}) as members,
          (select count(*) from posthorn.api_tokens where workspace_id = ${workspaceId} and revoked_at is null
             and (expires_at is null or expires_at > now()) ${endpointIds === null ? sql`` : sql`and false`}) as "apiTokens",
          (select count(*) from posthorn.notifications
           where workspace_id = ${workspaceId} and read_at is null ${theirs("endpoint_id")}) as "unreadNotifications"
        from (
          select count(*) as endpoints, count(*) filter (where enabled) as "enabledEndpoints"
          from posthorn.endpoints where workspace_id = ${workspaceId} ${theirs("id")}
        ) e, (
          select coalesce(sum(n) filter (where status = 'pending'), 0)::integer as pending,
            coalesce(sum(n) filter (where status = 'delivered'), 0)::integer as delivered,
            coalesce(sum(n) filter (where status = 'failed'), 0)::integer as failed,
            coalesce(sum(n) filter (where status = 'failed_permanent'), 0)::integer as "failedPermanent",
            coalesce(sum(n) filter (where status = 'dead_lettered'), 0)::integer as "deadLettered"
          from posthorn.deliveries_of(${workspaceId},
            ${endpointIds === null ? sql`array[${since}]` : sql`array_fill(${since}, array[${endpointIds.length}::integer])`},
            date_trunc('hour', now(), 'UTC') + interval '1 hour' - now(),
            ${endpointIds === null ? sql`null` : idsIn(sql, endpointIds)})
        ) d`.pipe(
          Effect.zipWith(backlog(caller), ([row], { oldestAt, waiting, waitingAtDisabled }): OverviewRow => {
            const oldestWaitingSeconds =
              oldestAt === null ? row!.oldestWaitingSeconds : secondsBetween(oldestAt, row!.at)
            return oldestWaitingSeconds === null
              ? { ...row!, waiting: 0, waitingAtDisabled: 0 }
              : { ...row!, oldestWaitingSeconds, waiting: Math.max(1, waiting), waitingAtDisabled }
          }),
          Effect.orDie
        )
      }

      const byHour = (
        workspaceId: WorkspaceId,
        endpointIds: ReadonlyArray<EndpointId> | null,
        hours: number,
        at: string | null
      ) =>
        all(sql, HourRow)`
        select ${columns} from posthorn.statistics_by_hour(${workspaceId}, ${endpointIds as Array<string> | null}::text[], ${hours}::integer, coalesce(${at}::timestamptz, now()))`

      /** Hour by hour, oldest first, then the whole period. */
      const ofEndpoint = (workspaceId: WorkspaceId, endpointId: EndpointId, hours: number) =>
        byHour(workspaceId, [endpointId], hours, null)

      /** `at` is that of the overview, so that each hour is counted exactly once. */
      const ofWorkspace = ({ endpointIds, workspaceId }: Within, at: string) =>
        byHour(workspaceId, endpointIds, OVERVIEW_HOURS, at)

      return { ofEndpoint, ofWorkspace, overview } as const
    })
  }
) {}
