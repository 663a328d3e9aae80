/**
 * The states of things that last, and what puts them there: the same words in rules, in the database's checks
 * (migrations/0001_tables.sql, 0007_replays.sql) and on the wire. Those of one attempt: `Verdict`.
 */
import { Schema } from "effect"

export const DeliveryStatus = Schema.Literal(
  "pending",
  "delivered",
  "failed",
  "failed_permanent",
  "dead_lettered"
)
export type DeliveryStatus = typeof DeliveryStatus.Type

/** Those from which a delivery may be replayed. */
export const ReplayableStatus = DeliveryStatus.pipe(
  Schema.pickLiteral("failed", "failed_permanent", "dead_lettered")
)
export type ReplayableStatus = typeof ReplayableStatus.Type

export const ReplayState = Schema.Literal("queued", "running", "done", "cancelled")
export type ReplayState = typeof ReplayState.Type

export const DisabledReason = Schema.Literal("manual", "consecutive_failures", "failing_for", "gone")
export type DisabledReason = typeof DisabledReason.Type

export const NotificationKind = Schema.Literal("delivery_dead_lettered", "endpoint_disabled")
export type NotificationKind = typeof NotificationKind.Type
