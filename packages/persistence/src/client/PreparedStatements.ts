/**
 * The delivery worker's statements: prepared once per connection, on a few connections of their own.
 *
 * Compared with a statement of `SqlClient` (PostgreSQL 18, 2026-11-21) they save parsing and planning, 80 us of PostgreSQL's
 * CPU for each call, and building rows as objects. Worth it only for statements that run hundreds of times a second. Array
 * parameters are joined to text here: the driver would search each element for characters to escape, which ids do not
 * contain. Each call is one statement, so one transaction. Needs a direct connection, or a pooler that pools sessions.
 */
import { SqlError } from "@effect/sql/SqlError"
import { PgClient, type PgClientConfig } from "@effect/sql-pg/PgClient"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import type pg from "pg"
import * as Pool from "./internal/Pool.ts"
import { poolMeters, statementSeconds } from "./internal/PoolMeters.ts"
import { rowsOf } from "./Rows.ts"
import { sessionOf } from "./Session.ts"

/** Reading, loading and recording run concurrently. */
export const CONNECTIONS = 3
/**
 * Longer than `lock_timeout`: a locked table must fail the statement before the socket counts as silent, because that would
 * open a new session each time.
 */
const LOCK_TIMEOUT = "2 seconds"

type Columns = ReadonlyArray<readonly [name: string, holds: Schema.Schema.AnyNoContext]>

/** A row is a list in the order of the columns. */
export type RowOf<C extends Columns> = { readonly [K in keyof C]: Schema.Schema.Type<C[K][1]> }

export const rowOf = <const C extends Columns>(columns: C) =>
  Schema.Tuple(...columns.map(([, holds]) => holds)) as unknown as Schema.Schema<RowOf<C>>

export interface Statement<A> {
  /** The name under which each connection prepares it; a name always has the same text. */
  readonly name: string
  readonly text: string
  readonly row: Schema.Schema<A>
}

/** Selects these columns from a function's rows. */
export const statement = <const C extends Columns>(call: string, columns: C): Statement<RowOf<C>> => ({
  name: call.slice(0, call.indexOf("(")),
  text: `select ${columns.map(([name]) => name).join(", ")} from ${call}`,
  row: rowOf(columns)
})

export type Run = <A>(
  statement: Statement<A>,
  values: ReadonlyArray<string | number>
) => Effect.Effect<ReadonlyArray<A>, SqlError>

export class PreparedStatements extends Context.Tag("@posthorn/persistence/client/PreparedStatements")<
  PreparedStatements,
  { readonly run: Run }
>() {}

const open = (config: PgClientConfig) =>
  Pool.open({
    connectionString: config.url && Redacted.value(config.url),
    application_name: config.applicationName,
    max: CONNECTIONS,
    ...(config.connectTimeout && { connectionTimeoutMillis: Duration.toMillis(config.connectTimeout) }),
    ...(config.idleTimeout && { idleTimeoutMillis: Duration.toMillis(config.idleTimeout) }),
    ...(config.types && { types: config.types }),
    ...(config.stream && { stream: config.stream }),
    verify: (client, done) =>
      client.query(sessionOf({ lockTimeout: LOCK_TIMEOUT }), (error) => done(error ?? undefined))
  })

const runOn =
  (pool: pg.Pool): Run =>
  ({ name, row, text }, values) =>
    Effect.flatMap(elapsedNow, (began) =>
      Effect.async<ReadonlyArray<unknown>, SqlError>((resume) => {
        const query = { name, text, values: [...values], rowMode: "array" as const }
        pool.query(query, (error: Error | null, result: pg.QueryArrayResult) =>
          // The driver says null, its types say undefined.
          resume(
            error
              ? Effect.fail(new SqlError({ cause: error, message: `Failed to execute ${name}` }))
              : Effect.succeed(result.rows)
          )
        )
      }).pipe(
        Effect.ensuring(
          Effect.map(elapsedNow, (ended) => statementSeconds.observe((ended - began) / 1000, name))
        ),
        Effect.flatMap((found) => rowsOf(row, found, text))
      )
    )

/** Connects to the same database as the pool of `PgClient`. */
export const layer: Layer.Layer<PreparedStatements, never, PgClient> = Layer.scoped(
  PreparedStatements,
  Effect.gen(function* () {
    const { config } = yield* PgClient
    const pool = yield* open(config)
    yield* poolMeters(pool, " engine")
    return { run: runOn(pool) }
  })
)

/**
 * A text array as input, from elements that need no escaping: ids, numbers, booleans. `join`, because appending one piece
 * after another leaves an object for each.
 */
export const plain = <A>(
  rows: ReadonlyArray<A>,
  of: (row: A) => string | number | boolean | null
): string => {
  const texts: Array<string | number | boolean> = new Array(rows.length)
  for (let n = 0; n < rows.length; n++) texts[n] = of(rows[n]!) ?? "null"
  return `{${texts.join(",")}}`
}

const TO_ESCAPE = /[\\"]/g

/** A text array from any text. */
export const quoted = <A>(rows: ReadonlyArray<A>, of: (row: A) => string | null): string =>
  plain(rows, (row) => {
    const value = of(row)
    return value === null ? null : `"${value.replace(TO_ESCAPE, "\\$&")}"`
  })
