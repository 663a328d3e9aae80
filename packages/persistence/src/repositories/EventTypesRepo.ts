/** The event catalogue: what the operator says of event types, for all workspaces. Source: spec §6.2. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { EventId, WorkspaceId } from "@posthorn/domain/Ids"
import { Effect, Option, Schema } from "effect"
import { Count, columnsOf, Id, Texts, Time } from "../client/internal/Columns.ts"
import { all, counted, execute, first } from "../client/Query.ts"

/** What a put says of a type. */
const Settings = Schema.Struct({
  description: Schema.NullOr(Schema.String),
  group: Schema.NullOr(Schema.String),
  /** The text that was sent. */
  schema: Schema.NullOr(Schema.String),
  /** The texts that were sent. */
  examples: Texts,
  validation: Schema.Literal("off", "report", "refuse"),
  deprecated: Schema.Boolean,
  replacedBy: Schema.NullOr(Schema.String),
  hidden: Schema.Boolean
})
export type EventTypeSettings = typeof Settings.Type

const EventTypeRow = Schema.Struct({
  eventType: Schema.String,
  ...Settings.fields,
  deviations: Schema.Struct({
    count: Count,
    since: Schema.NullOr(Time),
    lastEventId: Schema.NullOr(Id("event"))
  }),
  createdAt: Time,
  updatedAt: Time
})
export type EventTypeRow = typeof EventTypeRow.Type

const DocumentedRow = Schema.Struct({
  eventType: Schema.String,
  description: Schema.NullOr(Schema.String),
  group: Schema.NullOr(Schema.String),
  schema: Schema.NullOr(Schema.String),
  examples: Texts,
  deprecated: Schema.Boolean,
  replacedBy: Schema.NullOr(Schema.String)
})

/** A type whose payloads are judged. */
const JudgedType = Schema.Struct({
  eventType: Schema.String,
  validation: Schema.Literal("report", "refuse"),
  /** Another one for each put. */
  version: Count,
  /** The smallest id of an event that is judged by it. */
  since: Schema.String,
  /** Characters of its schema. */
  size: Count
})
export type JudgedType = typeof JudgedType.Type

const NewestEvent = Schema.Struct({ id: Id("event"), workspace: Schema.String, payload: Schema.String })

const NEWEST_BYTES = 4_194_304

/** An event whose payload did not fit. */
export interface Deviation {
  readonly workspaceId: WorkspaceId
  readonly eventType: string
  readonly eventId: EventId
}

/** Whose deviations are counted (null: all workspaces'), and whether hidden types are shown. */
export interface Viewer {
  readonly workspaceId: WorkspaceId | null
  readonly seesHidden: boolean
}

export class EventTypesRepo extends Effect.Service<EventTypesRepo>()(
  "@posthorn/persistence/repositories/EventTypesRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(
        columnsOf(EventTypeRow, "t.", {
          group: 't."group"',
          deviations: `json_build_object('count', d.count, 'since', to_char(d.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'lastEventId', d.last_event_id)`
        })
      )

      const from = ({ seesHidden, workspaceId }: Viewer) =>
        sql`posthorn.event_types t cross join lateral posthorn.deviations_of(t.event_type, ${workspaceId}) d
          where (${seesHidden} or not t.hidden)`

      const find = (eventType: string, viewer: Viewer) =>
        first(sql, EventTypeRow)`select ${columns} from ${from(viewer)} and t.event_type = ${eventType}`

      /** By name, strictly past the position. */
      const list = (viewer: Viewer, limit: number, past: Option.Option<{ readonly type: string }>) => {
        const type = Option.match(past, { onNone: () => "", onSome: ({ type }) => type })
        return all(sql, EventTypeRow)`select ${columns} from ${from(viewer)} and t.event_type > ${type}
          order by t.event_type limit ${limit + 1}`
      }

      /** Rises with each change. */
      const version = counted(sql)`select version as n from posthorn.catalogue`

      /** What is not hidden, by name. Schemas and examples end where those before have `mostBytes`. */
      const documented = (mostBytes: number) =>
        all(
          sql,
          DocumentedRow
        )`select event_type as "eventType", description, "group", deprecated, replaced_by as "replacedBy",
            case when so_far <= ${mostBytes} then schema end as schema,
            case when so_far <= ${mostBytes} then examples else '{}' end as examples
          from (
            select t.*, sum(coalesce(octet_length(schema), 0) + octet_length(array_to_string(examples, ''))) over (order by event_type) as so_far
            from posthorn.event_types t where not hidden
          ) t order by event_type`

      const count = counted(sql)`select count(*) as n from posthorn.event_types`

      /** Until the transaction ends nobody else changes the catalogue. Whoever holds compiled schemas reads them again. */
      const change = execute(sql)`update posthorn.catalogue set version = version + 1`

      const put = (eventType: string, settings: EventTypeSettings) => {
        const { description, deprecated, examples, group, hidden, replacedBy, schema, validation } = settings
        return execute(sql)`insert into posthorn.event_types as t
            (event_type, description, "group", schema, examples, validation, deprecated, replaced_by, hidden, version)
          values (${eventType}, ${description}, ${group}, ${schema}, ${examples as Array<string>}::text[], ${validation},
            ${deprecated}, ${replacedBy}, ${hidden}, (select version from posthorn.catalogue))
          on conflict (event_type) do update set description = excluded.description, "group" = excluded."group",
            schema = excluded.schema, examples = excluded.examples, validation = excluded.validation,
            deprecated = excluded.deprecated, replaced_by = excluded.replaced_by, hidden = excluded.hidden,
            version = excluded.version, updated_at = excluded.updated_at`
      }

      const remove = (eventType: string) =>
        execute(sql)`delete from posthorn.event_types where event_type = ${eventType}`

      const judged = all(
        sql,
        JudgedType
      )`select event_type as "eventType", validation, version, posthorn.id_at('evt_', updated_at) as since,
        length(schema) as size
        from posthorn.event_types where schema is not null and validation <> 'off'`

      const schemaOf = (eventType: string) =>
        Effect.map(
          first(
            sql,
            Schema.Struct({ schema: Schema.NullOr(Schema.String) })
          )`select schema from posthorn.event_types
            where event_type = ${eventType}`,
          (row) => row?.schema ?? null
        )

      /** Payload for test sends; null if there is none. */
      const exampleOf = (eventType: string) =>
        Effect.map(
          first(sql, Schema.Struct({ example: Schema.NullOr(Schema.String) }))`select examples[1] as example
            from posthorn.event_types where event_type = ${eventType}`,
          (row) => row?.example ?? null
        )

      /** The newest of all workspaces, as many as have `NEWEST_BYTES`; purged ones are left out. */
      const newestEvents = (eventType: string, most: number) =>
        all(
          sql,
          NewestEvent
        )`select id, workspace, payload from posthorn.newest_of_type(${eventType}, ${most}, ${NEWEST_BYTES})`

      /** A workspace that was removed meanwhile is left out. */
      const addDeviations = (found: ReadonlyArray<Deviation>) =>
        sql`select posthorn.add_deviations(${found.map(({ workspaceId }) => workspaceId)}::text[],
          ${found.map(({ eventType }) => eventType)}::text[], ${found.map(({ eventId }) => eventId)}::text[])`

      return {
        addDeviations,
        change,
        count,
        documented,
        exampleOf,
        find,
        judged,
        list,
        newestEvents,
        put,
        remove,
        schemaOf,
        version
      } as const
    })
  }
) {}
