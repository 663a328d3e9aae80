/**
 * A separate database for each test file: `layer(TestPg)` clones the migrated template and drops the clone at the end.
 *
 * The connection is configured as in production (`@posthorn/persistence/client/Database`), so a statement that works here works
 * there.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Database from "@posthorn/persistence/client/Database"
import { Config, Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { makeHostile } from "./Hostile.ts"
import { dropDatabase, execute, randomName, withDatabase } from "./TestCluster.ts"
import { TestDatabaseUrl } from "./TestDatabaseUrl.ts"

const isHostile = Effect.orDie(Config.withDefault(Config.boolean("TEST_HOSTILE_SETTINGS"), false))

/** A new migrated database that lives as long as the scope; with TEST_HOSTILE_SETTINGS, one with hostile settings. */
export const freshDatabase = Effect.gen(function* () {
  const { template, url } = inject("cluster")
  const name = randomName("t")
  yield* Effect.acquireRelease(execute(url, `create database ${name} template ${template}`), () =>
    dropDatabase(url, name)
  )
  const made = Redacted.make(withDatabase(url, name))
  if (yield* isHostile) yield* makeHostile(made)
  return made
})

const connection = Layer.unwrapEffect(
  Effect.map(TestDatabaseUrl, (url) =>
    Database.layer({ url, applicationName: "posthorn-test", maxConnections: 10 })
  )
)

export const TestPg: Layer.Layer<SqlClient | PgClient | TestDatabaseUrl> = connection.pipe(
  Layer.orDie,
  Layer.provideMerge(Layer.scoped(TestDatabaseUrl, freshDatabase))
)
