/**
 * The driver's pool, in which giving a statement up always ends it.
 *
 * `@effect/sql-pg` cancels an interrupted statement with another one, through `pool.query`. In the pool itself that one
 * would wait for a free connection, and when the statements to be cancelled hold all of them, none is ever free: one lock
 * that 20 statements wait for then stops a whole `serve`. So here `pool.query` has a connection of its own, which is
 * opened when it is first needed.
 *
 * A connection that is given back before its statement has ended, or that turned out to lead to a standby, is closed instead of
 * being lent to the next one.
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

/** A pool, until the scope ends. Connections that break while they are idle leave it; nobody else has to know. */
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

/** The driver keeps its statement to itself; the getter beside it warns that it will go. */
const isBusy = (client: pg.PoolClient) => "_activeQuery" in client && client._activeQuery !== null

const closeUnlessGood = (_: Error, client: pg.PoolClient) => {
  if (isBusy(client) || (client instanceof Client && client.leaving)) void client.end()
}

/** Fails when the database cannot be reached. */
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
