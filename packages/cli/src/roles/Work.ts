/** `posthorn work`: the delivery worker. */
import type { Database } from "@posthorn/persistence/client/Database"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { queueGauges } from "@posthorn/persistence/operations/QueueGauges"
import { HistoryKept } from "@posthorn/persistence/operations/Retention"
import { AlertConfig } from "@posthorn/worker/alerts/AlertConfig"
import * as Worker from "@posthorn/worker/Worker"
import { WorkerConfig } from "@posthorn/worker/WorkerConfig"
import { Context, Duration, Effect, Layer, Option } from "effect"
import { say } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { VERSION } from "../Version.ts"
import { WORK_POOL } from "./Connections.ts"
import { baseUrlOf, databaseOf, type RoleSettings, secretBoxOf } from "./RoleSettings.ts"
import { required, requireReadyToWork, resolve } from "./StartChecks.ts"
import { telemetryOf } from "./Telemetry.ts"
import { workerPort } from "./WorkerPort.ts"

/** What runs on the worker's own connections. */
type Beside<E> = Layer.Layer<never, E, Database | DatabaseClock>

const DATABASE = { maxConnections: WORK_POOL, silence: "10 seconds", lockTimeout: "2 seconds" } as const

/** Its parts, put together from settings; `dev` has them too, but for `beside`. */
export const workerOf = <E>(resolved: RoleSettings, beside: Beside<E> = Layer.empty) =>
  Layer.merge(Worker.layer, beside).pipe(
    Layer.provide(
      Layer.succeed(WorkerConfig, {
        batchSize: resolved.settings.batchSize,
        maxConcurrency: resolved.settings.maxConcurrency,
        endpointConcurrency: resolved.settings.endpointConcurrency,
        retryDelayMs: Duration.toMillis(resolved.settings.retryDelay),
        requestTimeoutMs: Duration.toMillis(resolved.settings.requestTimeout),
        mostTimeoutMs: Duration.toMillis(resolved.settings.mostTimeout),
        bodyTimeoutMs: Duration.toMillis(resolved.settings.bodyTimeout),
        allowedTargets: resolved.allowedTargets,
        proxy: resolved.settings.proxy,
        version: VERSION
      })
    ),
    Layer.provide(
      Layer.succeed(AlertConfig, {
        name: resolved.settings.consoleLook.name,
        accent: resolved.settings.consoleLook.accent,
        baseUrl: baseUrlOf(resolved),
        smtp: resolved.settings.smtp
      })
    ),
    Layer.provide(Layer.succeed(HistoryKept, resolved.settings.history)),
    Layer.provide(DatabaseClock.Default),
    Layer.provide(secretBoxOf(resolved)),
    Layer.provide(databaseOf(resolved, "work", DATABASE))
  )

export const work = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY"])
  yield* requireReadyToWork(given)
  const port = Option.match(given.metricsPort, {
    onNone: () => Effect.void,
    onSome: (metricsPort) => workerPort(given.host, metricsPort)
  })
  const beside = Layer.scopedDiscard(Effect.zipRight(queueGauges, port))
  const built = yield* Layer.build(
    Layer.provide(workerOf(resolve(given), beside), telemetryOf(given, "work"))
  )
  const shown = Option.match(given.metricsPort, {
    onNone: () => "",
    onSome: (metricsPort) => `, meters at http://${given.host}:${metricsPort}/metrics`
  })
  yield* say(`posthorn work: delivering${shown}`)
  return yield* Context.get(built, Worker.Broken)
}).pipe(Effect.scoped)
