/**
 * Reading what was published, newest first, and which types there are.
 *
 * Ids are made when an event is published and sort by that, so a page walks an index on them and costs the same however
 * deep it lies. A type costs one probe for its newest event and a count, within the index, of its last 24 hours.
 * Source: decision §10 (Events).
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { EventId, WorkspaceId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { byId, cursorAt, pageOf } from "@posthorn/domain/Page"
import { Effect, Option, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"
import { madeBetween, PAGE_BYTES, type Times } from "./Statement.ts"

const Raw = Schema.Struct({
  id: Id("event"),
  eventType: Schema.String,
  payload: Schema.NullOr(Schema.String),
  traceId: Schema.String,
  createdAt: Time,
  deliveries: Count,
  missed: Count
})
type Raw = typeof Raw.Type

export interface EventRow extends Omit<Raw, "payload"> {
  readonly payload: JsonText | null
}

export interface EventFilter extends Times {
  readonly eventType?: string | undefined
  readonly omitPayload?: boolean | undefined
}

export const EventTypeRow = Schema.Struct({
  eventType: Schema.String,
  lastSeenAt: Time,
  lastDay: Count,
  endpoints: Count
})
export type EventTypeRow = typeof EventTypeRow.Type

const columnsWith = (payload: string) => columnsOf(Raw, "e.", { payload })

const toRow = ({ payload, ...raw }: Raw): EventRow => ({
  ...raw,
  payload: payload === null ? null : new JsonText(payload)
})

/** How far back types are looked for. Source: decision §4 (listEventTypes). */
export const TYPES_WITHIN = "30 days"

export class EventHistoryRepo extends Effect.Service<EventHistoryRepo>()(
  "@posthorn/persistence/EventHistoryRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsWith("e.payload"))
      const withoutPayload = sql.literal(columnsWith("null::text"))
      const withinBudget = sql.literal(
        columnsWith(`case when e.bytes_before < ${PAGE_BYTES} then e.payload end`)
      )

      const find = (workspaceId: WorkspaceId, eventId: EventId) =>
        rows(sql, Raw)`select ${columns} from posthorn.events e
          where e.workspace_id = ${workspaceId} and e.id = ${eventId}`.pipe(
          Effect.map((rows) => (rows[0] === undefined ? undefined : toRow(rows[0]))),
          Effect.orDie
        )

      const within = (
        workspaceId: WorkspaceId,
        { eventType, ...times }: EventFilter,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        sql.and([
          sql`e.workspace_id = ${workspaceId}`,
          ...(eventType === undefined ? [] : [sql`e.event_type = ${eventType}`]),
          ...(Option.isNone(from) ? [] : [sql`e.id < ${from.value.id}`]),
          madeBetween(sql, "evt_", sql.literal("e"), times)
        ])

      /** Newest first, strictly past the position; the page ends early when its payloads have spent `PAGE_BYTES`. */
      const list = (
        workspaceId: WorkspaceId,
        filter: EventFilter,
        limit: number,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        Effect.gen(function* () {
          const walk = sql`posthorn.events e where ${within(workspaceId, filter, from)}
            order by e.id desc limit ${limit + 1}`
          const found = yield* filter.omitPayload
            ? rows(sql, Raw)`select ${withoutPayload} from ${walk}`
            : rows(sql, Raw)`select ${withinBudget} from (
                select w.*, coalesce(sum(octet_length(w.payload)) over (
                  order by w.id desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
                from (select e.* from ${walk}) w
              ) e order by e.id desc`
          const end = filter.omitPayload ? -1 : found.findIndex(({ payload }) => payload === null)
          if (end < 0) return pageOf(byId, found.map(toRow), limit)
          const items = found.slice(0, end).map(toRow)
          return { items, nextCursor: cursorAt(byId, byId.positionOf(items[end - 1]!)) }
        }).pipe(Effect.orDie)

      /** By name, strictly past the position; a type none of whose events is kept any more is not one. */
      const listTypes = (
        workspaceId: WorkspaceId,
        limit: number,
        from: Option.Option<{ readonly type: string }>
      ) => {
        const past = Option.match(from, { onNone: () => "", onSome: ({ type }) => type })
        return rows(sql, EventTypeRow)`
          with recursive types as (
            (select e.event_type, e.id from posthorn.events e
             where e.workspace_id = ${workspaceId} and e.event_type > ${past}
             order by e.event_type, e.id desc limit 1)
            union all
            select next.event_type, next.id from types t cross join lateral (
              select e.event_type, e.id from posthorn.events e
              where e.workspace_id = ${workspaceId} and e.event_type > t.event_type
              order by e.event_type, e.id desc limit 1
            ) next
          ), page as materialized (
            select event_type, id, posthorn.patterns_of(event_type) as patterns from types where id >= posthorn.id_at('evt_', now() - ${TYPES_WITHIN}::interval) limit ${limit + 1}
          ), wanted as materialized (
            select s.pattern, s.endpoint_id from posthorn.subscriptions s
            join posthorn.endpoints n on n.workspace_id = s.workspace_id and n.id = s.endpoint_id
            where s.workspace_id = ${workspaceId} and n.enabled
          )
          select p.event_type as "eventType", newest.created_at as "lastSeenAt",
            (select count(*) from posthorn.events e
             where e.workspace_id = ${workspaceId} and e.event_type = p.event_type
               and e.id >= posthorn.id_at('evt_', now() - interval '24 hours')) as "lastDay",
            (select count(distinct w.endpoint_id) from wanted w
             where w.pattern = any (p.patterns)) as endpoints
          from page p
          join posthorn.events newest on newest.workspace_id = ${workspaceId} and newest.id = p.id
          order by p.event_type`.pipe(Effect.orDie)
      }

      return { find, list, listTypes } as const
    })
  }
) {}
