/**
 * The driver's pool, in which interrupting a statement always cancels it.
 *
 * `@effect/sql-pg` cancels an interrupted statement by another statement, through `pool.query`. That one would have to wait for
 * a free connection of the pool. If the statements to be cancelled hold all connections, none ever becomes free: then 20
 * statements waiting for one lock stop a whole `serve`. So here `pool.query` has its own connection, opened on first use.
 *
 * A connection that is given back before its statement has ended, or that leads to a standby, is closed instead of being
 * reused.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, type Scope } from "effect"
import pg from "pg"
import { Client } from "./Client.ts"
import { poolMeters } from "./PoolMeters.ts"

const CONNECT_TIMEOUT = Duration.seconds(5)
const CLOSE_TIMEOUT = Duration.seconds(1)

const failed = (cause: unknown) => new SqlError({ cause, message: "Failed to connect" })

const end = (pool: pg.Pool) =>
  Effect.ignore(Effect.timeout(Effect.interruptible(Effect.tryPromise(() => pool.end())), CLOSE_TIMEOUT))

/** A pool, until the scope ends. A connection that breaks while it is idle is dropped silently. */
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

/** The running statement is a private member of the driver; the public getter is deprecated. */
const isBusy = (client: pg.PoolClient) => "_activeQuery" in client && client._activeQuery !== null

const closeUnlessGood = (_: Error, client: pg.PoolClient) => {
  if (isBusy(client) || (client instanceof Client && client.leaving)) void client.end()
}

/** Fails if the database cannot be reached. */
export const make = (options: pg.PoolConfig): Effect.Effect<pg.Pool, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const pool = yield* open(options)
    const aside = yield* open({ ...options, max: 1 })
    yield* Effect.tryPromise({ try: () => pool.query("select 1"), catch: failed }).pipe(
      Effect.timeoutFail({ duration: CONNECT_TIMEOUT, onTimeout: () => failed(new Error("No answer")) })
    )
    yield* poolMeters(pool)
    return Object.assign(pool, { query: aside.query.bind(aside) })
  })
