/**
 * Limits how many of the pool's connections the statements of one workspace hold.
 *
 * A statement belongs to the workspace of the principal in its context. Past the limit it waits in memory, first come first
 * served, at most as long as for a connection. So 24 batches of one customer leave the other connections to everybody else.
 * Statements without a principal (the look-up of a token) have no limit. An interrupted caller stops waiting, both here and
 * for the pool. Source: spec §5.2.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { makeCompiler, type PgClient } from "@effect/sql-pg/PgClient"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Context, Duration, Effect, ExecutionStrategy, Exit, Option, Scope } from "effect"
import type pg from "pg"

const overLimit = new SqlError({
  cause: new Error("This workspace has its share of the connections in use"),
  message: "Failed to acquire connection"
})

interface Tenant {
  held: number
  /** Waiters in the order in which they came. */
  readonly waiting: Set<() => void>
}

/** Not `Effect.makeSemaphore`, which wakes every waiter for each permit that is given back. */
const makePermits = (most: number, patience: Duration.DurationInput) => {
  const tenants = new Map<WorkspaceId, Tenant>()

  const leave = (id: WorkspaceId, tenant: Tenant) => {
    const [next] = tenant.waiting
    if (next !== undefined) return next()
    tenant.held -= 1
    if (tenant.held === 0) tenants.delete(id)
  }

  /** A permit until the scope ends, or `overLimit`. */
  return (id: WorkspaceId, scope: Scope.Scope): Effect.Effect<void, SqlError> =>
    Effect.suspend(() => {
      const tenant = tenants.get(id) ?? { held: 0, waiting: new Set() }
      tenants.set(id, tenant)
      let isHeld = tenant.held < most
      if (isHeld) tenant.held += 1
      const left = Scope.addFinalizer(
        scope,
        Effect.sync(() => isHeld && leave(id, tenant))
      )
      if (isHeld) return left
      const turn = Effect.async<void, SqlError>((resume) => {
        const next = () => {
          stop()
          isHeld = true
          resume(Effect.void)
        }
        const timer = setTimeout(() => {
          stop()
          resume(Effect.fail(overLimit))
        }, Duration.toMillis(patience))
        const stop = () => {
          clearTimeout(timer)
          tenant.waiting.delete(next)
        }
        tenant.waiting.add(next)
        return Effect.sync(stop)
      })
      return Effect.zipRight(left, Effect.interruptible(turn))
    })
}

const noneFree = new SqlError({
  cause: new Error("No connection is free"),
  message: "Failed to acquire connection"
})

/**
 * One of the pool's connections. The driver cannot cancel a request for a connection: for a caller that is interrupted or has
 * waited too long, a fiber receives the connection and gives it back.
 */
const reserving = (pool: pg.Pool, { reserve }: PgClient, patience: Duration.DurationInput) => {
  const connection = Effect.uninterruptible(reserve)
  const waiting = Effect.interruptible(
    Effect.timeoutFail(Effect.disconnect(connection), { duration: patience, onTimeout: () => noneFree })
  )
  return Effect.suspend(() => (pool.idleCount > 0 ? connection : waiting))
}

/** When a transaction cannot begin, its scope stays open, so the connections taken so far are given back here. */
const givenBack = <A, E>(acquire: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.flatMap(Scope.fork(scope, ExecutionStrategy.sequential), (own) =>
      Effect.onExit(Scope.extend(acquire, own), (exit) =>
        Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void
      )
    )
  )

/** The client's statements and transactions, with a limit on each workspace's connections. */
export const limitTenants = (
  pool: pg.Pool,
  client: PgClient,
  most: number,
  patience: Duration.DurationInput
): Effect.Effect<SqlClient.SqlClient, never, Reactivity.Reactivity> => {
  const { config } = client
  const permit = makePermits(most, patience)
  const connection = reserving(pool, client, patience)
  const acquirer = Effect.contextWithEffect((context: Context.Context<Scope.Scope>) => {
    const principal = Context.getOption(context, CurrentPrincipal)
    return Option.isNone(principal)
      ? connection
      : Effect.zipRight(permit(principal.value.workspaceId, Context.get(context, Scope.Scope)), connection)
  })
  return SqlClient.make({
    acquirer,
    transactionAcquirer: givenBack(acquirer),
    compiler: makeCompiler(undefined, false),
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", config.database ?? config.username ?? "postgres"],
      ["server.address", config.host ?? "localhost"],
      ["server.port", config.port ?? 5432]
    ]
  })
}
