/**
 * Checks whether this process can write to its database: one transaction that takes a transaction id, at most once a second. It
 * stores nothing.
 *
 * On a full disk such a transaction succeeds. So a refused statement counts too (`client/WriteRefusals.ts`), until a temporary
 * table, which needs disk space, could be created.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg/PgClient"
import { Effect, Redacted, Schema } from "effect"
import { rows } from "../client/Rows.ts"
import { problemOf } from "../client/Statement.ts"
import { forgetRefusal, lastRefusal, type NotWriting, notWriting } from "../client/WriteRefusals.ts"

const FRESH = "1 second"
const PATIENCE = "2 seconds"

const Writing = Schema.Struct({ readOnly: Schema.Boolean })

/**
 * Null while it can write, otherwise the reason. `also` is queried in the same transaction; its answer is used if the database
 * can write.
 */
export const makeWriteProbe = <A extends string>(
  also: Effect.Effect<A | null, SqlError, SqlClient.SqlClient>
): Effect.Effect<Effect.Effect<NotWriting | A | null>, never, PgClient | SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { config } = yield* PgClient
    const url = config.url === undefined ? "" : Redacted.value(config.url)

    const asking = Effect.gen(function* () {
      const [found] = yield* rows(sql, Writing)`
        select current_setting('transaction_read_only') = 'on' or pg_current_xact_id() is null as "readOnly"`
      if (found!.readOnly) return "read_only" as const
      if (lastRefusal(url) !== undefined) {
        yield* sql`create temporary table posthorn_written on commit drop as select 1 as n`
        forgetRefusal(url)
      }
      return yield* Effect.provideService(also, SqlClient.SqlClient, sql)
    })
    const asked: Effect.Effect<NotWriting | A | null> = asking.pipe(
      sql.withTransaction,
      Effect.timeoutTo({
        duration: PATIENCE,
        onSuccess: (answer): NotWriting | A | null => answer,
        onTimeout: (): NotWriting => "away"
      }),
      Effect.catchAll((error) => Effect.succeed(notWriting(problemOf(error).code) ?? "away")),
      Effect.catchAllDefect(() => Effect.succeed("away" as const)),
      Effect.withTracerEnabled(false)
    )
    const fresh = yield* Effect.cachedWithTTL(asked, FRESH)
    return Effect.map(fresh, (answer) => answer ?? lastRefusal(url) ?? null)
  })

/** The same without `also`. */
export const writeProbe = makeWriteProbe<never>(Effect.succeed(null))
