/**
 * Whether the database accepts this process's writes, and has its migrations. It is asked at most once a second, by one statement,
 * so that a database far away is slow and not `away`. On a full disk that statement succeeds, so after a refused statement
 * (`client/WriteRefusals.ts`) a temporary table must be made too.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { PgClient } from "@effect/sql-pg/PgClient"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Redacted, Schema } from "effect"
import { DatabaseClock } from "../client/DatabaseClock.ts"
import { rowsOf } from "../client/Rows.ts"
import { sqlProblemOf } from "../client/Statement.ts"
import { forgetRefusal, lastRefusal, type NotWriting, notWriting } from "../client/WriteRefusals.ts"
import { APPLIED, Applied, isUnmigrated, pendingAfter } from "./Migrator.ts"

const FRESH = "1 second"
/** Below the 3 s for which `docker/kubernetes` and a worker's lease wait for an answer. */
const PATIENCE = "2800 millis"

const INSUFFICIENT_PRIVILEGE = "42501"

const State = Schema.Struct({
  readOnly: Schema.Boolean,
  now: Schema.Number,
  applied: Schema.Array(Applied)
})

const QUESTION = `select current_setting('transaction_read_only') = 'on' or pg_current_xact_id() is null as "readOnly",
  extract(epoch from clock_timestamp())::float8 * 1000 as now,
  coalesce((select json_agg(a) from (${APPLIED}) a), '[]') as applied`

/** Fails when the disk is full: the table is dropped with its transaction. */
export const writeTemporarily = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    Effect.asVoid(sql`create temporary table posthorn_written on commit drop as select 1 as n`)
  )
)

type Unready = NotWriting | "migrations"

type Probe<Answer> = Effect.Effect<
  Effect.Effect<Answer | null>,
  never,
  DatabaseClock | PgClient | SqlClient.SqlClient
>

/** Null while the database is written to, and has all migrations of this program. */
export const readyProbe: Probe<Unready> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* DatabaseClock
  const { config } = yield* PgClient
  const url = config.url === undefined ? "" : Redacted.value(config.url)

  /** Measures the round trip without the wait for a connection. */
  const asked = Effect.gen(function* () {
    const connection = yield* sql.reserve
    const began = yield* elapsedNow
    const [state] = yield* rowsOf(State, yield* connection.execute(QUESTION, [], undefined), QUESTION)
    yield* clock.measured(began, state!.now)
    return state!
  }).pipe(Effect.scoped)

  const judged: Effect.Effect<Unready | null> = Effect.gen(function* () {
    const { applied, readOnly } = yield* asked
    if (readOnly) return "read_only" as const
    if (lastRefusal(url) !== undefined) {
      // A role without the right to make temporary tables cannot be tested.
      yield* Effect.catchIf(
        writeTemporarily,
        (error) => sqlProblemOf(error).code === INSUFFICIENT_PRIVILEGE,
        () => Effect.void
      )
      forgetRefusal(url)
    }
    return (yield* pendingAfter(applied)).length === 0 ? null : ("migrations" as const)
  }).pipe(
    Effect.provideService(SqlClient.SqlClient, sql),
    Effect.timeoutTo({
      duration: PATIENCE,
      onSuccess: (answer): Unready | null => answer,
      onTimeout: (): Unready => "away"
    }),
    Effect.catchTags({
      // A database of another build does not have this program's migrations either.
      MigrationFailed: () => Effect.succeed("migrations" as const),
      SqlError: (error) =>
        Effect.succeed<Unready>(
          isUnmigrated(error) ? "migrations" : (notWriting(sqlProblemOf(error).code) ?? "away")
        )
    }),
    Effect.catchAllDefect(() => Effect.succeed("away" as const)),
    Effect.withTracerEnabled(false)
  )
  const fresh = yield* Effect.cachedWithTTL(judged, FRESH)
  return Effect.map(fresh, (answer) => answer ?? lastRefusal(url) ?? null)
})

/** The same, whatever the migrations. */
export const writeProbe: Probe<NotWriting> = Effect.map(
  readyProbe,
  Effect.map((reason) => (reason === "migrations" ? null : reason))
)
