/** `posthorn work`: the delivery worker. */
import * as Worker from "@posthorn/worker/Worker"
import { WorkerConfig } from "@posthorn/worker/WorkerConfig"
import { Duration, Effect, Layer } from "effect"
import { requireCurrent, required, resolve, tryKeys } from "./Production.ts"
import { databaseOf, type Resolved, secretBoxOf } from "./Resolved.ts"
import { settings } from "./Settings.ts"
import { say } from "./Terminal.ts"
import { VERSION } from "./Version.ts"

const CONNECTIONS = 3
const SILENCE = "10 seconds"

/** Its parts, put together from settings; `dev` has them too. */
export const workerOf = (resolved: Resolved) =>
  Worker.layer.pipe(
    Layer.provide(
      Layer.succeed(WorkerConfig, {
        batchSize: resolved.settings.batchSize,
        maxConcurrency: resolved.settings.maxConcurrency,
        endpointConcurrency: resolved.settings.endpointConcurrency,
        retryDelayMs: Duration.toMillis(resolved.settings.retryDelay),
        requestTimeoutMs: Duration.toMillis(resolved.settings.requestTimeout),
        bodyTimeoutMs: Duration.toMillis(resolved.settings.bodyTimeout),
        allowedTargets: resolved.allowedTargets,
        version: VERSION
      })
    ),
    Layer.provide(secretBoxOf(resolved)),
    Layer.provide(databaseOf(resolved, "work", { maxConnections: CONNECTIONS, silence: SILENCE }))
  )

export const work = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY"])
  yield* requireCurrent(given)
  yield* tryKeys(given)
  yield* Layer.build(workerOf(resolve(given)))
  yield* say("posthorn work: delivering")
  return yield* Effect.never
}).pipe(Effect.scoped)
