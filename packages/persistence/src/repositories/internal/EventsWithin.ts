/**
 * Events as they exist for a caller that is limited to endpoints: those that reached one of them, that named one of them when they were
 * published, or that one wants now by its patterns and its filter. Their counts and named endpoints are of the caller's endpoints only.
 *
 * Judging one event costs two index probes, reading the deliveries that its publish made, and at most what publishing spends on the
 * filters of an event (`posthorn.sift`). A statement judges events for `JUDGED_FOR` at most, and the first in any case.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { EndpointId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"
import { idsIn } from "../../client/Within.ts"

const JUDGED_FOR = "200 milliseconds"

/** The deliveries `d` of the event `r` to endpoints. */
const deliveriesTo = (
  sql: SqlClient,
  ids: ReadonlyArray<EndpointId>
) => sql`unnest(${idsIn(sql, ids)}) as o(id)
  cross join lateral (
    select d.* from posthorn.deliveries d
    where d.workspace_id = r.workspace_id and (d.endpoint_id, d.id) >= (o.id, posthorn.deliveries_begin(r.id))
      and (d.endpoint_id, d.id) < (o.id, posthorn.deliveries_begin(r.id) || 'g')
      and d.event_id = r.id and d.replayed_from is null and d.replay_id is null
    union all
    select d.* from posthorn.deliveries d
    where d.workspace_id = r.workspace_id and d.event_id = r.id and d.endpoint_id = o.id
      and (d.replayed_from is not null or d.replay_id is not null)
  ) d`

interface Limited extends Within {
  readonly endpointIds: ReadonlyArray<EndpointId>
}

/** The caller's endpoints are read once for all events. What costs most comes last. */
const existsFor = (sql: SqlClient, { endpointIds, workspaceId }: Limited) => {
  const theirs = sql`any (${idsIn(sql, endpointIds)})`
  return sql`(
    with mine as materialized (
      select n.id, n.event_types, n.filter_path, n.filter_weight from posthorn.endpoints n
      where n.workspace_id = ${workspaceId} and n.id = ${theirs}
    )
    select coalesce(case
      when r.endpoint_ids && ${idsIn(sql, endpointIds)} then true
      when r.endpoint_ids is null and exists (
        select from mine n where n.filter_path is null and n.event_types && posthorn.patterns_of(r.event_type)) then true
      when r.deliveries > 0 and exists (
        select from posthorn.deliveries d where d.workspace_id = r.workspace_id and d.id >= posthorn.deliveries_begin(r.id)
          and d.id < posthorn.deliveries_begin(r.id) || 'g' and d.event_id = r.id and d.endpoint_id = ${theirs}) then true
      when exists (
        select from posthorn.deliveries d where d.workspace_id = r.workspace_id and d.event_id = r.id
          and (d.replayed_from is not null or d.replay_id is not null) and d.endpoint_id = ${theirs}) then true
      when r.endpoint_ids is null then (
        select case when count(*) = 0 then false
          else (posthorn.sift(row(r.workspace_id, r.event_type, array_agg(n.id), null, null, null, null, max(n.filter_weight), null)
            ::posthorn.audience, r.payload, false)).enabled is not null end
        from mine n where n.event_types && posthorn.patterns_of(r.event_type))
    end, false))`
}

/** The condition on the event `r`; nothing for a caller without a limit. */
export const eventExists = (sql: SqlClient, { endpointIds, workspaceId }: Within) =>
  endpointIds === null ? sql`` : sql`and ${existsFor(sql, { endpointIds, workspaceId })}`

/** Whether the event `r`, one of many, exists; null once the statement has judged for long enough. */
export const existsInTime = (sql: SqlClient, caller: Limited, isFirst: string) => sql`case
  when ${sql.literal(isFirst)} or clock_timestamp() < statement_timestamp() + interval '${sql.literal(JUDGED_FOR)}'
  then ${existsFor(sql, caller)} end`

/** The events `r` of a statement, to be limited by `eventExists`. */
export const eventsOf = (sql: SqlClient, { endpointIds }: Within) =>
  endpointIds === null
    ? sql`posthorn.events r`
    : sql`(select r.workspace_id, r.id, r.event_type, r.payload, r.trace_id, n.deliveries, n.made_up + m.missed as missed, r.actor,
        case when r.endpoint_ids is not null
          then array(select o.id from unnest(r.endpoint_ids) as o(id) where o.id = any (${idsIn(sql, endpointIds)})) end as endpoint_ids,
        r.retry, r.purged_at, r.created_at
      from posthorn.events r cross join lateral (
        select count(*) filter (where d.replayed_from is null and d.replay_id is null)::integer as deliveries,
          count(*) filter (where d.replayed_from is null and d.replay_id is not null and d.unsent_by is null)::integer as made_up
        from ${deliveriesTo(sql, endpointIds)}
      ) n cross join lateral (
        select count(*)::integer as missed from posthorn.missed_events m
        where m.workspace_id = r.workspace_id and m.event_id = r.id and m.endpoint_id = any (${idsIn(sql, endpointIds)})
      ) m) r`
