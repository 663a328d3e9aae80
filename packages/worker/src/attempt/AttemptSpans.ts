/**
 * Exports attempts as spans beneath the request that published their event. `MOST` delivered and `MOST` failed attempts a
 * second keep tracing cheap.
 */

import type { Observed } from "@posthorn/persistence/engine/Records"
import { type Finished, requestSpanOf, SpanBudget, spanWriter } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import type { Settled } from "../dispatcher/Dispatched.ts"
import type { Waiting } from "../dispatcher/Lane.ts"

const MOST = 100

const MINUTE_MICROS = 60_000_000
const microsOf = (tail: string) => Number.parseInt(tail.slice(0, 13), 16)

/** A request makes its trace id just before its deliveries; in SQL the trace has the event's microsecond, and no span. */
const isOfRequest = (traceId: string, deliveryId: string): boolean => {
  const apart = microsOf(deliveryId.slice(4)) - microsOf(traceId)
  return apart > 0 && apart < MINUTE_MICROS
}

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
        parentSpanId: isOfRequest(traceId, row.deliveryId) ? requestSpanOf(traceId) : undefined,
        startMs: at,
        durationMs,
        attributes: attributesOf(row, observed),
        failure: failureReason
      }
      write(span)
    }
  }
)
