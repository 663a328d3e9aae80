/**
 * Spans under trace ids that exist before any span.
 *
 * Posthorn gives each request a trace id, or continues the caller's. It stores the id with everything the request makes, and
 * sends it to the receiver. Spans must have it too, so a span is made beneath `inTrace(…)`. Attempts are made later, perhaps by
 * days, in other processes. So the span of a request that begins a trace has an id that is derived from the trace's, and its
 * attempts are beneath it; attempts in a caller's trace are roots of it.
 */
import { Effect, Exit, FiberRef, Option, Tracer } from "effect"

/** The id of no span: the trace is known, but no span in it. */
const NO_SPAN = "0000000000000000"

/** The parent of a span: the caller's span if there is one, otherwise only the trace. */
export const inTrace = (traceId: string, spanId: string = NO_SPAN): Tracer.ExternalSpan =>
  Tracer.externalSpan({ traceId, spanId })

/** The id of the span of the request that began this trace. */
export const requestSpanOf = (traceId: string): string => traceId.slice(-16)

const isTraceOnly = (parent: Option.Option<Tracer.AnySpan>): parent is Option.Some<Tracer.AnySpan> =>
  Option.isSome(parent) && parent.value.spanId === NO_SPAN

/** A tracer that supports `inTrace`. A library's own tracer draws a trace id for each root and cannot be given one. */
class KnowingTracer {
  readonly knowsTraces = true
}

export const knowingTraces = (inner: Tracer.Tracer): Tracer.Tracer =>
  Object.assign(
    new KnowingTracer(),
    Tracer.make({
      span: (name, parent, context, links, startTime, kind, options) =>
        isTraceOnly(parent)
          ? Object.assign(inner.span(name, Option.none(), context, links, startTime, kind, options), {
              traceId: parent.value.traceId,
              ...(kind === "server" && { spanId: requestSpanOf(parent.value.traceId) })
            })
          : inner.span(name, parent, context, links, startTime, kind, options),
      context: inner.context
    })
  )

/** Whether an exporter for spans is configured. */
export const isTracing: Effect.Effect<boolean> = Effect.map(
  Effect.tracer,
  (tracer) => tracer instanceof KnowingTracer
)

/**
 * Like `Effect.withSpan`, which costs 4 us even for a call that is not traced. For functions that are called thousands of times
 * a second.
 */
export const withCheapSpan =
  (name: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime<A, E, R>((fiber) =>
      fiber.getFiberRef(FiberRef.currentTracerEnabled)
        ? (Effect.withSpan(self, name, { captureStackTrace: false }) as Effect.Effect<A, E, R>)
        : self
    )

/** Allows `most` in each second, so that the cost of tracing is bounded. */
export class SpanBudget {
  private second = 0
  private spent = 0
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** `nowMs` may be from any clock. */
  take(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.second) {
      this.second = second
      this.spent = 0
    }
    this.spent += 1
    return this.spent <= this.most
  }
}

export interface Finished {
  readonly name: string
  readonly traceId: string
  /** Undefined for a root. */
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly durationMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** Why it failed; null if it did not. */
  readonly failure: string | null
}

/** Exports spans of past events. Undefined when no exporter is configured. */
export const spanWriter: Effect.Effect<((span: Finished) => void) | undefined> = Effect.gen(function* () {
  if (!(yield* isTracing)) return undefined
  const tracer = yield* Effect.tracer
  return ({ attributes, durationMs, failure, name, parentSpanId, startMs, traceId }) => {
    const parent = inTrace(traceId, parentSpanId)
    const span = tracer.span(name, Option.some(parent), parent.context, [], nanos(startMs), "client")
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    span.end(nanos(startMs + durationMs), failure === null ? Exit.void : Exit.die(new AttemptFailed(failure)))
  }
})

const nanos = (ms: number) => BigInt(Math.round(ms * 1000)) * 1000n

/** A viewer shows its name and message; it has no stack. */
class AttemptFailed extends Error {
  override readonly name = "AttemptFailed"
  constructor(why: string) {
    super(why)
    this.stack = `AttemptFailed: ${why}`
  }
}
