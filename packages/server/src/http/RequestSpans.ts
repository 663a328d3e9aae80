/**
 * A span for each call of an operation, if an exporter is configured, in the trace that the call continues or begins.
 *
 * At most `MOST` calls a second are traced, with their SQL statements, so that tracing stays cheap at any rate. A caller's
 * decision not to sample its trace is respected. A 5xx answer makes a failed span.
 */
import type { HttpServerResponse } from "@effect/platform"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import type { CallerSpan } from "@posthorn/domain/TraceId"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { inTrace, isTracing, SpanBudget } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import type { Call } from "../gate/CurrentCall.ts"

const MOST = 100

type Answering<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

/** The failure of a span whose answer is 5xx. */
class Fault {
  readonly answer: HttpServerResponse.HttpServerResponse
  constructor(answer: HttpServerResponse.HttpServerResponse) {
    this.answer = answer
  }
  get message() {
    return `answered ${this.answer.status}`
  }
}

const told = (answer: HttpServerResponse.HttpServerResponse) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan("http.response.status_code", answer.status),
    answer.status >= 500 ? Effect.fail(new Fault(answer)) : Effect.succeed(answer)
  )

/** Undefined when no exporter is configured. */
export const requestSpans = Effect.zipWith(isTracing, Effect.clock, (on, clock) => {
  if (!on) return undefined
  const budget = new SpanBudget(MOST)
  return (entry: ContractEntry, { traceId, via }: Call, caller?: CallerSpan) =>
    <R>(answering: Answering<R>): Answering<R> =>
      caller?.isSampled === false || !budget.take(elapsed(clock))
        ? answering
        : Effect.withSpan(Effect.flatMap(answering, told), entry.name, {
            parent: inTrace(traceId, caller?.spanId),
            kind: "server",
            captureStackTrace: false,
            attributes: {
              "http.request.method": entry.method,
              "http.route": entry.path,
              "posthorn.via": via
            }
          }).pipe(
            Effect.withTracerEnabled(true),
            Effect.catchAll(({ answer }) => Effect.succeed(answer))
          )
})
