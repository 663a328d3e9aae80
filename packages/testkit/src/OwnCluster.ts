/**
 * A PostgreSQL of a test's own that can be stopped and started while others use it: always the embedded one, durable as
 * in production, on a port it keeps.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "@posthorn/cli/EmbeddedPostgres"
import * as Database from "@posthorn/persistence/Database"
import { migrate } from "@posthorn/persistence/Migrator"
import { Effect, Exit, Redacted, Scope } from "effect"

export interface OwnCluster {
  readonly url: Redacted.Redacted
  /** As its administrator would: connections are ended, nothing committed is lost. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-own-pg-"))),
  (dataDir) => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))
)

/** Started and migrated. */
export const make: Effect.Effect<OwnCluster, never, Scope.Scope> = Effect.gen(function* () {
  const dataDir = yield* folder
  let running = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(running, Exit.void))
  const { port, url } = yield* Scope.extend(EmbeddedPostgres.start({ dataDir }), running)
  yield* Effect.provide(
    migrate,
    Database.layer({ url, applicationName: "posthorn-migrate", maxConnections: 2 })
  )
  return {
    url: Redacted.make(Redacted.value(url)),
    stop: Effect.suspend(() => Scope.close(running, Exit.void)),
    start: Effect.gen(function* () {
      running = yield* Scope.make()
      yield* Scope.extend(EmbeddedPostgres.start({ dataDir, port }), running)
    }).pipe(Effect.orDie)
  }
}).pipe(Effect.orDie)
