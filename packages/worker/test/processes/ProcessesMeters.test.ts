/** Meters, spans and log lines of `serve` and `work` as they run in production. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Setting } from "../Setting.ts"
import { collector, type Span } from "./Collector.ts"
import { findings, type Scrape, scrape } from "./Scrapes.ts"
import { startApi } from "./ServeProcess.ts"
import { attemptsStored, within } from "./Story.ts"

const TELLING = { LOG_LEVEL: "debug", DELIVERY_RETRY_DELAY: "10 millis" }

const linesOf = (log: string) =>
  log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly message: string; readonly [member: string]: unknown })

/** Each series of a counter, with its value. */
const counters = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/^(posthorn_\w+_total(?:\{.*\})?) (\S+)$/gm)].map(([, name, value]) => [
      name!,
      Number(value)
    ])
  )
const failing = (reason: string) =>
  `posthorn_attempts_total{status="failed",http_status_class="none",failure_reason="${reason}"}`

it.scopedLive(
  "§10 /metrics of serve and work add up to what is on record, and Prometheus finds nothing wrong",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const port = yield* freePort
      const api = yield* startApi("acme", TELLING)
      const worker = yield* startWorker({ ...TELLING, METRICS_PORT: String(port) })
      const origin = `http://127.0.0.1:${port}`
      const { body: broken } = yield* api("POST", "/webhooks", {
        url: receiver.url("/status/503"),
        eventTypes: ["order.failed"]
      })
      yield* api("POST", "/webhooks", { url: receiver.url("/ok"), eventTypes: ["order.paid"] })
      for (let n = 0; n < 20; n++) yield* api("POST", "/events", { eventType: "order.paid", payload: { n } })
      for (let n = 0; n < 8; n++) yield* api("POST", "/events", { eventType: "order.failed", payload: { n } })
      yield* within(
        30,
        api("GET", `/webhooks/${broken.id}`),
        ({ body }) => !body.enabled && body.consecutiveFailures >= 20
      )
      yield* within(
        30,
        scrape(origin),
        (now) => now.sum("posthorn_attempts_in_flight") + now.sum("posthorn_attempts_unrecorded") === 0
      )
      const stored = yield* within(25, attemptsStored, (n) => n >= 40)
      const [ours, theirs] = [yield* scrape(origin), yield* scrape(api.origin)]

      const recorded = yield* sql<{ status: string; n: number }>`
        select status, count(*)::integer as n from posthorn.attempts group by 1`
      const published = { via: "rest" }
      const counts: ReadonlyArray<readonly [Scrape, string, Readonly<Record<string, string>>, number]> = [
        ...recorded.map(({ n, status }) => [ours, "attempts_total", { status }, n] as const),
        [ours, "attempts_total", { http_status_class: "5xx", failure_reason: "http_status" }, stored - 20],
        [ours, "attempt_duration_seconds_count", {}, stored],
        [ours, "delivery_wait_seconds_count", {}, 28],
        [ours, "endpoints_disabled_total", {}, 1],
        [ours, "shards_held", {}, 32],
        [ours, "slots", {}, 100],
        [theirs, "events_published_total", published, 28],
        [theirs, "deliveries_created_total", published, 28],
        [theirs, "requests_total", { operation: "publishEvent", status: "202" }, 28],
        [theirs, "requests_total", { operation: "createWebhookEndpoint", status: "201" }, 2]
      ]
      for (const [scraped, name, labels, n] of counts)
        expect([name, scraped.sum(`posthorn_${name}`, labels)]).toEqual([name, n])
      expect(counters(ours.text)[failing("request_timeout")]).toBe(0)
      expect(counters(theirs.text)).toMatchObject({
        'posthorn_requests_total{operation="publishEvent",via="mcp",status="503"}': 0,
        'posthorn_events_published_total{via="mcp"}': 0
      })
      const recording = { statement: "posthorn.record" }
      expect(ours.sum("posthorn_statement_duration_seconds_count", recording)).toBeGreaterThan(0)
      for (const one of [ours, theirs]) {
        const [waiting] = yield* sql<{ n: number }>`select count(*)::integer as n from posthorn.queue`
        expect(one.sum("posthorn_queue_deliveries", { state: "endpoint_disabled" })).toBe(waiting!.n)
        expect(one.sum("posthorn_queue_deliveries", { state: "due" })).toBe(0)
        expect(one.sum("posthorn_endpoints", { state: "disabled_consecutive_failures" })).toBe(1)
        expect(one.sum("posthorn_database_up")).toBe(1)
        expect((yield* findings(one.text)) ?? "").toBe("")
        expect(one.text).not.toMatch(/(whe|whd|evt|wsp)_[0-9a-f]/)
      }

      const lines = linesOf(worker.log())
      expect(lines.filter(({ message }) => message === "Endpoint disabled by its failures")).toMatchObject([
        { level: "info", endpointId: broken.id, workspaceId: expect.stringMatching(/^wsp_/) }
      ])
      expect(lines.find(({ message }) => message === "Shards taken")).toMatchObject({
        held: 32,
        level: "debug"
      })
      for (const line of lines)
        expect(Object.values(line).every((value) => typeof value !== "object" || Array.isArray(value))).toBe(
          true
        )

      const health = yield* Effect.promise(() =>
        Promise.all(["live", "ready"].map(async (check) => (await fetch(`${origin}/health/${check}`)).status))
      )
      expect(health).toEqual([200, 200])
    }).pipe(Effect.provide(Setting))
)

it.scopedLive("§10 a trace leads from the caller's span through the publish to the attempt, over OTLP", () =>
  Effect.gen(function* () {
    const { got, spans, url } = yield* collector
    const otlp = {
      ...TELLING,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20key"
    }
    const receiver = yield* makeReceiver()
    const api = yield* startApi("acme", otlp)
    yield* startWorker(otlp)
    yield* api("POST", "/webhooks", { url: receiver.url("/ok"), eventTypes: ["order.paid"] })
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
    yield* api(
      "POST",
      "/events",
      { eventType: "order.paid", payload: {} },
      {
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`
      }
    )
    yield* api(
      "POST",
      "/events",
      { eventType: "order.paid", payload: {} },
      {
        traceparent: `00-${"a".repeat(32)}-00f067aa0ba902b7-00`
      }
    )
    yield* api("POST", "/events", { eventType: "order.paid", payload: {} })
    const isOther = (span: Span) => ![traceId, "a".repeat(32)].includes(span.traceId)
    const told = yield* within(30, Effect.sync(spans), (all) =>
      ["publishEvent", "attempt"].every(
        (name) =>
          all.some((span) => span.name === name && span.traceId === traceId) &&
          all.some((span) => span.name === name && isOther(span))
      )
    )
    yield* within(
      30,
      Effect.sync(() => got),
      (all) =>
        all.some(({ body, path }) => path === "/v1/metrics" && body.includes("posthorn_attempts_total"))
    )

    const publish = told.find(({ name, traceId: id }) => name === "publishEvent" && id === traceId)!
    const attempt = told.find(({ name, traceId: id }) => name === "attempt" && id === traceId)!
    expect([publish.parentSpanId, attempt.parentSpanId]).toEqual(["00f067aa0ba902b7", undefined])
    const [own, beneath] = ["publishEvent", "attempt"].map(
      (name) => told.find((span) => span.name === name && isOther(span))!
    )
    expect([own!.parentSpanId, beneath!.parentSpanId]).toEqual([undefined, own!.spanId])
    expect(beneath!.traceId).toBe(own!.traceId)
    expect(
      told.some(({ name, parentSpanId }) => name === "Events.publish" && parentSpanId !== undefined)
    ).toBe(true)
    expect(attempt.attributes).toContainEqual({
      key: "http.response.status_code",
      value: { intValue: 200 }
    })
    expect(told.filter((span) => span.name === "publishEvent" && span.traceId === "a".repeat(32))).toEqual([])
    expect(told.filter((span) => span.name === "sql.execute" && span.parentSpanId === undefined)).toEqual([])
    expect(new Set(got.map(({ key }) => key))).toEqual(new Set(["a key"]))
  }).pipe(Effect.provide(Setting))
)

it.scopedLive("§10 a collector that is away is named once, and holds up nothing", () =>
  Effect.gen(function* () {
    const gone = yield* freePort
    const otlp = { ...TELLING, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${gone}` }
    const receiver = yield* makeReceiver()
    const api = yield* startApi("acme", TELLING)
    const worker = yield* startWorker(otlp)
    yield* api("POST", "/webhooks", { url: receiver.url("/ok"), eventTypes: ["order.paid"] })
    yield* api("POST", "/events", { eventType: "order.paid", payload: {} })
    yield* receiver.waitFor(1)

    yield* within(30, Effect.sync(worker.log), (log) => log.includes("Telemetry cannot be sent"))
    expect(worker.log().split("Telemetry cannot be sent")).toHaveLength(2)
  }).pipe(Effect.provide(Setting))
)
