/**
 * A connection outside the pool, for session locks and for LISTEN, which belong to one connection.
 *
 * Needs a direct connection, or a pooler that pools sessions. The scope closes it. When the connection breaks, `broken`
 * ends. Nothing is retried here.
 */

import { SqlError } from "@effect/sql/SqlError"
import { PgClient, type PgClientConfig } from "@effect/sql-pg/PgClient"
import { Context, Deferred, Duration, Effect, Layer, Redacted, Schema, type Scope } from "effect"
import { Client } from "./internal/Client.ts"
import { CONNECT_TIMEOUT } from "./internal/Pool.ts"
import { rowsOf } from "./Rows.ts"
import { sessionOf } from "./Session.ts"

export interface DedicatedConnection {
  readonly query: <A = unknown>(
    statement: string,
    values?: ReadonlyArray<unknown>,
    row?: Schema.Schema<A>
  ) => Effect.Effect<ReadonlyArray<A>, SqlError>
  readonly onNotification: (heard: (payload: string) => void) => void
  readonly broken: Effect.Effect<never, SqlError>
}

const CLOSE_TIMEOUT_MS = 1_000
/** Below the lease timeout of 3 s: later the worker has given up the answer. */
const LOCK_TIMEOUT = "2 seconds"

const failed = (message: string) => (cause: unknown) => new SqlError({ cause, message })

/** Opens dedicated connections to the database that the pool is connected to. */
export class DedicatedConnections extends Context.Tag("@posthorn/persistence/DedicatedConnections")<
  DedicatedConnections,
  {
    /** pg_stat_activity shows `name`. */
    readonly open: (name: string) => Effect.Effect<DedicatedConnection, SqlError, Scope.Scope>
  }
>() {}

const open = (
  config: PgClientConfig,
  name: string
): Effect.Effect<DedicatedConnection, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const broken = yield* Deferred.make<never, SqlError>()
    const client = new Client({
      connectionString: config.url && Redacted.value(config.url),
      application_name: name,
      connectionTimeoutMillis: Duration.toMillis(CONNECT_TIMEOUT),
      keepAlive: true,
      ...(config.types && { types: config.types })
    })
    const breaks = (cause: unknown) =>
      Effect.runSync(Deferred.fail(broken, failed("The connection broke")(cause)))
    client.on("error", breaks)
    client.on("end", () => breaks(new Error("Connection ended")))
    yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => client.connect(), catch: failed("Failed to connect") }),
      () =>
        Effect.ignore(
          // Interruptible: otherwise a dead connection that gives no sign would be waited for without end.
          Effect.timeout(Effect.interruptible(Effect.tryPromise(() => client.end())), CLOSE_TIMEOUT_MS)
        )
    )
    yield* Effect.tryPromise({
      try: () => client.query(sessionOf({ lockTimeout: LOCK_TIMEOUT })),
      catch: failed("Failed to connect")
    }).pipe(
      Effect.timeoutFail({
        duration: CONNECT_TIMEOUT,
        onTimeout: () => failed("Failed to connect")(new Error("No answer"))
      })
    )
    // Planning those of the heartbeat each second costs PostgreSQL 2 ms.
    const names = new Map<string, string>()
    const nameOf = (statement: string): string => {
      const name = names.get(statement) ?? `statement_${names.size}`
      names.set(statement, name)
      return name
    }
    // One statement at a time: a future version of the driver will not queue them.
    const turn = yield* Effect.makeSemaphore(1)
    return {
      broken: Deferred.await(broken),
      onNotification: (heard) => void client.on("notification", ({ payload }) => heard(payload ?? "")),
      query: <A>(
        statement: string,
        values: ReadonlyArray<unknown> = [],
        row: Schema.Schema<A> = Schema.Any
      ) =>
        Effect.flatMap(
          Effect.tryPromise({
            try: () => client.query({ name: nameOf(statement), text: statement, values: [...values] }),
            catch: failed("Failed to execute statement")
          }),
          (result) => rowsOf(row, result.rows, statement)
        ).pipe(turn.withPermits(1))
    }
  })

export const layer: Layer.Layer<DedicatedConnections, never, PgClient> = Layer.effect(
  DedicatedConnections,
  Effect.map(PgClient, ({ config }) => ({ open: (name) => open(config, name) }))
)
