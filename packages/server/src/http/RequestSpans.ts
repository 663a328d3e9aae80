/**
 * A span for each call of an operation, when somebody takes spans: in the trace that the call continues, or begins.
 *
 * At most `MOST` a second are traced, with the statements each makes, so that tracing costs little however many calls there are; a
 * caller who says that its trace is not sampled is obeyed. What is answered with 5xx is a span that failed.
 */
import type { HttpServerResponse } from "@effect/platform"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import type { CallerSpan } from "@posthorn/domain/TraceId"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { inTrace, isTracing, SpanBudget } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import type { Call } from "../gate/CurrentCall.ts"

const MOST = 100

type Answering<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>

/** What a span fails with when the fault is ours. */
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

/** Undefined while nobody takes spans. */
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
