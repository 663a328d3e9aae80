/**
 * Sends meters and spans to an OpenTelemetry collector, by OTLP over HTTP as JSON.
 *
 * A collector that is away loses what it was not there for; nothing waits for it, and one line says so until it is back.
 * `OTEL_RESOURCE_ATTRIBUTES` means what OpenTelemetry says it means; the library reads it.
 */
import { randomUUID } from "node:crypto"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { collect } from "./Collectors.ts"
import { knowingTraces } from "./Tracing.ts"

export interface OtlpOptions {
  /** Sent along. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly serviceName: string
  /** Without `/v1/…`. */
  readonly endpoint: string
  /** The command: dev, serve or work. */
  readonly role: string
  readonly version: string
}

const METRICS_EVERY = "10 seconds"
const SPANS_EVERY = "5 seconds"
const ON_STOP = "3 seconds"

/** A client that says when the collector goes away and when it is back, once each. */
const reportingClient = (endpoint: string) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => {
      let away = false
      const turned = (now: boolean, line: Effect.Effect<void>) =>
        Effect.suspend(() => {
          if (away === now) return Effect.void
          away = now
          return line
        })
      const lost = (why: string) =>
        turned(true, Effect.logWarning(`Telemetry cannot be sent to ${endpoint} and is lost for now: ${why}`))
      return client.pipe(
        HttpClient.tapError((error) => lost(error.message)),
        HttpClient.tap(({ status }) =>
          status < 300
            ? turned(false, Effect.logInfo(`Telemetry can be sent to ${endpoint} again`))
            : lost(`it answers ${status}`)
        )
      )
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

/** The library marks each span that failed as interrupted, whatever it failed of. */
const NOT_SO: ReadonlySet<string> = new Set(["span.label", "status.interrupted"])

interface Exported {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{
      readonly spans: ReadonlyArray<{ attributes: ReadonlyArray<{ readonly key: string }> }>
    }>
  }>
}

const serialization = Layer.map(OtlpSerialization.layerJson, (context) => {
  const inner = Context.get(context, OtlpSerialization.OtlpSerialization)
  return Context.make(OtlpSerialization.OtlpSerialization, {
    ...inner,
    traces: (data) => {
      for (const { scopeSpans } of (data as Exported).resourceSpans)
        for (const { spans } of scopeSpans)
          for (const span of spans) span.attributes = span.attributes.filter(({ key }) => !NOT_SO.has(key))
      return inner.traces(data)
    }
  })
})

/** Exports until the scope closes, then what is left. */
export const otlpLive = ({ endpoint, headers, role, serviceName, version }: OtlpOptions) => {
  const base = endpoint.replace(/\/+$/, "")
  const attributes = { "service.instance.id": randomUUID(), "posthorn.role": role }
  const common = {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])
    ),
    resource: { serviceName, serviceVersion: version, attributes },
    shutdownTimeout: ON_STOP
  } as const
  const [metricsUrl, tracesUrl] = [`${base}/v1/metrics`, `${base}/v1/traces`]
  const meters = OtlpMetrics.layer({ ...common, url: metricsUrl, exportInterval: METRICS_EVERY })
  const upToDate = Layer.scopedDiscard(
    Effect.forkScoped(Effect.repeat(collect, Schedule.spaced(METRICS_EVERY)))
  )
  const spans = Layer.unwrapScoped(
    Effect.map(OtlpTracer.make({ ...common, url: tracesUrl, exportInterval: SPANS_EVERY }), (tracer) =>
      Layer.setTracer(knowingTraces(tracer))
    )
  )
  return Layer.mergeAll(
    Layer.provide(meters, reportingClient(metricsUrl)),
    upToDate,
    Layer.provide(spans, reportingClient(tracesUrl))
  ).pipe(Layer.provide(serialization))
}
