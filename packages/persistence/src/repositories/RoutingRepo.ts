/**
 * Why endpoints got an event, or did not. A page costs a few index probes for each endpoint, however many deliveries the event or
 * the endpoint has.
 *
 * A delivery or a missed event proves that an endpoint was there when the publish looked. Without either, it was created later if it
 * was made after the event. The same holds if it was made before, wants the event, and was never changed: the transaction that made it
 * was still open when the publish looked.
 * `reason` is null where the endpoint's patterns fit now, so that its filter decides; `wanting` is what it is if that holds.
 * Source: spec §4.6.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { EndpointId, EventId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"
import { RoutingReason } from "@posthorn/domain/States"
import { Effect, type Option, Schema } from "effect"
import { Id } from "../client/internal/Columns.ts"
import { all, first } from "../client/Query.ts"
import { byIdAfter } from "../client/Statement.ts"
import { ofEndpoints } from "../client/Within.ts"
import { eventExists } from "./internal/EventsWithin.ts"

const Route = Schema.Struct({
  endpointId: Id("endpoint"),
  reason: Schema.NullOr(RoutingReason),
  wanting: RoutingReason,
  filter: Schema.NullOr(Schema.String),
  deliveryId: Schema.NullOr(Id("delivery"))
})

const Event = Schema.Struct({ eventType: Schema.String, purged: Schema.Boolean })

export class RoutingRepo extends Effect.Service<RoutingRepo>()(
  "@posthorn/persistence/repositories/RoutingRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const findEvent = (caller: Within, eventId: EventId) =>
        first(
          sql,
          Event
        )`select event_type as "eventType", purged_at is not null as purged from posthorn.events r
          where workspace_id = ${caller.workspaceId} and id = ${eventId} ${eventExists(sql, caller)}`

      /** By endpoint id, strictly past the position, and one row more than the page holds. */
      const list = (
        caller: Within,
        eventId: EventId,
        endpointId: EndpointId | undefined,
        limit: number,
        from: Option.Option<{ readonly id: string }>
      ) => {
        const { workspaceId } = caller
        // Compared as rows, ids lead PostgreSQL to the index by endpoint, whatever its statistics say; other indexes hold all of the event.
        return all(sql, Route)`
        with page as materialized (
          select id, event_types, created_at, updated_at, filter::text as filter from posthorn.endpoints
          where workspace_id = ${workspaceId} ${endpointId === undefined ? sql`` : sql`and id = ${endpointId}`}
            ${ofEndpoints(sql, caller, "id")}
            and ${byIdAfter(sql, limit, from)}
        ), event as materialized (
          select id, event_type, created_at, endpoint_ids, unfilterable, posthorn.patterns_of(event_type) as patterns,
            case when event_type = 'webhook.endpoint_disabled' then payload::json ->> 'endpointId' end as about
          from posthorn.events where workspace_id = ${workspaceId} and id = ${eventId}
        )
        select p.id as "endpointId", coalesce(replayed.id, made.id) as "deliveryId",
          case
            when made.id is not null then case when v.unfilterable and p.filter is not null then 'unfilterable' else 'sent' end
            when p.id <> all (v.endpoint_ids) then 'not_chosen'
            when p.id = v.about then 'about_itself'
            -- The replay of a missed event takes the place of its row.
            when missed.proof or made_up.proof then 'missed'
            when p.created_at > v.created_at then 'created_later'
            when not p.event_types && v.patterns then 'type'
          end as reason,
          case when p.updated_at <= p.created_at + interval '1 millisecond' and v.event_type <> 'webhook.endpoint_disabled'
            then 'created_later' else 'changed_since' end as wanting,
          p.filter
        from page p cross join event v
        left join lateral (
          select d.id from posthorn.deliveries d
          where d.workspace_id = ${workspaceId} and (d.endpoint_id, d.id) >= (p.id, posthorn.deliveries_begin(v.id))
            and (d.endpoint_id, d.id) < (p.id, posthorn.deliveries_begin(v.id) || 'g')
            and d.event_id = v.id and d.replayed_from is null and d.replay_id is null
          order by d.endpoint_id, d.id limit 1
        ) made on true
        left join lateral (
          select d.id from posthorn.deliveries d
          where d.workspace_id = ${workspaceId} and d.event_id = v.id and d.endpoint_id = p.id
            and (d.replayed_from is not null or d.replay_id is not null)
          order by d.id desc limit 1
        ) replayed on true
        left join lateral (
          select d.replay_id is not null and d.replayed_from is null and d.unsent_by is null as proof from posthorn.deliveries d
          where d.workspace_id = ${workspaceId} and d.event_id = v.id and d.endpoint_id = p.id
            and (d.replayed_from is not null or d.replay_id is not null)
          order by d.id limit 1
        ) made_up on true
        left join lateral (
          select true as proof from posthorn.missed_events m
          where m.workspace_id = ${workspaceId} and (m.endpoint_id, m.created_at, m.event_id)
            between (p.id, v.created_at, v.id) and (p.id, v.created_at, v.id)
          order by m.endpoint_id, m.created_at, m.event_id limit 1
        ) missed on true
        order by p.id`
      }

      return { findEvent, list } as const
    })
  }
) {}
