/**
 * Whether this process can write: a transaction that takes an id, at most once a second. On a full disk it succeeds, so after a
 * refused statement (`client/WriteRefusals.ts`) a temporary table must be made first.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg/PgClient"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Redacted, Schema } from "effect"
import { DatabaseClock } from "../client/DatabaseClock.ts"
import { rows } from "../client/Rows.ts"
import { sqlProblemOf } from "../client/Statement.ts"
import { forgetRefusal, lastRefusal, type NotWriting, notWriting } from "../client/WriteRefusals.ts"

const FRESH = "1 second"
const PATIENCE = "2 seconds"

const INSUFFICIENT_PRIVILEGE = "42501"

const Writing = Schema.Struct({ readOnly: Schema.Boolean, now: Schema.Number })

/** Fails when the disk is full: the table is dropped with its transaction. */
export const writeTemporarily = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    Effect.asVoid(sql`create temporary table posthorn_written on commit drop as select 1 as n`)
  )
)

/** Null while the process can write. `also` runs in the same transaction. */
export const makeWriteProbe = <A extends string>(
  also: Effect.Effect<A | null, SqlError, SqlClient.SqlClient>
): Effect.Effect<
  Effect.Effect<NotWriting | A | null>,
  never,
  DatabaseClock | PgClient | SqlClient.SqlClient
> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* DatabaseClock
    const { config } = yield* PgClient
    const url = config.url === undefined ? "" : Redacted.value(config.url)

    const asking = Effect.gen(function* () {
      const began = yield* elapsedNow
      const [found] = yield* rows(sql, Writing)`
        select current_setting('transaction_read_only') = 'on' or pg_current_xact_id() is null as "readOnly",
          extract(epoch from clock_timestamp())::float8 * 1000 as now`
      yield* clock.measured(began, found!.now)
      if (found!.readOnly) return "read_only" as const
      if (lastRefusal(url) !== undefined) {
        // A role without the right to make temporary tables cannot be tested.
        yield* Effect.catchIf(
          writeTemporarily,
          (error) => sqlProblemOf(error).code === INSUFFICIENT_PRIVILEGE,
          () => Effect.void
        )
        forgetRefusal(url)
      }
      return yield* also
    }).pipe(Effect.provideService(SqlClient.SqlClient, sql))
    const asked: Effect.Effect<NotWriting | A | null> = asking.pipe(
      sql.withTransaction,
      Effect.timeoutTo({
        duration: PATIENCE,
        onSuccess: (answer): NotWriting | A | null => answer,
        onTimeout: (): NotWriting => "away"
      }),
      Effect.catchAll((error) => Effect.succeed(notWriting(sqlProblemOf(error).code) ?? "away")),
      Effect.catchAllDefect(() => Effect.succeed("away" as const)),
      Effect.withTracerEnabled(false)
    )
    const fresh = yield* Effect.cachedWithTTL(asked, FRESH)
    return Effect.map(fresh, (answer) => answer ?? lastRefusal(url) ?? null)
  })

export const writeProbe = makeWriteProbe<never>(Effect.succeed(null))
