/**
 * The driver's pool, changed so that interrupting a statement always ends it.
 *
 * `@effect/sql-pg` cancels an interrupted statement with a second one, through `pool.query`. In the driver's pool the second
 * one waits for a free connection. When the statements to be cancelled hold all connections, none is ever free: one lock
 * that 20 statements wait for then stops a whole `serve`. So here `pool.query` has a connection of its own, opened at its
 * first use.
 *
 * A connection that is given back before its statement has ended, or that leads to a standby, is closed instead of being
 * lent again.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, type Scope } from "effect"
import pg from "pg"
import { Client, type Sessions } from "./Client.ts"
import { poolMeters } from "./PoolMeters.ts"

/** A database far away answers within 2 s: six answers, with TLS, a password and the session's settings. */
export const CONNECT_TIMEOUT = Duration.seconds(12)
const CLOSE_TIMEOUT = Duration.seconds(1)

const failed = (cause: unknown) => new SqlError({ cause, message: "Failed to connect" })

const end = (pool: pg.Pool) =>
  Effect.ignore(Effect.timeout(Effect.interruptible(Effect.tryPromise(() => pool.end())), CLOSE_TIMEOUT))

/** A pool, until the scope ends. Connections that break while idle leave the pool without further notice. */
export const open = (options: pg.PoolConfig) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new pg.Pool({ ...options, Client })
      pool.on("error", () => undefined)
      pool.on("release", closeUnlessGood)
      return pool
    }),
    end
  )

/** The driver keeps the running statement private; the getter beside it warns that it will be removed. */
const isBusy = (client: pg.PoolClient) => "_activeQuery" in client && client._activeQuery !== null

const closeUnlessGood = (_: Error, client: pg.PoolClient) => {
  if (isBusy(client) || (client instanceof Client && client.leaving)) void client.end()
}

interface Made {
  readonly pool: pg.Pool
  /** A pooler may give each transaction another session. Unless there is none in between, `kept` begins as false. */
  readonly sessions: Sessions
}

/** A pooler gives its clients process ids of its own. */
const isDirect = async (pool: pg.Pool): Promise<boolean> => {
  const client = await pool.connect()
  try {
    const pid = "processID" in client ? client.processID : null
    return (await client.query("select where pg_backend_pid() = $1::integer", [pid])).rowCount === 1
  } finally {
    client.release()
  }
}

/** Fails when the database cannot be reached. */
export const make = (options: pg.PoolConfig): Effect.Effect<Made, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const sessions = { kept: false }
    const pool = yield* open({ ...options, sessions } as pg.PoolConfig)
    const aside = yield* open({ ...options, max: 1 })
    sessions.kept = yield* Effect.tryPromise({ try: () => isDirect(pool), catch: failed }).pipe(
      Effect.timeoutFail({ duration: CONNECT_TIMEOUT, onTimeout: () => failed(new Error("No answer")) })
    )
    yield* poolMeters(pool)
    return { pool: Object.assign(pool, { query: aside.query.bind(aside) }), sessions }
  })
