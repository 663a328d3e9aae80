/**
 * A test's own PostgreSQL that can be stopped and started while it is used: always the embedded one, durable as in production,
 * on a fixed port.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "@posthorn/embedded-postgres/EmbeddedPostgres"
import * as Database from "@posthorn/persistence/client/Database"
import { migrate } from "@posthorn/persistence/operations/Migrator"
import { Effect, Exit, Redacted, Scope } from "effect"
import { freePort } from "./FreePort.ts"

export interface OwnCluster {
  readonly url: Redacted.Redacted
  /** Stops it as an administrator would: connections end, nothing committed is lost. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
  /** While it is stopped: copies all its data, and restores that copy. */
  readonly save: Effect.Effect<void>
  readonly restore: Effect.Effect<void>
}

const remove = (path: string) => rmSync(path, { recursive: true, force: true })

const savedOf = (dataDir: string) => `${dataDir}-saved`

/** A folder for its data, until the scope ends. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-own-pg-"))),
  (dataDir) => Effect.sync(() => [dataDir, savedOf(dataDir)].forEach(remove))
)

/** With owners and modes: the server may run as another user. */
const copy = (from: string, to: string) =>
  Effect.sync(() => {
    remove(to)
    execFileSync("cp", ["-a", from, to])
  })

const emptyIn = (dataDir: string): Effect.Effect<OwnCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    let running = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(running, Exit.void))
    const { port, url } = yield* Scope.extend(
      EmbeddedPostgres.start({ dataDir, port: yield* freePort }),
      running
    )
    return {
      url: Redacted.make(Redacted.value(url)),
      stop: Effect.suspend(() => Scope.close(running, Exit.void)),
      start: Effect.gen(function* () {
        running = yield* Scope.make()
        yield* Scope.extend(EmbeddedPostgres.start({ dataDir, port }), running)
      }).pipe(Effect.orDie),
      save: copy(dataDir, savedOf(dataDir)),
      restore: copy(savedOf(dataDir), dataDir)
    }
  }).pipe(Effect.orDie)

/** Started, with nothing in it. */
export const makeEmpty: Effect.Effect<OwnCluster, never, Scope.Scope> = Effect.flatMap(folder, emptyIn)

/** In the given folder; started and migrated. */
export const makeIn = (dataDir: string): Effect.Effect<OwnCluster, never, Scope.Scope> =>
  Effect.tap(emptyIn(dataDir), ({ url }) =>
    migrate.pipe(
      Effect.provide(Database.layer({ url, applicationName: "posthorn-migrate", maxConnections: 2 })),
      Effect.orDie
    )
  )

/** Started and migrated. */
export const make: Effect.Effect<OwnCluster, never, Scope.Scope> = Effect.flatMap(folder, makeIn)
