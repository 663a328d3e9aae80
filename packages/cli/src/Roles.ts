/**
 * The parts each role runs, put together from settings. A parts list: nothing else happens here.
 */
import { NodeContext } from "@effect/platform-node"
import { DeliveryTargets } from "@posthorn/capabilities/DeliveryTargets"
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/Database"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import { listenLive, serveLive } from "@posthorn/server/http/Server"
import { memoryLive } from "@posthorn/server/RateCounters"
import { redisLive } from "@posthorn/server/RedisCounters"
import { ServerConfig } from "@posthorn/server/ServerConfig"
import * as Worker from "@posthorn/worker/Worker"
import { WorkerConfig } from "@posthorn/worker/WorkerConfig"
import { Duration, Layer, Option, type Redacted } from "effect"
import type { Settings } from "./Settings.ts"
import { VERSION } from "./Version.ts"

/** What a role needs once everything optional has been decided. */
export interface Resolved {
  readonly settings: Settings
  readonly databaseUrl: Redacted.Redacted
  readonly encryptionKeys: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  readonly operatorToken: Redacted.Redacted
  readonly allowedTargets: AllowedTargets
  readonly port: number
}

const SERVER_CONNECTIONS = 20
const WORKER_CONNECTIONS = 6
const WORKER_SILENCE = "10 seconds"

export const baseUrlOf = ({ port, settings }: Resolved): string => {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  const shown = host === "0.0.0.0" || host === "[::]" ? "localhost" : host
  return settings.baseUrl._tag === "Some" ? settings.baseUrl.value : `http://${shown}:${port}`
}

const secretBoxOf = ({ encryptionKeys }: Resolved) =>
  Layer.succeed(SecretBox.SecretBox, SecretBox.make(encryptionKeys))

const databaseOf = (
  { databaseUrl }: Resolved,
  role: string,
  limits: Omit<Database.DatabaseOptions, "url" | "applicationName">
) => Database.layer({ url: databaseUrl, applicationName: `posthorn ${role}`, ...limits })

/** REST, MCP and the pages. */
export const serverOf = (resolved: Resolved) =>
  serveLive.pipe(
    Layer.provide(listenLive),
    Layer.provide(Option.match(resolved.settings.redisUrl, { onNone: () => memoryLive, onSome: redisLive })),
    Layer.provide(
      Layer.succeed(ServerConfig, {
        host: resolved.settings.host,
        port: resolved.port,
        baseUrl: baseUrlOf(resolved),
        operatorToken: resolved.operatorToken,
        quotas: resolved.settings.quotas,
        version: VERSION
      })
    ),
    Layer.provide(Layer.succeed(DeliveryTargets, resolved.allowedTargets)),
    Layer.provide(secretBoxOf(resolved)),
    Layer.provide(databaseOf(resolved, "serve", { maxConnections: SERVER_CONNECTIONS })),
    Layer.provide(NodeContext.layer),
    // Spans that nobody exports cost a fifth of a request.
    Layer.provide(Layer.setTracerEnabled(false))
  )

/** The delivery worker. */
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
    Layer.provide(
      databaseOf(resolved, "work", { maxConnections: WORKER_CONNECTIONS, silence: WORKER_SILENCE })
    )
  )
