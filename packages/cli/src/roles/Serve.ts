/** `posthorn serve`: REST, MCP, the console and the pages. */
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { InstallationPolicy } from "@posthorn/capabilities/InstallationPolicy"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { queueGauges } from "@posthorn/persistence/operations/QueueGauges"
import { keepQuotas } from "@posthorn/persistence/operations/Quotas"
import { keepSystemWorkspace } from "@posthorn/persistence/operations/SystemWorkspace"
import { ConsoleConfig } from "@posthorn/server/console/ConsoleConfig"
import { memoryLive } from "@posthorn/server/gate/RateCounters"
import { redisLive } from "@posthorn/server/gate/RedisCounters"
import { ConnectionLimits, defaultConnectionLimits } from "@posthorn/server/http/ConnectionLimits"
import { serverLive } from "@posthorn/server/Server"
import { ServerConfig } from "@posthorn/server/ServerConfig"
import { Duration, Effect, Layer, Option } from "effect"
import { say } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { VERSION } from "../Version.ts"
import { SERVE_CONNECTIONS } from "./Connections.ts"
import { freePort } from "./ListeningPorts.ts"
import { addressesOf, baseUrlOf, databaseOf, type RoleSettings, secretBoxOf } from "./RoleSettings.ts"
import { required, requireReady, resolve } from "./StartChecks.ts"
import { telemetryOf } from "./Telemetry.ts"

/** One workspace gets a third of the connections. A statement ends before the deadline for its answer (15 s). */
const DATABASE = {
  maxConnections: SERVE_CONNECTIONS,
  perWorkspace: 6,
  statementTimeout: "12 seconds"
} as const

/** The built application is beside the bundle, where `scripts/console.mjs` puts it. */
const consoleFolder = fileURLToPath(new URL("console", import.meta.url))

/** Its parts, put together from settings; `dev` has them too. */
export const serverOf = (resolved: RoleSettings) =>
  Layer.mergeAll(
    Layer.provide(serverLive, Layer.scopedDiscard(keepSystemWorkspace(resolved.settings.systemWorkspace))),
    Layer.scopedDiscard(queueGauges),
    Layer.scopedDiscard(keepQuotas(resolved.settings.limits))
  ).pipe(
    Layer.provide(Option.match(resolved.settings.redisUrl, { onNone: () => memoryLive, onSome: redisLive })),
    Layer.provide(
      Layer.succeed(ServerConfig, {
        host: resolved.settings.host,
        port: resolved.port,
        baseUrl: baseUrlOf(resolved),
        operatorTokens: resolved.operatorTokens,
        quotas: resolved.settings.quotas,
        drainSeconds: resolved.drainSeconds,
        publicCatalogue: resolved.settings.publicCatalogue,
        trustedProxies: resolved.settings.trustedProxies,
        version: VERSION
      })
    ),
    Layer.provide(
      Layer.succeed(ConnectionLimits, {
        ...defaultConnectionLimits,
        connectionsPerAddress: resolved.settings.connectionsPerAddress
      })
    ),
    Layer.provide(Layer.succeed(ConsoleConfig, { ...resolved.settings.consoleLook, folder: consoleFolder })),
    Layer.provide(
      Layer.succeed(InstallationPolicy, {
        allowedTargets: resolved.allowedTargets,
        limits: resolved.settings.limits,
        requestTimeoutMs: Duration.toMillis(resolved.settings.requestTimeout),
        mostTimeoutMs: Duration.toMillis(resolved.settings.mostTimeout),
        outgoing: { proxy: resolved.settings.proxy, userAgent: `Posthorn/${VERSION}` },
        historyMs: Duration.toMillis(resolved.settings.history),
        retryDelayMs: Duration.toMillis(resolved.settings.retryDelay),
        sendsEmail: resolved.settings.smtp !== null
      })
    ),
    Layer.provide(DatabaseClock.Default),
    Layer.provide(secretBoxOf(resolved)),
    Layer.provide(databaseOf(resolved, "serve", DATABASE)),
    Layer.provide(NodeContext.layer)
  )

export const serve = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])
  yield* requireReady(given)
  const port = given.port === 0 ? yield* freePort(0, given.host) : given.port
  const resolved = { ...resolve(given), port }
  yield* Layer.build(Layer.provide(serverOf(resolved), telemetryOf(given, "serve")))
  yield* say(`posthorn serve: listening on ${addressesOf(resolved)}`)
  return yield* Effect.never
}).pipe(Effect.scoped)
