/**
 * Deliveries: summaries, newest first, and new test sends. Ids are in the order of `createdAt`.
 *
 * A page costs the same however deep it lies: it walks an index, reads at most `SCAN_LIMIT` rows for a filter, and may end
 * early because of large payloads. For a caller that is limited to several endpoints it walks the index of each.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import type { JsonText } from "@posthorn/domain/JsonText"
import { byTime, cursorAt, emptyPage, type Page, TimePosition } from "@posthorn/domain/Page"
import type { Actor, Within } from "@posthorn/domain/Principal"
import { DeliveryStatus } from "@posthorn/domain/States"
import { FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Option, Schema } from "effect"
import { actorText } from "../client/internal/Actors.ts"
import { Count, Id, Time } from "../client/internal/Columns.ts"
import { hasRow } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { madeBetween, type Times } from "../client/Statement.ts"
import { idsIn, ofEndpoints } from "../client/Within.ts"
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

/** Of one endpoint, or of several. */
interface Walked extends DeliveryFilter {
  readonly endpointIds?: ReadonlyArray<EndpointId>
}

export const SCAN_LIMIT = 10_000

/** Rows of an endpoint that may become visible between the two statements of a filtered walk of several endpoints. */
const LATE_ROWS = 100

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

      const find = (caller: Within, deliveryId: DeliveryId) =>
        rows(sql, Raw)`select ${columns} from posthorn.deliveries r
        where r.workspace_id = ${caller.workspaceId} and r.id = ${deliveryId} ${ofEndpoints(sql, caller, "r.endpoint_id")}`.pipe(
          Effect.map(first),
          Effect.orDie
        )

      const exists = (caller: Within, deliveryId: DeliveryId) =>
        hasRow(sql)`select from posthorn.deliveries
          where workspace_id = ${caller.workspaceId} and id = ${deliveryId} ${ofEndpoints(sql, caller, "endpoint_id")}`

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
      const within = (workspaceId: WorkspaceId, filter: Walked, from: Option.Option<TimePosition>) =>
        sql.and([
          sql`r.workspace_id = ${workspaceId}`,
          ...(filter.endpointId === undefined ? [] : [sql`r.endpoint_id = ${filter.endpointId}`]),
          ...(filter.endpointIds === undefined
            ? []
            : [sql`r.endpoint_id = any (${idsIn(sql, filter.endpointIds)})`]),
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
        filter: Walked,
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
      const scanEnd = (workspaceId: WorkspaceId, filter: Walked, from: Option.Option<TimePosition>) =>
        rows(sql, TimePosition)`select posthorn.made_at(r.id) as at, r.id from ${source(workspaceId, filter)}
        where ${within(workspaceId, filter, from)}
        order by r.id desc offset ${SCAN_LIMIT - 1} limit 1`

      const listWalked = (
        workspaceId: WorkspaceId,
        filter: Walked,
        limit: number,
        from: Option.Option<TimePosition>
      ) =>
        Effect.gen(function* () {
          const found = yield* page(walk(workspaceId, filter, limit + 1, from), limit, filter.omitPayload)
          if (found.nextCursor !== null || !isFiltered(filter)) return found
          const [end] = yield* scanEnd(workspaceId, filter, from)
          return end === undefined ? found : { ...found, nextCursor: cursorAt(byTime, end) }
        })

      /** Reads each endpoint's own rows. Filtered, each has its share of `SCAN_LIMIT`, and the page ends where one has used it up. */
      const listOfSeveral = (
        workspaceId: WorkspaceId,
        ids: ReadonlyArray<EndpointId>,
        filter: DeliveryFilter,
        limit: number,
        from: Option.Option<TimePosition>
      ) =>
        Effect.gen(function* () {
          const until =
            filter.until === undefined
              ? sql`null`
              : sql`posthorn.id_at('whd_', ${filter.until}::timestamptz + interval '1 millisecond')`
          const before = Option.isNone(from) ? sql`${NEWEST}` : beforeId(from.value)
          const newest = (most: number) => sql`unnest(${idsIn(sql, ids)}) as o(id)
            cross join lateral posthorn.newest_deliveries(${workspaceId}, o.id, least(${before}::text, ${until}), ${most}) r`
          const between = madeBetween(sql, "whd_", sql.literal("r"), filter)
          const share = Math.ceil(SCAN_LIMIT / ids.length)
          const [end] = isFiltered(filter)
            ? yield* rows(
                sql,
                TimePosition
              )`select posthorn.made_at(max(o.low)) as at, max(o.low) as id from (
                select min(r.id) as low from ${newest(share)} where ${between} group by o.id having count(*) = ${share}
              ) o having max(o.low) is not null`
            : []
          const found = yield* page(
            sql`(select r.* from ${newest(isFiltered(filter) ? share + LATE_ROWS : limit + 1)}) r
            where ${between} and ${matching(filter)} ${end === undefined ? sql`` : sql`and r.id >= ${end.id}`}
            order by r.id desc limit ${limit + 1}`,
            limit,
            filter.omitPayload
          )
          return found.nextCursor !== null || end === undefined
            ? found
            : { ...found, nextCursor: cursorAt(byTime, end) }
        })

      const list = (
        { endpointIds, workspaceId }: Within,
        filter: DeliveryFilter,
        limit: number,
        from: Option.Option<TimePosition>
      ): Effect.Effect<Page<DeliveryRow>> => {
        const ids = endpointIds?.filter((id) => id === (filter.endpointId ?? id))
        if (ids === undefined) return Effect.orDie(listWalked(workspaceId, filter, limit, from))
        const [endpointId] = ids
        if (endpointId === undefined) return Effect.succeed(emptyPage)
        return Effect.orDie(
          ids.length === 1
            ? listWalked(workspaceId, { ...filter, endpointId }, limit, from)
            : filter.eventId === undefined
              ? listOfSeveral(workspaceId, ids, filter, limit, from)
              : listWalked(workspaceId, { ...filter, endpointIds: ids }, limit, from)
        )
      }

      return { exists, find, insertTestSend, list } as const
    })
  }
) {}
