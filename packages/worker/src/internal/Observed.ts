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
  readonly url: string
  /** Null when no request was made. */
  readonly signature: string | null
  readonly retryDelayMs: number
}

export const observedOf = ({
  at,
  generation,
  retryDelayMs,
  row,
  seen,
  signature,
  url,
  verdict
}: Attempted): Observed => ({
  workspaceId: row.workspaceId,
  deliveryId: row.deliveryId,
  endpointId: row.endpointId,
  generation,
  ordinal: row.attempts + 1,
  attemptId: newId("attempt"),
  status: verdict.status,
  at,
  durationMs: seen.durationMs,
  httpStatus: seen.httpStatus,
  failureReason: verdict.failureReason,
  signature,
  responseBody: seen.responseBody,
  url,
  responseHeaders: seen.responseHeaders ?? null,
  retryAfterMs: verdict.retryAfterUnits === null ? null : Math.round(verdict.retryAfterUnits * retryDelayMs),
  exhausted: verdict.exhausted
})
