/**
 * Deliveries: summaries, newest first, and new test sends. Ids are in the order of `createdAt`.
 *
 * A page costs the same however deep it lies: it walks an index, reads at most `SCAN_LIMIT` rows for a filter, and may end
 * early because of large payloads.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import type { JsonText } from "@posthorn/domain/JsonText"
import { byTime, cursorAt, type Page, TimePosition } from "@posthorn/domain/Page"
import type { Actor } from "@posthorn/domain/Principal"
import { DeliveryStatus } from "@posthorn/domain/States"
import { FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Option, Schema } from "effect"
import { actorText } from "../client/internal/Actors.ts"
import { Count, Id, Time } from "../client/internal/Columns.ts"
import { hasRow } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { madeBetween, type Times } from "../client/Statement.ts"
import { makePayloadPages, type WithPayload } from "./internal/PayloadPages.ts"

const Raw = Schema.Struct({
  id: Id("delivery"),
  endpointId: Id("endpoint"),
  eventId: Schema.NullOr(Id("event")),
  eventType: Schema.String,
  status: DeliveryStatus,
  attempts: Count,
  nextAttemptAt: Schema.NullOr(Time),
  payload: Schema.NullOr(Schema.String),
  replayedFrom: Schema.NullOr(Id("delivery")),
  recoveredBy: Schema.NullOr(Id("delivery")),
  test: Schema.Boolean,
  lastHttpStatus: Schema.NullOr(Count),
  lastFailureReason: Schema.NullOr(FailureReason),
  lastDurationMs: Schema.NullOr(Count),
  lastAttemptAt: Schema.NullOr(Time),
  createdAt: Time
})
export type DeliveryRow = WithPayload<typeof Raw.Type>

interface NewTestSend {
  readonly endpointId: EndpointId
  readonly eventType: string
  readonly payload: JsonText
  readonly actor: Actor
  readonly traceId: string
}

interface DeliveryFilter extends Times {
  readonly endpointId?: string | undefined
  readonly eventId?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly eventType?: string | undefined
  readonly recovered?: boolean | undefined
  readonly omitPayload?: boolean | undefined
}

export const SCAN_LIMIT = 10_000

/** Greater than every id. */
const NEWEST = "whd_g"

/** A test send has a payload of its own; other deliveries have that of their event. */
const PAYLOAD = `coalesce(r.payload, (
  select e.payload from posthorn.events e where e.workspace_id = r.workspace_id and e.id = r.event_id))`

/** Only a delivery that failed can have been recovered. */
const RECOVERED_BY = `case when r.status in ('failed', 'failed_permanent', 'dead_lettered') then (
  select f.recovered_by from posthorn.failed_deliveries f where f.workspace_id = r.workspace_id
    and f.endpoint_id = r.endpoint_id and f.created_at = r.created_at and f.delivery_id = r.id) end`

export class DeliveriesRepo extends Effect.Service<DeliveriesRepo>()(
  "@posthorn/persistence/repositories/DeliveriesRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { columns, first, page } = makePayloadPages(sql, Raw, byTime, PAYLOAD, {
        test: "r.event_id is null",
        recoveredBy: RECOVERED_BY,
        // Calling the function for each of 50 rows takes 0.6 ms, so only where a rate has counted an attempt.
        nextAttemptAt: `case when r.next_attempt_at is not null then greatest(r.next_attempt_at, (
          select posthorn.next_start(r.workspace_id, r.endpoint_id) from posthorn.attempt_starts b
          where b.workspace_id = r.workspace_id and b.endpoint_id = r.endpoint_id order by b.at desc, b.id desc limit 1)) end`
      })

      const find = (workspaceId: WorkspaceId, deliveryId: DeliveryId) =>
        rows(sql, Raw)`select ${columns} from posthorn.deliveries r
        where r.workspace_id = ${workspaceId} and r.id = ${deliveryId}`.pipe(Effect.map(first), Effect.orDie)

      const exists = (workspaceId: WorkspaceId, deliveryId: DeliveryId) =>
        hasRow(
          sql
        )`select from posthorn.deliveries where workspace_id = ${workspaceId} and id = ${deliveryId}`

      /** Due now, in the caller's transaction. The deliveries of events are made by `0002_publish.sql` and `0007_replays.sql`. */
      const insertTestSend = (workspaceId: WorkspaceId, row: NewTestSend) =>
        rows(sql, Raw)`
        with woken as materialized (
          select posthorn.notify_if_asleep(array[posthorn.shard_of(${row.endpointId})])
        ), d as (
          insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, actor, trace_id,
            next_attempt_at, created_at)
          select ${workspaceId}, made.id, ${row.endpointId}, ${row.eventType}, ${row.payload.text},
            ${actorText(row.actor)}, ${row.traceId}, date_trunc('milliseconds', clock_timestamp()), posthorn.made_at(made.id)
          from (select posthorn.new_id('whd_') as id from woken offset 0) made
          returning *
        ), queued as (
          insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at, at_once)
          select workspace_id, id, endpoint_id, posthorn.shard_of(endpoint_id), next_attempt_at, true from d
        )
        select ${columns} from d as r`.pipe(
          Effect.map((made) => first(made)!),
          Effect.orDie
        )

      /** A cursor of another list contains an id of another kind; then its time tells where to continue. */
      const beforeId = ({ at, id }: TimePosition) =>
        id.startsWith("whd_") ? sql`${id}` : sql`posthorn.id_at('whd_', ${at}::timestamptz)`

      /** Where a walk starts: in a workspace or one of its endpoints, strictly past the position. */
      const within = (workspaceId: WorkspaceId, filter: DeliveryFilter, from: Option.Option<TimePosition>) =>
        sql.and([
          sql`r.workspace_id = ${workspaceId}`,
          ...(filter.endpointId === undefined ? [] : [sql`r.endpoint_id = ${filter.endpointId}`]),
          madeBetween(sql, "whd_", sql.literal("r"), filter),
          ...(Option.isNone(from) ? [] : [sql`r.id < ${beforeId(from.value)}`])
        ])

      /** An event has few deliveries: without `offset 0` some plans walk the history instead. */
      const source = (workspaceId: WorkspaceId, { eventId }: DeliveryFilter) =>
        eventId === undefined
          ? sql`posthorn.deliveries r`
          : sql`(select r.* from posthorn.deliveries_of_event(${workspaceId}, ${eventId}) as of_event(id)
            join posthorn.deliveries r on r.workspace_id = ${workspaceId} and r.id = of_event.id offset 0) r`

      const matching = (filter: DeliveryFilter) =>
        sql.and([
          sql`true`,
          ...(filter.status === undefined ? [] : [sql`r.status = ${filter.status}`]),
          ...(filter.eventType === undefined ? [] : [sql`r.event_type = ${filter.eventType}`]),
          ...(filter.recovered === undefined
            ? []
            : [sql`((${sql.literal(RECOVERED_BY)}) is not null) = ${filter.recovered}`])
        ])

      const isFiltered = (filter: DeliveryFilter) =>
        filter.status !== undefined || filter.eventType !== undefined || filter.recovered !== undefined

      const walk = (
        workspaceId: WorkspaceId,
        filter: DeliveryFilter,
        rows: number,
        from: Option.Option<TimePosition>
      ) => {
        const { endpointId = null, eventId, since, until } = filter
        if (isFiltered(filter))
          return sql`(select r.* from ${source(workspaceId, filter)} where ${within(workspaceId, filter, from)}
            order by r.id desc limit ${SCAN_LIMIT}) r where ${matching(filter)}
            order by r.id desc limit ${rows}`
        if ((eventId ?? since ?? until) !== undefined)
          return sql`${source(workspaceId, filter)} where ${within(workspaceId, filter, from)}
            order by r.id desc limit ${rows}`
        const before = Option.isNone(from) ? NEWEST : beforeId(from.value)
        return sql`posthorn.newest_deliveries(${workspaceId}, ${endpointId}, ${before}, ${rows}) r`
      }

      /** Where a filtered walk stopped at its limit, if there are rows beyond. */
      const scanEnd = (workspaceId: WorkspaceId, filter: DeliveryFilter, from: Option.Option<TimePosition>) =>
        rows(sql, TimePosition)`select posthorn.made_at(r.id) as at, r.id from ${source(workspaceId, filter)}
        where ${within(workspaceId, filter, from)}
        order by r.id desc offset ${SCAN_LIMIT - 1} limit 1`

      const list = (
        workspaceId: WorkspaceId,
        filter: DeliveryFilter,
        limit: number,
        from: Option.Option<TimePosition>
      ): Effect.Effect<Page<DeliveryRow>> =>
        Effect.gen(function* () {
          const found = yield* page(walk(workspaceId, filter, limit + 1, from), limit, filter.omitPayload)
          if (found.nextCursor !== null || !isFiltered(filter)) return found
          const [end] = yield* scanEnd(workspaceId, filter, from)
          return end === undefined ? found : { ...found, nextCursor: cursorAt(byTime, end) }
        }).pipe(Effect.orDie)

      return { exists, find, insertTestSend, list } as const
    })
  }
) {}
