/**
 * The connection to PostgreSQL, with the settings that every statement in this package expects.
 *
 * Columns keep the names that the statement gives them (camelCase aliases where rows leave this package), timestamps are RFC
 * 3339 text in UTC with milliseconds, and int8 is a number. `transformJson` stays off: it would rename members inside
 * customers' payloads.
 */
import { Socket } from "node:net"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import pg from "pg"
import * as DedicatedConnection from "./DedicatedConnection.ts"
import * as Pool from "./internal/Pool.ts"
import { limitTenants } from "./internal/TenantConnections.ts"
import { keepsSessions } from "./KeepsSessions.ts"
import { type Limits, sessionOf } from "./Session.ts"

/** With `perWorkspace`, a statement waits at most this long for a connection, a free one or a new one. */
const WAIT_TIMEOUT = Duration.seconds(5)
const IDLE_TIMEOUT = Duration.seconds(30)
/** A connection that is older is closed when it is released, and with it the statements that it has prepared. */
const LIFETIME = Duration.hours(1)

const INT8 = 20
const TIMESTAMPTZ = 1184

/** `2026-11-21 13:00:00.12+00` as `2026-11-21T13:00:00.120Z`; microseconds are cut. */
const toRfc3339 = (text: string): string => {
  if (text.endsWith("+00") && text.charCodeAt(10) === 32) {
    const fraction = text.slice(19, -3)
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.slice(1, 4).padEnd(3, "0")}Z`
  }
  const date = new Date(`${text.replace(" ", "T")}${/[+-]\d\d$/.test(text) ? ":00" : ""}`)
  return Number.isNaN(date.getTime()) ? text : date.toISOString()
}

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : oid === TIMESTAMPTZ ? toRfc3339 : pg.types.getTypeParser(oid, format as "text")
}

export interface DatabaseOptions extends Limits {
  readonly url: Redacted.Redacted
  readonly applicationName: string
  readonly maxConnections: number
  /**
   * A connection that received nothing for this long is closed, and its statement fails. Only for pools whose statements are
   * all short. After a change of host no packet says that a connection is gone: without this limit its statement would wait
   * for a quarter of an hour.
   */
  readonly silence?: Duration.DurationInput
  /** The most connections that statements of one workspace may hold. */
  readonly perWorkspace?: number
}

const socketThatEnds = (silence: Duration.DurationInput) => () => {
  const socket = new Socket()
  return socket.setTimeout(Duration.toMillis(silence), () =>
    socket.destroy(new Error("The database fell silent"))
  )
}

/**
 * A pool. Waiting for a connection ends after `Pool.CONNECT_TIMEOUT`. Without `perWorkspace`, a transaction that waits cannot be
 * interrupted earlier.
 */
export const layer = (options: DatabaseOptions) =>
  Layer.provide(Layer.scopedContext(connect(options)), Reactivity.layer)

const connect = (options: DatabaseOptions) =>
  Effect.gen(function* () {
    const { applicationName, maxConnections, perWorkspace, silence, url } = options
    const stream = silence === undefined ? undefined : socketThatEnds(silence)
    const { pool, sessions } = yield* Pool.make({
      connectionString: Redacted.value(url),
      application_name: applicationName,
      max: maxConnections,
      connectionTimeoutMillis: Duration.toMillis(Pool.CONNECT_TIMEOUT),
      idleTimeoutMillis: Duration.toMillis(IDLE_TIMEOUT),
      maxLifetimeSeconds: Duration.toSeconds(LIFETIME),
      types,
      verify: (made, done) => made.query(sessionOf(options), (error) => done(error ?? undefined)),
      ...(stream && { stream })
    })
    const client = yield* PgClient.fromPool({ acquire: Effect.succeed(pool), transformJson: false })
    // For modules that open connections outside the pool.
    const config: PgClient.PgClientConfig = {
      ...client.config,
      connectTimeout: Pool.CONNECT_TIMEOUT,
      idleTimeout: IDLE_TIMEOUT,
      ...(stream && { stream })
    }
    const database = Object.assign(client, { config })
    const sql =
      perWorkspace === undefined ? database : yield* limitTenants(pool, database, perWorkspace, WAIT_TIMEOUT)
    const made = Context.make(PgClient.PgClient, database).pipe(Context.add(SqlClient.SqlClient, sql))
    if (!sessions.kept)
      yield* keepsSessions.pipe(
        Effect.map((kept) => {
          sessions.kept = kept
        }),
        Effect.provide(DedicatedConnection.layer),
        Effect.provide(made),
        Effect.ignore,
        Effect.forkScoped
      )
    return made
  })

export type Database = Layer.Layer.Success<ReturnType<typeof layer>>
