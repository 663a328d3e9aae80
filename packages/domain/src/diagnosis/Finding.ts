/** The shapes of a diagnosis. The compiler checks that the contract's schema agrees. */

import type { FailureDetail, FailureReason } from "../Verdict.ts"
import type { SeenChange } from "./DiagnosisEvidence.ts"
import type { NextStep } from "./internal/Steps.ts"

export const findingCodes = [
  "healthy",
  "nothing_sent",
  "not_taken_up",
  "secret_unreadable",
  "nothing_matches",
  "misspelt_subscription",
  "filter_excludes_everything",
  "slow",
  "flapping",
  "some_event_types",
  "some_deliveries",
  "timestamp_off",
  "rejected",
  "not_found",
  "rate_limited",
  "rate_limited_backlog",
  "retry_after_ignored",
  "refused",
  "redirected",
  "server_error",
  "timing_out",
  "unreachable",
  "name_unresolved",
  "tls_failed",
  "not_http",
  "url_refused",
  "proxy_failed",
  "authentication_failing",
  "certificate_expiring",
  "disabled_by_failures",
  "disabled_by_hand",
  "stopped_deliveries",
  "missed_events"
] as const
type FindingCode = (typeof findingCodes)[number]

export type Confidence = "high" | "medium" | "low"
export type Health = "healthy" | "failing" | "unstable" | "disabled" | "unproven"

export interface Finding {
  readonly code: FindingCode
  readonly summary: string
  readonly since: string | null
  readonly reason: FailureReason | null
  readonly failureDetail: FailureDetail | null
  readonly httpStatus: number | null
  readonly inARow: number
  readonly changedBefore: SeenChange | null
  readonly confidence: Confidence
  readonly because: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly nextSteps: ReadonlyArray<NextStep>
}

export interface Diagnosis {
  readonly health: Health
  readonly findings: ReadonlyArray<Finding>
}
