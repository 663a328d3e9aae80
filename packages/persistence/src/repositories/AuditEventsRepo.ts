/**
 * The audit log of each workspace, and the operator's own, which outlives workspaces. Both are written in the transaction
 * of the change they tell of; the database refuses to alter them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { AuditAction } from "@posthorn/domain/AuditAction"
import { newId, type WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { type Acting, Actor, Maker } from "@posthorn/domain/Principal"
import { Effect, type Option, Schema } from "effect"
import { columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all, execute } from "../client/Query.ts"
import { newestFirst } from "../client/Statement.ts"

export interface AuditEntry {
  readonly workspaceId: WorkspaceId
  readonly actor: Acting
  readonly traceId: string
  readonly action: AuditAction
  readonly target: AuditRow["target"]
  readonly changes: AuditRow["changes"]
}

const Changes = Schema.Struct(
  { fields: Schema.Array(Schema.String) },
  Schema.Record({ key: Schema.String, value: Schema.Unknown })
)

export const AuditRow = Schema.Struct({
  id: Id("audit"),
  action: AuditAction,
  actor: Schema.Struct({ ...Actor.fields, root: Schema.NullOr(Maker) }),
  target: Schema.Struct({ type: Schema.String, id: Schema.String }),
  changes: Schema.NullOr(Changes),
  traceId: Schema.String,
  createdAt: Time
})
export type AuditRow = typeof AuditRow.Type

const columnsOfEntry = ({ action, actor, changes, target, traceId }: Omit<AuditEntry, "workspaceId">) => ({
  id: newId("audit"),
  action,
  actor_type: actor.type,
  actor_id: actor.id,
  root_type: actor.root?.type ?? null,
  root_id: actor.root?.id ?? null,
  via: actor.via,
  target_type: target.type,
  target_id: target.id,
  changes: changes === null ? null : JSON.stringify(changes),
  trace_id: traceId
})

export class AuditEventsRepo extends Effect.Service<AuditEventsRepo>()(
  "@posthorn/persistence/repositories/AuditEventsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(
        columnsOf(AuditRow, "", {
          actor: `json_build_object('type', actor_type, 'id', actor_id, 'via', via, 'root',
            case when root_type is not null then json_build_object('type', root_type, 'id', root_id) end)`,
          target: "json_build_object('type', target_type, 'id', target_id)"
        })
      )

      const append = (entry: AuditEntry) =>
        execute(
          sql
        )`insert into posthorn.audit_events ${sql.insert({ workspace_id: entry.workspaceId, ...columnsOfEntry(entry) })}`

      /** Newest first, strictly past the position. */
      const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
        all(sql, AuditRow)`select ${columns}
        from posthorn.audit_events
        where workspace_id = ${workspaceId} and ${newestFirst(sql, limit, from)}`

      /** What the operator did to a workspace. */
      const appendOperator = (entry: Omit<AuditEntry, "workspaceId">) =>
        execute(sql)`insert into posthorn.operator_audit_events ${sql.insert(columnsOfEntry(entry))}`

      /** Newest first, strictly past the position. */
      const listOperator = (limit: number, from: Option.Option<TimePosition>) =>
        all(sql, AuditRow)`select ${columns} from posthorn.operator_audit_events
        where ${newestFirst(sql, limit, from)}`

      return { append, appendOperator, list, listOperator } as const
    })
  }
) {}
