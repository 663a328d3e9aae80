/**
 * A worker's HTTP port, only if METRICS_PORT is set: `/metrics` and two health checks. Live: this program answers. Ready: its
 * database accepts writes, and its clock is not too far off.
 */
import { createServer, type RequestListener } from "node:http"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { writeProbe } from "@posthorn/persistence/operations/WriteProbe"
import { CONTENT_TYPE, makePrometheusText } from "@posthorn/telemetry/PrometheusText"
import { Data, Effect, Runtime } from "effect"

/** The worker cannot listen on METRICS_PORT. */
export class MetricsPortUnusable extends Data.TaggedError("MetricsPortUnusable")<{
  readonly host: string
  readonly port: number
  readonly code: string
}> {
  override get message() {
    return `METRICS_PORT ${this.port} on ${this.host} cannot be listened on (${this.code}): name a free one.`
  }
}

/** Only for a scraper and a few health checks: the process's resources are for delivering. */
const CONNECTIONS = 20

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const json = (status: number, value: object): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(value)
})

/** Listens until the scope closes. */
export const workerPort = (host: string, port: number) =>
  Effect.gen(function* () {
    const notWriting = yield* writeProbe
    const clock = yield* DatabaseClock
    const runPromise = Runtime.runPromise(yield* Effect.runtime<never>())
    const ready = Effect.map(notWriting, (writing) => {
      const reason = writing ?? clock.unready()
      return reason === null
        ? json(200, { status: "ok", ...clock.health() })
        : json(503, { status: "unavailable", reason })
    })
    const pages: Readonly<Record<string, Effect.Effect<Answer>>> = {
      "/metrics": Effect.map(yield* makePrometheusText, (body) => ({
        status: 200,
        type: CONTENT_TYPE,
        body
      })),
      "/health/live": Effect.succeed(json(200, { status: "ok" })),
      "/health/ready": ready
    }
    const answer: RequestListener = ({ method, url }, response) => {
      const page = method === "GET" || method === "HEAD" ? pages[url!.split("?", 1)[0]!] : undefined
      runPromise(page ?? Effect.succeed(json(404, { status: "not found" }))).then(
        ({ body, status, type }) =>
          response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body),
        () => response.writeHead(500).end()
      )
    }
    yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>, MetricsPortUnusable>((resume) => {
        const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, answer)
        server.maxConnections = CONNECTIONS
        // While it listens: an error without a listener would end the process.
        server.on("error", ({ code = "" }: NodeJS.ErrnoException) =>
          resume(Effect.fail(new MetricsPortUnusable({ host, port, code })))
        )
        server.listen(port, host, () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    )
  })
