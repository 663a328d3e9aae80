/**
 * Sends meters and spans to an OpenTelemetry collector, by OTLP over HTTP as JSON.
 *
 * While a collector is unavailable, its data is lost; nothing waits for it, and one log line reports it. The library reads
 * `OTEL_RESOURCE_ATTRIBUTES`, with OpenTelemetry's meaning.
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
  /** Headers for each request to the collector. */
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

/** A client that logs when the collector becomes unavailable and when it is back, once each. */
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

/** The library marks every failed span as interrupted, whatever the failure. */
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

/** Exports until the scope closes, and then the rest. */
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
