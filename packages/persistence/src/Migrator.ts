/**
 * Brings the schema `posthorn` up to date: forward only, plain SQL files in order, each in a transaction of its own,
 * under a lock, so that any number of processes may start at once and each migration runs exactly once.
 *
 * A database that is newer than this program is refused: older code must not write to it.
 */
import { readdirSync, readFileSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import { Data, Effect } from "effect"

const folder = new URL("../migrations/", import.meta.url)

/** Any fixed number: it names the lock that migrators queue for. */
const LOCK = 7_067_001

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** The migrations this program knows, in order. */
export const migrations: ReadonlyArray<Migration> = readdirSync(folder)
  .filter((file) => /^\d{4}_[a-z_]+\.sql$/.test(file))
  .sort()
  .map((file) => ({
    version: Number(file.slice(0, 4)),
    name: file.slice(5, -4),
    sql: readFileSync(new URL(file, folder), "utf8")
  }))

export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

const appliedVersions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql`create schema if not exists posthorn`
  yield* sql`create table if not exists posthorn.migrations (
    version integer primary key, name text not null, applied_at timestamptz(3) not null default now())`
  const rows = yield* sql<{ version: number }>`select version from posthorn.migrations order by version`
  return rows.map((row) => row.version)
})

const apply = (sql: SqlClient.SqlClient, migration: Migration) =>
  sql.unsafe(migration.sql).raw.pipe(
    Effect.zipRight(
      sql`insert into posthorn.migrations ${sql.insert({ version: migration.version, name: migration.name })}`
    ),
    sql.withTransaction,
    Effect.mapError(
      (cause) =>
        new MigrationFailed({
          message: `Migration ${migration.version} (${migration.name}) failed: ${describe(cause)}`,
          cause
        })
    )
  )

const describe = (error: { readonly cause?: unknown }) =>
  error.cause instanceof Error ? error.cause.message : String(error)

const refuseNewer = (applied: ReadonlyArray<number>) => {
  const newest = Math.max(0, ...migrations.map(({ version }) => version))
  const latest = Math.max(0, ...applied)
  return latest <= newest
    ? Effect.void
    : Effect.fail(
        new MigrationFailed({
          message: `The database is at migration ${latest}, this program knows ${newest}: run a newer Posthorn.`
        })
      )
}

/** Apply what is missing; gives the migrations that were applied now. */
export const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const connection = yield* sql.reserve
  const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
  yield* Effect.acquireRelease(run(`select pg_advisory_lock(${LOCK})`), () =>
    Effect.ignore(run(`select pg_advisory_unlock(${LOCK})`))
  )
  const applied = yield* appliedVersions(sql)
  yield* refuseNewer(applied)
  const missing = migrations.filter((migration) => !applied.includes(migration.version))
  for (const migration of missing) yield* apply(sql, migration)
  return missing
}).pipe(Effect.scoped, Effect.withSpan("Migrator.migrate"))

/** The versions that are not applied yet; empty when the database is current. */
export const pending = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql<{
    there: boolean
  }>`select to_regclass('posthorn.migrations') is not null as there`
  if (!exists?.there) return migrations
  const rows = yield* sql<{ version: number }>`select version from posthorn.migrations`
  const applied = new Set(rows.map((row) => row.version))
  yield* refuseNewer([...applied])
  return migrations.filter((migration) => !applied.has(migration.version))
})
