/** The audit log: written in the transaction of the change it tells of; the database refuses to alter it. */
import * as SqlClient from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import type { Actor } from "@posthorn/domain/Principal"
import { Effect } from "effect"

export type AuditAction =
  | "workspace.created"
  | "webhook.endpoint_created"
  | "webhook.secret_rotated"
  | "webhook.delivery_replayed"
  | "api_token.created"

export interface AuditEntry {
  readonly workspaceId: string
  readonly actor: Actor
  readonly traceId: string
  readonly action: AuditAction
  readonly target: { readonly type: string; readonly id: string }
  readonly changes: (Readonly<Record<string, unknown>> & { readonly fields: ReadonlyArray<string> }) | null
}

export class AuditRepo extends Effect.Service<AuditRepo>()("@posthorn/persistence/AuditRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const append = (entry: AuditEntry) =>
      sql`insert into posthorn.audit_events
          (workspace_id, id, action, actor_type, actor_id, via, target_type, target_id, changes, trace_id)
        values (${entry.workspaceId}, ${newId("audit")}, ${entry.action}, ${entry.actor.type}, ${entry.actor.id},
          ${entry.actor.via}, ${entry.target.type}, ${entry.target.id},
          ${entry.changes === null ? null : JSON.stringify(entry.changes)}::json, ${entry.traceId})`.pipe(
        Effect.orDie,
        Effect.asVoid
      )

    return { append } as const
  })
}) {}
