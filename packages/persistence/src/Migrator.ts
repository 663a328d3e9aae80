/**
 * Brings the schema `posthorn` up to date: forward only, plain SQL files in order, each in a transaction of its own,
 * under a lock, so that any number of processes may start at once and each migration runs exactly once.
 *
 * A database that is newer than this program is refused: older code must not write to it. So is one whose migrations had
 * other texts than this program's, told by a SHA-256 of each: what is missing could not be told from its version number.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Data, Effect } from "effect"
import { problemOf } from "./Statement.ts"

const folder = new URL("../migrations/", import.meta.url)

/** Any fixed number: it names the lock that migrators queue for. */
const LOCK = 7_067_001

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** SHA-256 of `sql`, in hex. */
  readonly fingerprint: string
}

/** The migrations this program knows, in order. */
export const migrations: ReadonlyArray<Migration> = readdirSync(folder)
  .filter((file) => /^\d{4}_[a-z_]+\.sql$/.test(file))
  .sort()
  .map((file) => {
    const sql = readFileSync(new URL(file, folder), "utf8")
    const fingerprint = createHash("sha256").update(sql).digest("hex")
    return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), sql, fingerprint }
  })

export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

interface Applied {
  readonly version: number
  /** Null in databases that were made before fingerprints were kept. */
  readonly fingerprint: string | null
}

const appliedMigrations = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  // Only where it is missing: `if not exists` asks for the right to make one all the same.
  const [schema] = yield* sql<{ there: boolean }>`select to_regnamespace('posthorn') is not null as there`
  if (schema?.there !== true) yield* sql`create schema posthorn`
  yield* sql`create table if not exists posthorn.migrations (
    version integer primary key, name text not null, fingerprint text,
    applied_at timestamptz(3) not null default now())`
  return yield* readApplied(sql)
})

const readApplied = (sql: SqlClient.SqlClient) =>
  // Through the row as JSON, which has no `fingerprint` where the table has no such column.
  sql<Applied>`select version, to_jsonb(m) ->> 'fingerprint' as fingerprint from posthorn.migrations m order by version`

const apply = (sql: SqlClient.SqlClient, migration: Migration) =>
  sql.unsafe(migration.sql).raw.pipe(
    Effect.zipRight(
      sql`insert into posthorn.migrations ${sql.insert({
        version: migration.version,
        name: migration.name,
        fingerprint: migration.fingerprint
      })}`
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

const refuse = (message: string) => Effect.fail(new MigrationFailed({ message }))

const refuseForeign = (applied: ReadonlyArray<Applied>) => {
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  const newest = Math.max(0, ...known.keys())
  const latest = Math.max(0, ...applied.map(({ version }) => version))
  const other = applied.find(({ fingerprint, version }) => known.get(version)?.fingerprint !== fingerprint)
  if (other === undefined) return Effect.void
  if (known.get(other.version) === undefined && other.fingerprint !== null)
    return refuse(
      `The database is at migration ${latest}, this program knows ${newest}: run a newer Posthorn.`
    )
  return refuse(
    `Migration ${other.version} of this database was made by another build than this one, and there is no way from there ` +
      "to here. Use the build that made it, or begin with an empty database: for `dev` remove its data directory (`.data`), " +
      "elsewhere `drop schema posthorn cascade`."
  )
}

const missingAfter = (applied: ReadonlyArray<Applied>) =>
  migrations.filter((migration) => !applied.some(({ version }) => version === migration.version))

const INSUFFICIENT_PRIVILEGE = "42501"

/** Names the right that is missing, where that is why a migration cannot be. */
const namingRights = (sql: SqlClient.SqlClient) => (error: SqlError | MigrationFailed) => {
  const cause = error._tag === "SqlError" ? error : error.cause
  const problem = cause instanceof SqlError ? problemOf(cause) : undefined
  if (problem?.code !== INSUFFICIENT_PRIVILEGE) return Effect.fail(error)
  return sql<{ role: string; database: string }>`
    select quote_ident(current_user) as role, quote_ident(current_database()) as database`.pipe(
    Effect.flatMap(([here]) =>
      refuse(
        `The role ${here?.role} lacks a right (${problem.message}). Migrate as the owner of the schema posthorn; ` +
          `where there is none yet, allow it: grant create on database ${here?.database} to ${here?.role};`
      )
    )
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
  const applied = yield* appliedMigrations(sql)
  yield* refuseForeign(applied)
  const missing = missingAfter(applied)
  for (const migration of missing) yield* apply(sql, migration)
  return missing
}).pipe(
  Effect.scoped,
  Effect.catchAll((error) => Effect.flatMap(SqlClient.SqlClient, (sql) => namingRights(sql)(error))),
  Effect.withSpan("Migrator.migrate")
)

/** The versions that are not applied yet; empty when the database is current. */
export const pending = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql<{
    there: boolean
  }>`select to_regclass('posthorn.migrations') is not null as there`
  if (!exists?.there) return migrations
  const applied = yield* readApplied(sql)
  yield* refuseForeign(applied)
  return missingAfter(applied)
})
