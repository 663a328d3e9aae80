/**
 * The stored states and their reasons: the same words in rules, in the database's checks (migrations/0001_tables.sql,
 * 0007_replays.sql) and on the wire. `Verdict` has those of an attempt.
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

/** The states in which a delivery may be replayed. */
export const ReplayableStatus = DeliveryStatus.pipe(
  Schema.pickLiteral("failed", "failed_permanent", "dead_lettered")
)
export type ReplayableStatus = typeof ReplayableStatus.Type

/** The states in which a delivery has ended, and may be resent. */
export const EndedStatus = DeliveryStatus.pipe(
  Schema.pickLiteral("delivered", "failed_permanent", "dead_lettered")
)

export const ReplayState = Schema.Literal("queued", "running", "done", "cancelled")
export type ReplayState = typeof ReplayState.Type

export const DisabledReason = Schema.Literal("manual", "consecutive_failures", "failing_for", "gone")
export type DisabledReason = typeof DisabledReason.Type

export const NotificationKind = Schema.Literal("delivery_dead_lettered", "endpoint_disabled")
export type NotificationKind = typeof NotificationKind.Type

/** Why an endpoint got an event, or did not; the first that is true. */
export const RoutingReason = Schema.Literal(
  "unfilterable",
  "sent",
  "not_chosen",
  "about_itself",
  "missed",
  "created_later",
  "changed_since",
  "type",
  "filter"
)
export type RoutingReason = typeof RoutingReason.Type
