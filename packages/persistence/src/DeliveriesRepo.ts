/**
 * Deliveries: summaries, newest first, and new rows for test sends. The order of ids is that of `createdAt`.
 *
 * A page costs the same however deep it lies and however long the history: it walks an index from the cursor on, and a
 * filter looks at `SCAN_LIMIT` rows at most, and payloads end it after `PAGE_BYTES`. A page may therefore hold fewer rows
 * than asked for and still have a next.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { byTime, cursorAt, type Page, pageOf, TimePosition } from "@posthorn/domain/Page"
import { DeliveryStatus } from "@posthorn/domain/States"
import { FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Option, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "./internal/Columns.ts"
import { type Listing, makeWrittenPages, NEWEST } from "./internal/WrittenPages.ts"
import { rows } from "./Rows.ts"
import { madeBetween, PAGE_BYTES, type Times } from "./Statement.ts"

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
  lastHttpStatus: Schema.NullOr(Count),
  lastFailureReason: Schema.NullOr(FailureReason),
  lastDurationMs: Schema.NullOr(Count),
  lastAttemptAt: Schema.NullOr(Time),
  createdAt: Time
})
type Raw = typeof Raw.Type

export interface DeliveryRow extends Omit<Raw, "payload"> {
  readonly payload: JsonText | null
}

/** What an item of a page is when PostgreSQL has written it. */
const Item = Schema.Struct({ ...Raw.fields, payload: Schema.Unknown })

export type DeliveryListing = Listing<DeliveryRow, typeof Item.Type>

export interface NewTestSend {
  readonly endpointId: EndpointId
  readonly eventType: string
  readonly payload: JsonText
  readonly traceId: string
}

export interface DeliveryFilter extends Times {
  readonly endpointId?: string | undefined
  readonly eventId?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly eventType?: string | undefined
  readonly omitPayload?: boolean | undefined
}

/** Rows that one page of a filtered list looks at. 10,000 index entries take some 10 ms. */
export const SCAN_LIMIT = 10_000

/** A test send has its own, everything else its event's. */
const PAYLOAD = `coalesce(d.payload, (
  select e.payload from posthorn.events e where e.workspace_id = d.workspace_id and e.id = d.event_id))`

/** It stays in the database, and comes as null, for the rows that a page ends before. */
const PAYLOAD_WITHIN_BUDGET = `case when d.bytes_before < ${PAGE_BYTES} then d.whole_payload end`

const columnsWith = (payload: string) => columnsOf(Raw, "d.", { payload })

/** The row as it came, changed in place: copying 50 rows of 14 members costs more than reading them. */
const toRow = (raw: Raw): DeliveryRow => {
  const row = raw as { payload: string | JsonText | null }
  if (typeof row.payload === "string") row.payload = new JsonText(row.payload)
  return row as DeliveryRow
}

/** How many rows come before the page's budget of bytes is spent; the first is always one of them. */
const withinBudget = (rows: ReadonlyArray<Raw>): number => {
  const end = rows.findIndex(({ payload }) => payload === null)
  return end < 0 ? rows.length : end
}

export class DeliveriesRepo extends Effect.Service<DeliveriesRepo>()("@posthorn/persistence/DeliveriesRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(columnsWith(PAYLOAD))
    const payload = sql.literal(PAYLOAD)
    const withoutPayload = sql.literal(columnsWith("null::text"))
    const written = makeWrittenPages(sql, Item)
    const withinBytes = sql.literal(columnsWith(PAYLOAD_WITHIN_BUDGET))

    const find = (workspaceId: WorkspaceId, deliveryId: DeliveryId) =>
      rows(sql, Raw)`select ${columns} from posthorn.deliveries d
        where d.workspace_id = ${workspaceId} and d.id = ${deliveryId}`.pipe(
        Effect.map((rows) => (rows[0] === undefined ? undefined : toRow(rows[0]))),
        Effect.orDie
      )

    const exists = (workspaceId: WorkspaceId, deliveryId: DeliveryId) =>
      sql`select from posthorn.deliveries where workspace_id = ${workspaceId} and id = ${deliveryId}`.pipe(
        Effect.map((rows) => rows.length > 0),
        Effect.orDie
      )

    /**
     * Store a test send and queue it, due now. The caller's transaction holds both. It has no event behind it; deliveries
     * of events are made by `posthorn.publish` and `posthorn.replay`.
     */
    const insertTestSend = (workspaceId: WorkspaceId, row: NewTestSend) =>
      rows(sql, Raw)`
        with woken as materialized (
          select posthorn.wake(array[posthorn.shard_of(${row.endpointId})])
        ), d as (
          insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id,
            next_attempt_at, created_at)
          select ${workspaceId}, made.id, ${row.endpointId}, ${row.eventType}, ${row.payload.text},
            ${row.traceId}, date_trunc('milliseconds', clock_timestamp()), posthorn.made_at(made.id)
          from (select posthorn.new_id('whd_') as id from woken offset 0) made
          returning *
        ), queued as (
          insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
          select workspace_id, id, endpoint_id, posthorn.shard_of(endpoint_id), next_attempt_at from d
        )
        select ${columns} from d`.pipe(
        Effect.map((rows) => toRow(rows[0]!)),
        Effect.orDie
      )

    /** A cursor of another list has an id of another kind: then its time says where to go on. */
    const beforeId = ({ at, id }: TimePosition) =>
      id.startsWith("whd_") ? sql`${id}` : sql`posthorn.id_at('whd_', ${at}::timestamptz)`

    /** Where a walk starts: in a workspace or one of its endpoints, strictly past the position. */
    const within = (workspaceId: WorkspaceId, filter: DeliveryFilter, from: Option.Option<TimePosition>) =>
      sql.and([
        sql`d.workspace_id = ${workspaceId}`,
        ...(filter.endpointId === undefined ? [] : [sql`d.endpoint_id = ${filter.endpointId}`]),
        madeBetween(sql, "whd_", sql.literal("d"), filter),
        ...(Option.isNone(from) ? [] : [sql`d.id < ${beforeId(from.value)}`])
      ])

    /** Of one event there are few: found by it, then ordered. Without `offset 0` some plans walk the whole history. */
    const source = (workspaceId: WorkspaceId, { eventId }: DeliveryFilter) =>
      eventId === undefined
        ? sql`posthorn.deliveries d`
        : sql`(select d.* from posthorn.deliveries_of_event(${workspaceId}, ${eventId}) as of_event(id)
            join posthorn.deliveries d on d.workspace_id = ${workspaceId} and d.id = of_event.id offset 0) d`

    const matching = (filter: DeliveryFilter) =>
      sql.and([
        sql`true`,
        ...(filter.status === undefined ? [] : [sql`d.status = ${filter.status}`]),
        ...(filter.eventType === undefined ? [] : [sql`d.event_type = ${filter.eventType}`])
      ])

    const isFiltered = (filter: DeliveryFilter) =>
      filter.status !== undefined || filter.eventType !== undefined

    const isPlain = (filter: DeliveryFilter) =>
      !isFiltered(filter) &&
      filter.eventId === undefined &&
      filter.since === undefined &&
      filter.until === undefined

    const walk = (
      workspaceId: WorkspaceId,
      filter: DeliveryFilter,
      rows: number,
      from: Option.Option<TimePosition>
    ) =>
      isFiltered(filter)
        ? sql`(select d.* from ${source(workspaceId, filter)} where ${within(workspaceId, filter, from)}
            order by d.id desc limit ${SCAN_LIMIT}) d where ${matching(filter)}
            order by d.id desc limit ${rows}`
        : sql`${source(workspaceId, filter)} where ${within(workspaceId, filter, from)}
            order by d.id desc limit ${rows}`

    /** Where a filtered walk had to stop looking, if there were rows beyond. */
    const scanEnd = (workspaceId: WorkspaceId, filter: DeliveryFilter, from: Option.Option<TimePosition>) =>
      rows(sql, TimePosition)`select posthorn.made_at(d.id) as at, d.id from ${source(workspaceId, filter)}
        where ${within(workspaceId, filter, from)}
        order by d.id desc offset ${SCAN_LIMIT - 1} limit 1`

    const select = (
      workspaceId: WorkspaceId,
      filter: DeliveryFilter,
      limit: number,
      from: Option.Option<TimePosition>
    ): Effect.Effect<Page<DeliveryRow>> =>
      Effect.gen(function* () {
        const found = yield* filter.omitPayload
          ? rows(sql, Raw)`select ${withoutPayload} from ${walk(workspaceId, filter, limit + 1, from)}`
          : rows(sql, Raw)`select ${withinBytes} from (
              select w.*, coalesce(sum(octet_length(w.whole_payload)) over (
                order by w.id desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
              from (
                select d.*, ${payload} as whole_payload from ${walk(workspaceId, filter, limit + 1, from)}
              ) w
            ) d order by d.id desc`
        const fitting = filter.omitPayload ? found.length : withinBudget(found)
        const items = found.slice(0, fitting).map(toRow)
        const page =
          fitting < found.length
            ? { items, nextCursor: cursorAt(byTime, byTime.positionOf(items[fitting - 1]!)) }
            : pageOf(byTime, items, limit)
        if (page.nextCursor !== null || !isFiltered(filter)) return page
        const [end] = yield* scanEnd(workspaceId, filter, from)
        return end === undefined ? page : { ...page, nextCursor: cursorAt(byTime, end) }
      }).pipe(Effect.orDie)

    const listed = (page: Page<DeliveryRow>): DeliveryListing => ({ isEmpty: page.items.length === 0, page })

    /** Newest first, strictly past the position. */
    const list = (
      workspaceId: WorkspaceId,
      filter: DeliveryFilter,
      limit: number,
      from: Option.Option<TimePosition>
    ): Effect.Effect<DeliveryListing> => {
      const selected = Effect.suspend(() => Effect.map(select(workspaceId, filter, limit, from), listed))
      if (!isPlain(filter)) return selected
      const before = Option.isNone(from) ? NEWEST : beforeId(from.value)
      const { endpointId, omitPayload } = filter
      return Effect.flatMap(
        Effect.orDie(written(workspaceId, { endpointId, omitPayload, limit, before })),
        (page): Effect.Effect<DeliveryListing> => (page === undefined ? selected : Effect.succeed(page))
      )
    }

    return { exists, find, insertTestSend, list } as const
  })
}) {}
