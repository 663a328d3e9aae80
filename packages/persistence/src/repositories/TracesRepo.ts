/**
 * Everything that became of an event, found by any of its ids, each step through an index. A trace id can lead to many events:
 * the answer has the oldest `MAX_ITEMS`, and no statement reads more than `MAX_DELIVERIES`. A caller that is limited to endpoints sees
 * their deliveries, and of the first `MAX_JUDGED` events those that exist for it. Source: spec §4.6.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { Within } from "@posthorn/domain/Principal"
import { Effect, Schema } from "effect"
import { Time } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import { ofEndpoints } from "../client/Within.ts"
import { eventExists, eventsOf } from "./internal/EventsWithin.ts"

const Raw = Schema.Struct({
  at: Time,
  kind: Schema.Literal("event", "delivery", "attempt", "replay", "audit"),
  id: Schema.String,
  facts: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})

export interface TraceItem extends Omit<typeof Raw.Type, "facts"> {
  readonly [member: string]: unknown
}

const MAX_ITEMS = 1_000
const MAX_DELIVERIES = 1_000
const MAX_JUDGED = 100

const TRACE_ID = /^[0-9a-f]{32}$/
const OWN_ID = /^(whd|evt)_[\x21-\x7e]{1,60}$/

export class TracesRepo extends Effect.Service<TracesRepo>()(
  "@posthorn/persistence/repositories/TracesRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Deliveries that the id itself names: one by its id, or those with this trace id. */
      const named = (caller: Within, id: string) =>
        id.startsWith("whd_")
          ? sql`select id, event_id, replayed_from from posthorn.deliveries
            where workspace_id = ${caller.workspaceId} and id = ${id} ${ofEndpoints(sql, caller, "endpoint_id")}`
          : sql`select id, event_id, replayed_from from (
              select id, event_id, replayed_from, endpoint_id from posthorn.deliveries
              where workspace_id = ${caller.workspaceId} and trace_id = ${id}
                and (event_id is null or replayed_from is not null or replay_id is not null)
              limit ${MAX_DELIVERIES}
            ) d where true ${ofEndpoints(sql, caller, "endpoint_id")}`

      const eventsNamed = ({ workspaceId }: Within, id: string) =>
        sql`select id from posthorn.events
        where workspace_id = ${workspaceId} and ${
          id.startsWith("evt_")
            ? sql`id = ${id}`
            : // Deliveries whose trace id is derived from their own id have no entry in the index by trace id.
              sql`id = ${`evt_${id.slice(0, -3)}`} and trace_id = ${id}`
        }
        union
        (select id from posthorn.events
         where workspace_id = ${workspaceId} and trace_id = ${id} and trace_id <> posthorn.own_trace(id)
         limit ${MAX_DELIVERIES})`

      /** Those among the events that exist for the caller. */
      const existing = (caller: Within, ids: Fragment) =>
        caller.endpointIds === null
          ? ids
          : sql`select r.id from (select * from (${ids}) i limit ${MAX_JUDGED}) i
              join posthorn.events r on r.workspace_id = ${caller.workspaceId} and r.id = i.id ${eventExists(sql, caller)}`

      const items = (caller: Within, id: string) => {
        const { workspaceId } = caller
        const eventIds = sql`select event_id as id from named where event_id is not null
          union (${eventsNamed(caller, id)})`
        return rows(sql, Raw)`
        with recursive named as materialized (${named(caller, id)}),
        event_ids as materialized (${existing(caller, eventIds)}),
        -- A test send and its replays have no event; they are connected by what each was replayed from.
        first_sends as (
          select id, replayed_from from named where event_id is null
          union
          select d.id, d.replayed_from from first_sends s
          join posthorn.deliveries d on d.workspace_id = ${workspaceId} and d.id = s.replayed_from and d.event_id is null
        ),
        sends as (
          select id from first_sends
          union
          select d.id from sends s
          join posthorn.deliveries d
            on d.workspace_id = ${workspaceId} and d.replayed_from = s.id and d.event_id is null
        ),
        delivered as materialized (
          select d.* from event_ids e
          cross join lateral posthorn.deliveries_of_event(${workspaceId}, e.id) as of_event(id)
          join posthorn.deliveries d on d.workspace_id = ${workspaceId} and d.id = of_event.id ${ofEndpoints(sql, caller, "d.endpoint_id")}
          union all
          select d.* from sends s join posthorn.deliveries d
            on d.workspace_id = ${workspaceId} and d.id = s.id ${ofEndpoints(sql, caller, "d.endpoint_id")}
          limit ${MAX_DELIVERIES}
        )
        select at, kind, id, facts from (
          select r.created_at as at, 'event' as kind, r.id::text, 1 as rank, json_build_object('eventType', r.event_type,
            'traceId', r.trace_id, 'deliveries', r.deliveries, 'missed', r.missed, 'actor', posthorn.actor_json(r.actor)) as facts
          from event_ids i join ${eventsOf(sql, caller)} on r.workspace_id = ${workspaceId} and r.id = i.id
          union all
          select d.created_at, 'replay', d.id, 2, json_build_object('replayedFrom', d.replayed_from, 'replayId', d.replay_id)
          from delivered d where d.replayed_from is not null or d.replay_id is not null
          union all
          select d.created_at, 'delivery', d.id, 3, json_build_object('endpointId', d.endpoint_id, 'eventType', d.event_type,
            'status', d.status, 'attempts', d.attempts, 'traceId', d.trace_id, 'test', d.event_id is null,
            'actor', case when d.actor is not null then posthorn.actor_json(d.actor) end)
          from delivered d
          union all
          select a.at, 'attempt', a.id, 5, json_build_object('deliveryId', a.delivery_id, 'ordinal', a.ordinal,
            'status', a.status, 'httpStatus', a.http_status, 'failureReason', a.failure_reason,
            'durationMs', a.duration_ms)
          from delivered d
          join posthorn.attempts a on a.workspace_id = ${workspaceId} and a.delivery_id = d.id
          union all
          select u.created_at, 'audit', u.id, 4, json_build_object('action', u.action,
            'actor', json_build_object('type', u.actor_type, 'id', u.actor_id, 'via', u.via),
            'target', json_build_object('type', u.target_type, 'id', u.target_id))
          from (
            select id as target from delivered
            union select replay_id from delivered where replay_id is not null
          ) t
          join posthorn.audit_events u on u.workspace_id = ${workspaceId} and u.target_id = t.target
        ) found
        order by at, rank, id limit ${MAX_ITEMS + 1}`
      }

      /** Ordered by time; empty when nothing has the id. */
      const find = (caller: Within, id: string) =>
        TRACE_ID.test(id) || OWN_ID.test(id)
          ? items(caller, id).pipe(
              Effect.map((found) => ({
                items: found
                  .slice(0, MAX_ITEMS)
                  .map(({ at, facts, id, kind }): TraceItem => ({ at, kind, id, ...facts })),
                truncated: found.length > MAX_ITEMS
              })),
              Effect.orDie
            )
          : Effect.succeed({ items: [], truncated: false })

      return { find } as const
    })
  }
) {}
