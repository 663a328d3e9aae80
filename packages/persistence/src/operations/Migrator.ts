/**
 * Brings the schema up to date: forward only, plain SQL files in order, each in a transaction unless it says otherwise, under a
 * lock.
 *
 * A migration that waits for a lock gives up after `LOCK_TIMEOUT`, lets others through, and tries again. A database is refused
 * if it is newer than this program, unless its migrations allow this program beside them, or if its migrations had other texts
 * (SHA-256).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Data, Effect, Schedule, Schema } from "effect"
import { rows } from "../client/Rows.ts"
import { LOCK_NOT_AVAILABLE, sqlProblemOf } from "../client/Statement.ts"
import { migrations as known, type Migration } from "./Migrations.ts"

const LOCK = 7_067_001

/** Above PostgreSQL's `deadlock_timeout`, after which an autovacuum gives way to a waiting lock. */
const LOCK_TIMEOUT = "2s"

interface Patience {
  readonly seconds: number
}

const PATIENCE: Patience = { seconds: 60 }

export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly message: string
  readonly cause?: unknown
}> {}

export const Applied = Schema.Struct({
  version: Schema.Int,
  fingerprint: Schema.NullOr(Schema.String),
  runsBeside: Schema.NullOr(Schema.Int)
})
export type Applied = typeof Applied.Type

const Exists = Schema.Struct({ there: Schema.Boolean })

const Encoding = Schema.Struct({ encoding: Schema.String })

/** Payloads are text of any language, kept as published. Checked first, because an encoding cannot be changed later. */
const refuseEncoding = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* rows(sql, Encoding)`select current_setting('server_encoding') as encoding`
  if (found!.encoding !== "UTF8")
    yield* refuse(
      `The database's encoding is ${found!.encoding}, and Posthorn needs UTF8. Make another database: ` +
        "create database … encoding 'UTF8' template template0."
    )
})

const Here = Schema.Struct({ role: Schema.String, database: Schema.String })

const appliedMigrations = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  // Only if it is missing, because even `if not exists` needs the right to create one.
  const [schema] = yield* rows(sql, Exists)`select to_regnamespace('posthorn') is not null as there`
  if (schema?.there !== true) yield* sql`create schema posthorn`
  yield* sql`create table if not exists posthorn.migrations (
    version integer primary key, name text not null, fingerprint text, runs_beside integer,
    applied_at timestamptz(3) not null default now())`
  // Databases made before the first release may lack this column. Only if it is missing, because even `if not exists` waits
  // for every reader of the table, such as a dump, and blocks later ones meanwhile.
  const [column] = yield* rows(sql, Exists)`select exists (select from pg_attribute
    where attrelid = 'posthorn.migrations'::regclass and attname = 'runs_beside' and not attisdropped) as there`
  if (column?.there !== true) yield* sql`alter table posthorn.migrations add column runs_beside integer`
  return yield* readApplied(sql)
})

/** Read through the row as JSON, where a column that an older table lacks is null. */
export const APPLIED = `select version, to_jsonb(m) ->> 'fingerprint' as fingerprint,
  (to_jsonb(m) ->> 'runs_beside')::integer as "runsBeside" from posthorn.migrations m order by version`

const readApplied = (sql: SqlClient.SqlClient) => rows(sql, Applied)`${sql.literal(APPLIED)}`

const UNDEFINED_TABLE = "42P01"

/** `posthorn.migrations` is not there. */
export const isUnmigrated = (error: SqlError) => sqlProblemOf(error).code === UNDEFINED_TABLE

const DEADLOCK = "40P01"

const foundLocksTaken = (error: SqlError) =>
  [LOCK_NOT_AVAILABLE, DEADLOCK].includes(sqlProblemOf(error).code ?? "")

const apply = (sql: SqlClient.SqlClient, migration: Migration, { seconds }: Patience) => {
  const { fingerprint, isTransaction, name, runsBeside, steps, version } = migration
  const run = Effect.forEach(steps, (step) => sql.unsafe(step).raw, { discard: true })
  const note = sql`insert into posthorn.migrations ${sql.insert({ version, name, fingerprint, runs_beside: runsBeside })}`
  const once = Effect.zipRight(run, note)
  return (
    isTransaction
      ? sql.withTransaction(Effect.zipRight(sql.unsafe(`set local lock_timeout = '${LOCK_TIMEOUT}'`), once))
      : once
  ).pipe(
    Effect.retry({
      while: foundLocksTaken,
      schedule: Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurUpTo(`${seconds} seconds`))
    }),
    Effect.mapError((cause) => {
      const advice = foundLocksTaken(cause)
        ? ` (tried for ${seconds} s; wait for, or end, the transaction that is in its way, and migrate again)`
        : ""
      return new MigrationFailed({
        message: `Migration ${version} (${name}) failed: ${describe(cause)}${advice}`,
        cause
      })
    })
  )
}

const describe = (error: { readonly cause?: unknown }) =>
  error.cause instanceof Error ? error.cause.message : String(error)

const refuse = (message: string) => Effect.fail(new MigrationFailed({ message }))

const newestOf = (list: ReadonlyArray<{ readonly version: number }>) =>
  Math.max(0, ...list.map(({ version }) => version))

const missingAfter = (program: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>) =>
  program.filter((migration) => !applied.some(({ version }) => version === migration.version))

const refuseForeign = (program: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>) => {
  const newest = newestOf(program)
  const later = applied.filter(({ version }) => version > newest)
  const foreign = applied.find(
    ({ fingerprint, version }) =>
      fingerprint === null ||
      (version <= newest && program.find((one) => one.version === version)?.fingerprint !== fingerprint)
  )
  // Checks the known migrations before the newer ones.
  const skipped = later.length === 0 ? undefined : missingAfter(program, applied)[0]
  if (foreign !== undefined || skipped !== undefined)
    return refuse(
      `Migration ${(foreign ?? skipped)?.version} of this database was made by another build, so this one cannot migrate it. ` +
        "Use the build that made it, or move the data into a new database, which loses nothing: docs/operate.md, Upgrade. " +
        "Of `dev`, remove the data directory (`.data`) if nobody needs what is in it."
    )
  return later.every(({ runsBeside }) => runsBeside !== null && runsBeside <= newest)
    ? Effect.void
    : refuse(
        `The database is at migration ${newestOf(applied)}, this program knows ${newest}: run a newer Posthorn.`
      )
}

const INSUFFICIENT_PRIVILEGE = "42501"

const namingRights = (sql: SqlClient.SqlClient) => (error: SqlError | MigrationFailed) => {
  const cause = error._tag === "SqlError" ? error : error.cause
  const problem = cause instanceof SqlError ? sqlProblemOf(cause) : undefined
  if (problem?.code !== INSUFFICIENT_PRIVILEGE) return Effect.fail(error)
  return rows(sql, Here)`
    select quote_ident(current_user) as role, quote_ident(current_database()) as database`.pipe(
    Effect.flatMap(([here]) =>
      refuse(
        `The role ${here?.role} lacks a right (${problem.message}). Migrate as the owner of the schema posthorn; ` +
          `where there is none yet, allow it: grant create on database ${here?.database} to ${here?.role};`
      )
    )
  )
}

/** A migrator that waited in PostgreSQL would have an open transaction, for which `create index concurrently` waits. */
const alone = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const connection = yield* sql.reserve
  const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
  yield* Effect.addFinalizer(() => Effect.ignore(run(`select pg_advisory_unlock(${LOCK})`)))
  yield* run(`select pg_try_advisory_lock(${LOCK}) as mine`).pipe(
    Effect.repeat({ until: ([row]) => row?.mine === true, schedule: Schedule.spaced("100 millis") })
  )
})

export const migrateTo = (program: ReadonlyArray<Migration>, patience = PATIENCE) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* refuseEncoding(sql)
    yield* alone(sql)
    const applied = yield* appliedMigrations(sql)
    yield* refuseForeign(program, applied)
    const missing = missingAfter(program, applied)
    for (const migration of missing) yield* apply(sql, migration, patience)
    return missing
  }).pipe(
    Effect.scoped,
    Effect.catchAll((error) => Effect.flatMap(SqlClient.SqlClient, (sql) => namingRights(sql)(error))),
    Effect.withSpan("Migrator.migrate")
  )

export const migrate = migrateTo(known)

const standingAfter = (program: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>) =>
  Effect.as(refuseForeign(program, applied), {
    missing: missingAfter(program, applied),
    ahead: Math.max(0, newestOf(applied) - newestOf(program))
  })

export const standingOf = (program: ReadonlyArray<Migration>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    readApplied(sql).pipe(
      Effect.catchIf(isUnmigrated, () => Effect.succeed([])),
      Effect.flatMap((applied) => standingAfter(program, applied))
    )
  )

export const standing = standingOf(known)

/** The migrations that are missing beside these. */
export const pendingAfter = (applied: ReadonlyArray<Applied>) =>
  Effect.map(standingAfter(known, applied), ({ missing }) => missing)
