/** An attempt as it is written down. */
import { newId } from "@posthorn/domain/Ids"
import type { Observation, Verdict } from "@posthorn/domain/Verdict"
import type { Waiting } from "@posthorn/persistence/Queue"
import type { Observed } from "@posthorn/persistence/Records"

export interface Attempted {
  readonly row: Waiting
  readonly generation: number
  readonly verdict: Verdict
  readonly seen: Observation
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly headers: string
  readonly retryDelayMs: number
}

export const observedOf = ({
  at,
  generation,
  headers,
  retryDelayMs,
  row,
  seen,
  verdict
}: Attempted): Observed => ({
  workspace_id: row.workspaceId,
  delivery_id: row.deliveryId,
  endpoint_id: row.endpointId,
  generation,
  ordinal: row.attempts + 1,
  attempt_id: newId("attempt"),
  status: verdict.status,
  at: new Date(at).toISOString(),
  duration_ms: seen.durationMs,
  http_status: seen.httpStatus,
  failure_reason: verdict.failureReason,
  request_headers: headers,
  response_body: seen.responseBody,
  retry_after_ms: verdict.retryAfterUnits === null ? null : verdict.retryAfterUnits * retryDelayMs,
  exhausted: verdict.exhausted
})
