/**
 * A span for each call that its gate lets in, when somebody takes spans: in the trace that the call continues, or begins.
 *
 * At most `MOST` a second are traced, with the statements each makes, so that tracing costs little however many calls there are; a
 * caller who says that its trace is not sampled is obeyed. What is answered with 5xx is a span that failed.
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import type { PublicError } from "@posthorn/domain/Errors"
import type { CallerSpan } from "@posthorn/domain/TraceId"
import { inTrace, isTracing, SpanBudget } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import type { Answer } from "./Performance.ts"
import type { Visit } from "./RateLimits.ts"

const MOST = 100

type Settle = <R>(answering: Effect.Effect<Answer, PublicError, R>) => Effect.Effect<Answer, never, R>

type Traced = <R>(
  answering: Effect.Effect<Answer, PublicError, R>,
  settle: Settle
) => Effect.Effect<Answer, PublicError, R>

const untraced: Traced = (answering) => answering

/** What a span fails with when the fault is ours. */
class Fault {
  readonly answer: Answer
  constructor(answer: Answer) {
    this.answer = answer
  }
  get message() {
    return `answered ${this.answer.status}`
  }
}

const told = (answer: Answer) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan("http.response.status_code", answer.status),
    answer.status >= 500 ? Effect.fail(new Fault(answer)) : Effect.succeed(answer)
  )

export const requestSpans = Effect.map(isTracing, (on) => {
  if (!on) return () => untraced
  const budget = new SpanBudget(MOST)
  return (entry: ContractEntry, { traceId, via }: Visit, caller?: CallerSpan): Traced =>
    caller?.isSampled === false || !budget.take(Date.now())
      ? untraced
      : (answering, settle) =>
          Effect.withSpan(Effect.flatMap(settle(answering), told), entry.name, {
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
