/**
 * Spans under trace ids that are known before there is a span.
 *
 * Posthorn gives each request a trace id, or continues the caller's, keeps it with everything the request makes, and tells
 * the receiver. Spans have to carry it too, so a span is made beneath `inTrace(…)`. Attempts are made days later, in other
 * processes: they are roots of the same trace.
 */
import { Effect, Exit, FiberRef, Option, Tracer } from "effect"

/** What no span has for its id: the trace is known, but no span in it. */
const NO_SPAN = "0000000000000000"

/** What a span lies beneath: the caller's span when there is one, else only the trace. */
export const inTrace = (traceId: string, spanId: string = NO_SPAN): Tracer.ExternalSpan =>
  Tracer.externalSpan({ traceId, spanId })

const isTraceOnly = (parent: Option.Option<Tracer.AnySpan>): parent is Option.Some<Tracer.AnySpan> =>
  Option.isSome(parent) && parent.value.spanId === NO_SPAN

/** A tracer that knows what `inTrace` means; a library's own draws a trace id for each root, and cannot be given one. */
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
              traceId: parent.value.traceId
            })
          : inner.span(name, parent, context, links, startTime, kind, options),
      context: inner.context
    })
  )

/** Whether spans go anywhere: not while nothing is set up to take them. */
export const isTracing: Effect.Effect<boolean> = Effect.map(
  Effect.tracer,
  (tracer) => tracer instanceof KnowingTracer
)

/** As `Effect.withSpan`, which costs 4 us even while this call is not traced. For what is called thousands of times a second. */
export const withCheapSpan =
  (name: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime<A, E, R>((fiber) =>
      fiber.getFiberRef(FiberRef.currentTracerEnabled)
        ? (Effect.withSpan(self, name, { captureStackTrace: false }) as Effect.Effect<A, E, R>)
        : self
    )

/** Lets so many through in each second, so that tracing has an upper cost however much there is to trace. */
export class SpanBudget {
  private second = 0
  private spent = 0
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  /** `nowMs` by any clock. */
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
  readonly startMs: number
  readonly durationMs: number
  readonly attributes: Readonly<Record<string, string | number>>
  /** Why it failed; null when it did not. */
  readonly failure: string | null
}

/** Hands over spans of what has happened already. Undefined while nobody exports spans. */
export const spanWriter: Effect.Effect<((span: Finished) => void) | undefined> = Effect.gen(function* () {
  if (!(yield* isTracing)) return undefined
  const tracer = yield* Effect.tracer
  return ({ attributes, durationMs, failure, name, startMs, traceId }) => {
    const parent = inTrace(traceId)
    const span = tracer.span(name, Option.some(parent), parent.context, [], nanos(startMs), "client")
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    span.end(nanos(startMs + durationMs), failure === null ? Exit.void : Exit.die(new AttemptFailed(failure)))
  }
})

const nanos = (ms: number) => BigInt(Math.round(ms * 1000)) * 1000n

/** Its name and message are what a viewer shows; it has no stack to show. */
class AttemptFailed extends Error {
  override readonly name = "AttemptFailed"
  constructor(why: string) {
    super(why)
    this.stack = `AttemptFailed: ${why}`
  }
}
