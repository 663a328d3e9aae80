/**
 * The audit logs of workspaces, and the operator's, which outlives them. Written in the transaction of the change; the database
 * refuses to alter them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { AuditAction } from "@posthorn/domain/AuditAction"
import { newId } from "@posthorn/domain/Ids"
import { stringify } from "@posthorn/domain/JsonText"
import { byTime, cursorAt, type Page, pageOf, TimePosition } from "@posthorn/domain/Page"
import { Actor, type ChangedBy, Maker, type Operator, type Within } from "@posthorn/domain/Principal"
import { Effect, Option, Schema } from "effect"
import { columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all, execute, first } from "../client/Query.ts"
import type { Times } from "../client/Statement.ts"
import { idsIn } from "../client/Within.ts"

const Changes = Schema.Struct(
  { fields: Schema.Array(Schema.String) },
  Schema.Record({ key: Schema.String, value: Schema.Unknown })
)

const AuditRow = Schema.Struct({
  id: Id("audit"),
  action: AuditAction,
  actor: Schema.Struct({
    ...Actor.fields,
    name: Schema.NullOr(Schema.String),
    root: Schema.NullOr(Maker)
  }),
  target: Schema.Struct({ type: Schema.String, id: Schema.String }),
  changes: Schema.NullOr(Changes),
  traceId: Schema.String,
  createdAt: Time
})

/** What was done to which target, and what it changed. */
type Entry = readonly [
  action: AuditAction,
  target: readonly [type: string, id: string],
  changes: typeof Changes.Type
]

export interface AuditFilter extends Times {
  readonly action?: AuditAction | undefined
  readonly actor?: string | undefined
  readonly target?: string | undefined
}

const SCAN_LIMIT = 10_000

const columnsOfEntry = (
  { actor, traceId }: Pick<ChangedBy, "actor" | "traceId">,
  ...[action, [targetType, targetId], changes]: Entry
) => ({
  id: newId("audit"),
  action,
  actor_type: actor.type,
  actor_id: actor.id,
  actor_name: actor.name,
  root_type: actor.root?.type ?? null,
  root_id: actor.root?.id ?? null,
  via: actor.via,
  target_type: targetType,
  target_id: targetId,
  changes: stringify(changes),
  trace_id: traceId
})

export class AuditEventsRepo extends Effect.Service<AuditEventsRepo>()(
  "@posthorn/persistence/repositories/AuditEventsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(
        columnsOf(AuditRow, "", {
          actor: `json_build_object('type', actor_type, 'id', actor_id, 'name', actor_name, 'via', via, 'root',
            case when root_type is not null then json_build_object('type', root_type, 'id', root_id) end)`,
          target: "json_build_object('type', target_type, 'id', target_id)"
        })
      )

      const append = (by: ChangedBy, ...entry: Entry) =>
        execute(
          sql
        )`insert into posthorn.audit_events ${sql.insert({ workspace_id: by.workspaceId, ...columnsOfEntry(by, ...entry) })}`

      const within = ({ since, target, until }: AuditFilter, from: Option.Option<TimePosition>) =>
        sql.and([
          sql`true`,
          ...(target === undefined ? [] : [sql`target_id = ${target}`]),
          ...(since === undefined ? [] : [sql`created_at >= ${since}::timestamptz`]),
          ...(until === undefined ? [] : [sql`created_at < ${until}::timestamptz`]),
          ...(Option.isNone(from)
            ? []
            : [sql`(created_at, id) < (${from.value.at}::timestamptz, ${from.value.id}::text)`])
        ])

      const matching = ({ action, actor }: AuditFilter) =>
        sql.and([
          sql`true`,
          ...(action === undefined ? [] : [sql`action = ${action}`]),
          ...(actor === undefined
            ? []
            : [sql`(actor_id = ${actor} or actor_type = 'operator' and actor_name = ${actor})`])
        ])

      /** Whether the target is one of the caller's endpoints, or a delivery or replay of one. */
      const isTheirs = ({ endpointIds, workspaceId }: Within) => {
        if (endpointIds === null) return sql`true`
        const theirs = sql`= any (${idsIn(sql, endpointIds)})`
        return sql`(target_id ${theirs}
          or target_type = 'webhook_delivery' and exists (select from posthorn.deliveries d
            where d.workspace_id = ${workspaceId} and d.id = target_id and d.endpoint_id ${theirs})
          or target_type = 'replay' and exists (select from posthorn.replays p
            where p.workspace_id = ${workspaceId} and p.id = target_id and p.endpoint_id ${theirs}))`
      }

      /**
       * Newest first. Filtered by action, actor or endpoints it reads at most `SCAN_LIMIT` rows, so a page may hold fewer and have a next
       * one.
       */
      const page = (
        log: Fragment,
        filter: AuditFilter,
        limit: number,
        from: Option.Option<TimePosition>,
        caller?: Within
      ): Effect.Effect<Page<typeof AuditRow.Type>> =>
        Effect.gen(function* () {
          const newest = sql.literal("order by created_at desc, id desc")
          const source = sql`${log} and ${within(filter, from)} ${newest}`
          const isScanned = (filter.action ?? filter.actor ?? caller?.endpointIds ?? undefined) !== undefined
          const found = yield* isScanned
            ? all(sql, AuditRow)`select ${columns} from (select * from ${source} limit ${SCAN_LIMIT}) a
                where ${matching(filter)} ${caller?.endpointIds ? sql`and ${isTheirs(caller)}` : sql``} ${newest} limit ${limit + 1}`
            : all(sql, AuditRow)`select ${columns} from ${source} limit ${limit + 1}`
          const shown = pageOf(byTime, found, limit)
          if (!isScanned || shown.nextCursor !== null) return shown
          const end = yield* first(
            sql,
            TimePosition
          )`select created_at as at, id from ${source} offset ${SCAN_LIMIT - 1} limit 1`
          return end === undefined ? shown : { ...shown, nextCursor: cursorAt(byTime, end) }
        })

      const list = (caller: Within, filter: AuditFilter, limit: number, from: Option.Option<TimePosition>) =>
        page(
          sql`posthorn.audit_events where workspace_id = ${caller.workspaceId}`,
          filter,
          limit,
          from,
          caller
        )

      const appendOperator = (by: Operator, ...entry: Entry) =>
        execute(sql)`insert into posthorn.operator_audit_events ${sql.insert(columnsOfEntry(by, ...entry))}`

      const listOperator = (filter: AuditFilter, limit: number, from: Option.Option<TimePosition>) =>
        page(sql`posthorn.operator_audit_events where true`, filter, limit, from)

      return { append, appendOperator, list, listOperator } as const
    })
  }
) {}
