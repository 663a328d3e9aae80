/**
 * The audit log of each workspace, and the operator's own, which outlives workspaces. Both are written in the transaction
 * of the change they tell of; the database refuses to alter them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { newId, type WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { Actor } from "@posthorn/domain/Principal"
import { Effect, type Option, Schema } from "effect"
import { columnsOf, Id, Time } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"
import { olderThan } from "./Statement.ts"

export type AuditAction =
  | "workspace.created"
  | "workspace.deleted"
  | "webhook.endpoint_created"
  | "webhook.endpoint_updated"
  | "webhook.endpoint_deleted"
  | "webhook.secret_rotated"
  | "webhook.delivery_replayed"
  | "webhook.replay_started"
  | "webhook.replay_cancelled"
  | "api_token.created"
  | "api_token.revoked"
  | "member.added"
  | "member.updated"
  | "member.removed"
  | "console.link_created"

export interface AuditEntry {
  readonly workspaceId: WorkspaceId
  readonly actor: Actor
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
  action: Schema.String,
  actor: Actor,
  target: Schema.Struct({ type: Schema.String, id: Schema.String }),
  changes: Schema.NullOr(Changes),
  traceId: Schema.String,
  createdAt: Time
})
export type AuditRow = typeof AuditRow.Type

export class AuditRepo extends Effect.Service<AuditRepo>()("@posthorn/persistence/AuditRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(
      columnsOf(AuditRow, "", {
        actor: "json_build_object('type', actor_type, 'id', actor_id, 'via', via)",
        target: "json_build_object('type', target_type, 'id', target_id)"
      })
    )

    const append = (entry: AuditEntry) =>
      sql`insert into posthorn.audit_events
          (workspace_id, id, action, actor_type, actor_id, via, target_type, target_id, changes, trace_id)
        values (${entry.workspaceId}, ${newId("audit")}, ${entry.action}, ${entry.actor.type}, ${entry.actor.id},
          ${entry.actor.via}, ${entry.target.type}, ${entry.target.id},
          ${entry.changes === null ? null : JSON.stringify(entry.changes)}::json, ${entry.traceId})`.pipe(
        Effect.orDie,
        Effect.asVoid
      )

    /** Newest first, strictly past the position. */
    const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
      rows(sql, AuditRow)`select ${columns}
        from posthorn.audit_events
        where workspace_id = ${workspaceId} and ${olderThan(sql, from)}
        order by created_at desc, id desc limit ${limit + 1}`.pipe(Effect.orDie)

    /** What the operator did to a workspace. */
    const appendOperator = (entry: Omit<AuditEntry, "workspaceId">) =>
      sql`insert into posthorn.operator_audit_events
          (id, action, actor_type, actor_id, via, target_type, target_id, changes, trace_id)
        values (${newId("audit")}, ${entry.action}, ${entry.actor.type}, ${entry.actor.id}, ${entry.actor.via},
          ${entry.target.type}, ${entry.target.id}, ${JSON.stringify(entry.changes)}::json, ${entry.traceId})`.pipe(
        Effect.orDie,
        Effect.asVoid
      )

    /** Newest first, strictly past the position. */
    const listOperator = (limit: number, from: Option.Option<TimePosition>) =>
      rows(sql, AuditRow)`select ${columns} from posthorn.operator_audit_events
        where ${olderThan(sql, from)} order by created_at desc, id desc limit ${limit + 1}`.pipe(Effect.orDie)

    return { append, appendOperator, list, listOperator } as const
  })
}) {}
