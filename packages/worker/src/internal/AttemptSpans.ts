/**
 * Exports attempts as spans of the trace in which their event was published, if an exporter is configured.
 *
 * At most `MOST` delivered attempts a second, and as many failed ones. So tracing stays cheap at any rate, and failures are
 * still seen.
 */

import type { Observed } from "@posthorn/persistence/engine/Records"
import { type Finished, SpanBudget, spanWriter } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import type { Waiting } from "../lanes/Lane.ts"
import type { Settled } from "../lanes/Stages.ts"

const MOST = 100

const attributesOf = (row: Waiting, { ordinal, url, ...rest }: Observed) => ({
  "posthorn.workspace_id": row.workspaceId,
  "posthorn.endpoint_id": row.endpointId,
  "posthorn.delivery_id": row.deliveryId,
  "posthorn.attempt": ordinal,
  "posthorn.status": rest.status,
  "http.request.method": "POST",
  "server.address": URL.canParse(url) ? new URL(url).host : "",
  ...(rest.httpStatus !== null && { "http.response.status_code": rest.httpStatus })
})

/** Undefined when no exporter is configured. */
export const attemptSpans: Effect.Effect<((settled: Settled) => void) | undefined> = Effect.map(
  spanWriter,
  (write) => {
    if (write === undefined) return undefined
    const budgets = { good: new SpanBudget(MOST), bad: new SpanBudget(MOST) }
    return ({ observed, row, traceId }) => {
      const { at, durationMs, failureReason } = observed
      const budget = failureReason === null ? budgets.good : budgets.bad
      if (!budget.take(at)) return
      const span: Finished = {
        name: "attempt",
        traceId,
        startMs: at,
        durationMs,
        attributes: attributesOf(row, observed),
        failure: failureReason
      }
      write(span)
    }
  }
)
