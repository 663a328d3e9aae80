/**
 * Events: publishing (internal/Publishing.ts); lists, newest first; and event types.
 *
 * Ids sort by time, so a page costs the same however deep it lies. A type costs one probe, and a count in the index of its last
 * 24 hours. Source: spec §3.4 and §4.5.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { IdempotencyKeyReused, invalid, QuotaExceeded, WorkspaceNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, EventId, MemberId, TokenId, WorkspaceId } from "@posthorn/domain/Ids"
import { byId, cursorAt } from "@posthorn/domain/Page"
import { Actor, type ChangedBy, type Within } from "@posthorn/domain/Principal"
import { Effect, Option, Schema } from "effect"
import { actorText } from "../client/internal/Actors.ts"
import { Count, Id, Time } from "../client/internal/Columns.ts"
import { all, execute, hasRow, one } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { madeBetween, refusing, type SqlProblem, type Times } from "../client/Statement.ts"
import { idsIn, ofEndpoints } from "../client/Within.ts"
import { eventExists, eventsOf, existsInTime } from "./internal/EventsWithin.ts"
import { makePayloadPages } from "./internal/PayloadPages.ts"
import { makePublishing, type NewEvent, type Publish, Published } from "./internal/Publishing.ts"

export { type NewEvent, Published }

type OwnEvent =
  | {
      readonly type: "member.added" | "member.removed"
      readonly payload: {
        readonly memberId: MemberId
        readonly email: string
        readonly name: string
        readonly role: string
      }
    }
  | {
      readonly type: "api_token.created"
      readonly payload: {
        readonly tokenId: TokenId
        readonly name: string
        readonly scopes: ReadonlyArray<string>
      }
    }
  | {
      readonly type: "api_token.revoked"
      readonly payload: { readonly tokenId: TokenId; readonly name: string }
    }
  | {
      readonly type: "webhook.endpoint_disabled"
      readonly payload: { readonly endpointId: EndpointId; readonly reason: "manual" }
    }

const refusals = {
  PH404: () => new WorkspaceNotFound(),
  PH429: ({ hint }: SqlProblem) => new QuotaExceeded({ quota: hint === "bytes" ? "bytes" : "waiting" }),
  // The workspace was removed while the event was being stored.
  "23503": () => new WorkspaceNotFound()
}

const refusedOne = refusing({
  ...refusals,
  PH400: ({ hint = "", message }) => invalid(hint, message),
  PH409: () => new IdempotencyKeyReused({}),
  PH413: ({ message }) =>
    invalid("/eventType", `${message}: only the operator can raise that (LIMIT_FAN_OUT)`)
})

const refusedAll = refusing({
  ...refusals,
  PH400: ({ hint = "", message }) => invalid(`/events${hint}`, message),
  PH409: ({ hint = "" }) => new IdempotencyKeyReused({ path: `/events${hint}` }),
  PH413: ({ message }) => invalid("/events", `${message}: publish fewer events at once`)
})

const Raw = Schema.Struct({
  id: Id("event"),
  eventType: Schema.String,
  payload: Schema.NullOr(Schema.String),
  traceId: Schema.String,
  endpointIds: Schema.NullOr(Schema.Array(Id("endpoint"))),
  retry: Schema.Boolean,
  actor: Actor,
  createdAt: Time,
  purgedAt: Schema.NullOr(Time),
  deliveries: Count,
  missed: Count
})

/** A scalar at a position within a payload. */
export interface PayloadValue {
  /** The parts of a JSON Pointer, unescaped. */
  readonly path: ReadonlyArray<string>
  readonly kind: "string" | "number" | "boolean" | "null"
  /** As in JSON, but a string without quotes; null for null. */
  readonly value: string | null
}

interface EventFilter extends Times {
  readonly eventType?: string | undefined
  /** Can be found as long as idempotency keys are kept. */
  readonly idempotencyKey?: string | undefined
  readonly payloadValue?: PayloadValue | undefined
  /** Prefixes of the types whose payloads may not be searched. */
  readonly hidden?: ReadonlyArray<string> | undefined
  readonly omitPayload?: boolean | undefined
}

const ScanEnd = Schema.Struct({ id: Id("event") })

/** `exists` is null where judging ended; `after` is the event before. */
const Judged = Schema.Struct({
  id: Id("event"),
  exists: Schema.NullOr(Schema.Boolean),
  after: Schema.NullOr(Id("event"))
})

const Purge = Schema.Struct({
  outcome: Schema.Literal("purged", "again", "waiting", "unknown"),
  bytes: Schema.NullOr(Count),
  sha256: Schema.NullOr(Schema.String),
  attempts: Schema.NullOr(Count)
})

const EventTypeRow = Schema.Struct({
  eventType: Schema.String,
  described: Schema.Boolean,
  description: Schema.NullOr(Schema.String),
  group: Schema.NullOr(Schema.String),
  deprecated: Schema.Boolean,
  validation: Schema.Literal("off", "report", "refuse"),
  lastSeenAt: Schema.NullOr(Time),
  lastDay: Count,
  endpoints: Count
})

/** The most rows, and bytes of payloads, that a page filtered by payload reads: about 0.1 s. */
const SCAN_LIMIT = 10_000
const SCAN_BYTES = 8_388_608

/** Parts that PostgreSQL would take for a position in an array: `stands_at` reads a payload once more for each. */
export const isNearlyIndex = (part: string) =>
  /^\s*[+-]?[0-9]+$/.test(part) && !/^(?:0|[1-9][0-9]*)$/.test(part)

const scanBytes = (path: ReadonlyArray<string>) =>
  Math.floor(SCAN_BYTES / (1 + path.filter(isNearlyIndex).length))

export const TYPES_WITHIN = "30 days"

export class EventsRepo extends Effect.Service<EventsRepo>()(
  "@posthorn/persistence/repositories/EventsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { columns, first, page } = makePayloadPages(sql, Raw, byId, "r.payload", {
        actor: "posthorn.actor_json(r.actor)"
      })
      const publishing = yield* makePublishing

      /** May share a transaction with other publishes, but has its own outcome. */
      const publish = (publish: Publish) => refusedOne(publishing.one(publish))

      const publishAll = (
        workspaceId: WorkspaceId,
        events: ReadonlyArray<NewEvent>,
        traceId: string,
        mostDeliveries: number,
        actor: Actor
      ) => refusedAll(publishing.all(workspaceId, events, traceId, mostDeliveries, actor))

      /** Those of these keys that were used within the last 24 hours. */
      const knownKeys = (workspaceId: WorkspaceId, keys: ReadonlyArray<string>) =>
        Effect.map(
          all(sql, Schema.Struct({ key: Schema.String }))`select key from posthorn.idempotency_keys
            where workspace_id = ${workspaceId} and key = any (${keys as Array<string>}::text[])
              and created_at > clock_timestamp() - interval '24 hours'`,
          (found) => found.map(({ key }) => key)
        )

      /** An event of Posthorn itself, in the caller's transaction; never delivered to `exceptEndpoint`. */
      const announce = (
        { actor, traceId, workspaceId }: ChangedBy,
        event: OwnEvent,
        exceptEndpoint: string | null = null
      ) =>
        execute(
          sql
        )`select posthorn.announce(${workspaceId}, ${event.type}, ${JSON.stringify(event.payload)}, ${traceId},
        ${exceptEndpoint}, ${actorText(actor)})`

      const find = (caller: Within, eventId: EventId) =>
        Effect.gen(function* () {
          const { endpointIds, workspaceId } = caller
          const exists =
            endpointIds === null ||
            (yield* hasRow(sql)`select from posthorn.events r
              where r.workspace_id = ${workspaceId} and r.id = ${eventId} ${eventExists(sql, caller)}`)
          if (!exists) return undefined
          return first(
            yield* rows(sql, Raw)`select ${columns} from ${eventsOf(sql, caller)}
            where r.workspace_id = ${workspaceId} and r.id = ${eventId}`
          )
        }).pipe(Effect.orDie)

      const purge = (workspaceId: WorkspaceId, eventId: EventId) =>
        one(
          sql,
          Purge
        )`select outcome, bytes, sha256, attempts from posthorn.purge_event(${workspaceId}, ${eventId})`

      const within = (
        workspaceId: WorkspaceId,
        { eventType, idempotencyKey, ...times }: EventFilter,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        sql.and([
          sql`r.workspace_id = ${workspaceId}`,
          ...(eventType === undefined ? [] : [sql`r.event_type = ${eventType}`]),
          ...(idempotencyKey === undefined
            ? []
            : [
                sql`r.id = (select k.event_id from posthorn.idempotency_keys k
                  where k.workspace_id = ${workspaceId} and k.key = ${idempotencyKey})`
              ]),
          ...(Option.isNone(from) ? [] : [sql`r.id < ${from.value.id}`]),
          madeBetween(sql, "evt_", sql.literal("r"), times)
        ])

      /** What one page may read, with the payload bytes before each row. Always has the newest row. */
      const scanned = (
        workspaceId: WorkspaceId,
        filter: EventFilter,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        sql`(select r.*, sum(octet_length(r.payload)) over (order by r.id desc) - octet_length(r.payload) as bytes_before
          from (select r.* from posthorn.events r where ${within(workspaceId, filter, from)}
            order by r.id desc limit ${SCAN_LIMIT}) r)`

      const matching = ({ kind, path, value }: PayloadValue, hidden: ReadonlyArray<string> = []) =>
        sql`r.bytes_before < ${scanBytes(path)} and not (r.event_type ^@ any (${hidden as Array<string>}::text[]))
          and posthorn.stands_at(r.payload::json, ${path as Array<string>}::text[], ${kind}, ${value})`

      /** Where a page filtered by payload stopped at its limit, if there are rows beyond. */
      const scanEnd = (
        workspaceId: WorkspaceId,
        filter: EventFilter,
        { path }: PayloadValue,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        rows(sql, ScanEnd)`select min(r.id) filter (where r.bytes_before < ${scanBytes(path)}) as id
          from ${scanned(workspaceId, filter, from)} r
          having count(*) = ${SCAN_LIMIT} or bool_or(r.bytes_before >= ${scanBytes(path)})`

      /** Of what a page may read the events that exist, and where it ended. */
      const listExisting = (
        { endpointIds, workspaceId }: Within & { readonly endpointIds: ReadonlyArray<EndpointId> },
        filter: EventFilter,
        limit: number,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        Effect.gen(function* () {
          const { hidden, omitPayload, payloadValue } = filter
          const source =
            payloadValue === undefined
              ? sql`(select r.* from posthorn.events r where ${within(workspaceId, filter, from)}
                  order by r.id desc limit ${SCAN_LIMIT}) r`
              : sql`${scanned(workspaceId, filter, from)} r where ${matching(payloadValue, hidden)}`
          const judged = yield* rows(sql, Judged)`select r.id, r."exists", r.after from (
              select r.id, r.after, ${existsInTime(sql, { endpointIds, workspaceId }, "r.after is null")} as "exists"
              from (select r.*, lag(r.id) over (order by r.id desc) as after from ${source}) r
              order by r.id desc offset 0
            ) r where r."exists" is not false order by r.id desc limit ${limit + 1}`
          const late = judged.find(({ exists }) => exists === null)
          const ids = judged.filter(({ exists }) => exists === true).map(({ id }) => id)
          const found = yield* page(
            sql`${eventsOf(sql, { workspaceId, endpointIds })} where r.workspace_id = ${workspaceId}
              and r.id = any (${ids as Array<string>}::text[]) order by r.id desc limit ${limit + 1}`,
            limit,
            omitPayload
          )
          if (found.nextCursor !== null) return found
          if (late !== undefined) return { ...found, nextCursor: cursorAt(byId, { id: late.after! }) }
          const [end] = yield* payloadValue === undefined
            ? rows(sql, ScanEnd)`select r.id from posthorn.events r where ${within(workspaceId, filter, from)}
                order by r.id desc offset ${SCAN_LIMIT - 1} limit 1`
            : scanEnd(workspaceId, filter, payloadValue, from)
          return end === undefined ? found : { ...found, nextCursor: cursorAt(byId, end) }
        }).pipe(Effect.orDie)

      /** Newest first. Filtered by payload, or limited to endpoints, a page may hold fewer rows than there are. */
      const list = (
        caller: Within,
        filter: EventFilter,
        limit: number,
        from: Option.Option<{ readonly id: EventId }>
      ) =>
        Effect.gen(function* () {
          const { endpointIds, workspaceId } = caller
          if (endpointIds !== null)
            return yield* listExisting({ workspaceId, endpointIds }, filter, limit, from)
          const { hidden, omitPayload, payloadValue } = filter
          if (payloadValue === undefined)
            return yield* page(
              sql`posthorn.events r where ${within(workspaceId, filter, from)}
              order by r.id desc limit ${limit + 1}`,
              limit,
              omitPayload
            )
          const found = yield* page(
            sql`${scanned(workspaceId, filter, from)} r where ${matching(payloadValue, hidden)}
              order by r.id desc limit ${limit + 1}`,
            limit,
            omitPayload
          )
          if (found.nextCursor !== null) return found
          const [end] = yield* scanEnd(workspaceId, filter, payloadValue, from)
          return end === undefined ? found : { ...found, nextCursor: cursorAt(byId, end) }
        }).pipe(Effect.orDie)

      /** Described and seen types by name, strictly past the position. */
      const listTypes = (
        caller: Within,
        seesHidden: boolean,
        limit: number,
        from: Option.Option<{ readonly type: string }>
      ) => {
        const past = Option.match(from, { onNone: () => "", onSome: ({ type }) => type })
        const { endpointIds, workspaceId } = caller
        const lastDay = sql`now() - interval '24 hours'`
        return all(sql, EventTypeRow)`
          with ${
            endpointIds === null
              ? sql`seen as materialized (
            select event_type from posthorn.types_past(${workspaceId}, ${past})
            where id >= posthorn.id_at('evt_', now() - ${TYPES_WITHIN}::interval) limit ${limit + 1}
          )`
              : sql`reached as materialized (
            select r.event_type, max(r.created_at) as last_seen_at, count(distinct r.event_id) filter (where r.created_at >= ${lastDay}) as last_day
            from unnest(${idsIn(sql, endpointIds)}) as o(id)
            cross join lateral posthorn.newest_deliveries(${workspaceId}, o.id, 'whd_g', ${Math.ceil(SCAN_LIMIT / endpointIds.length)}) r
            where r.event_id is not null and r.created_at >= now() - ${TYPES_WITHIN}::interval group by 1
          ), seen as materialized (
            select event_type from reached where event_type > ${past} order by 1 limit ${limit + 1}
          )`
          }, catalogue as materialized (
            select * from posthorn.event_types t where t.event_type > ${past} and (${seesHidden} or not t.hidden)
            order by t.event_type limit ${limit + 1}
          ), page as materialized (
            select coalesce(c.event_type, s.event_type) as event_type, c.event_type is not null as described, c.description,
              c."group", coalesce(c.deprecated, false) as deprecated, coalesce(c.validation, 'off') as validation,
              posthorn.patterns_of(coalesce(c.event_type, s.event_type)) as patterns
            from catalogue c full join seen s on s.event_type = c.event_type
            order by 1 limit ${limit + 1}
          ), wanted as materialized (
            select s.pattern, s.endpoint_id from posthorn.subscriptions s
            join posthorn.endpoints n on n.workspace_id = s.workspace_id and n.id = s.endpoint_id
            where s.workspace_id = ${workspaceId} and n.enabled ${ofEndpoints(sql, caller, "n.id")}
          )
          select p.event_type as "eventType", p.described, p.description, p."group", p.deprecated, p.validation,
            ${
              endpointIds === null
                ? sql`(select e.created_at from posthorn.events e
             where e.workspace_id = ${workspaceId} and e.event_type = p.event_type
             order by e.event_type, e.id desc limit 1) as "lastSeenAt",
            (select count(*) from posthorn.events e
             where e.workspace_id = ${workspaceId} and e.event_type = p.event_type
               and e.id >= posthorn.id_at('evt_', ${lastDay})) as "lastDay"`
                : sql`(select r.last_seen_at from reached r where r.event_type = p.event_type) as "lastSeenAt",
            coalesce((select r.last_day from reached r where r.event_type = p.event_type), 0) as "lastDay"`
            },
            (select count(distinct w.endpoint_id) from wanted w
             where w.pattern = any (p.patterns)) as endpoints
          from page p order by p.event_type`
      }

      return { announce, find, knownKeys, list, listTypes, publish, publishAll, purge } as const
    })
  }
) {}
