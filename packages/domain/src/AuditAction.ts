/** The actions of audit events. The console has a label for each. */
import { Schema } from "effect"

export const AuditAction = Schema.Literal(
  "workspace.created",
  "workspace.updated",
  "workspace.deleted",
  "workspace.settings_updated",
  "event.purged",
  "event_type.created",
  "event_type.updated",
  "event_type.deleted",
  "webhook.endpoint_created",
  "webhook.endpoint_updated",
  "webhook.endpoint_deleted",
  "webhook.endpoint_auto_disabled",
  "webhook.secret_rotated",
  "webhook.delivery_replayed",
  "webhook.delivery_resent",
  "webhook.replay_started",
  "webhook.replay_cancelled",
  "api_token.created",
  "api_token.revoked",
  "member.added",
  "member.updated",
  "member.removed",
  "console.link_created",
  "console.session_opened",
  "console.session_ended"
)
export type AuditAction = typeof AuditAction.Type
