/**
 * Limits how many of the pool's connections the statements of one workspace hold.
 *
 * A statement is of the workspace whose principal is a service where it runs. Past the limit it waits in memory, first come
 * first served, and for as long as for a connection at most: 24 batches of one customer leave the other connections to
 * everybody else. Statements without a principal (the look-up of a token) have no limit. Whoever is interrupted waits no
 * longer, neither here nor for the pool. Source: spec §5.2.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import { makeCompiler, type PgClient } from "@effect/sql-pg/PgClient"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Duration, Effect, Option, Scope } from "effect"

const overLimit = new SqlError({
  cause: new Error("This workspace has its share of the connections in use"),
  message: "Failed to acquire connection"
})

interface Tenant {
  held: number
  /** The first is the next. */
  readonly waiting: Set<() => void>
}

/** Not `Effect.makeSemaphore`: it wakes everybody who waits for each permit that is given back. */
const makeTenants = (most: number, patience: Duration.DurationInput) => {
  const tenants = new Map<WorkspaceId, Tenant>()

  const leave = (id: WorkspaceId, tenant: Tenant) => {
    const [next] = tenant.waiting
    if (next !== undefined) return next()
    tenant.held -= 1
    if (tenant.held === 0) tenants.delete(id)
  }

  /** A place until the scope ends, or `overLimit`. */
  return (id: WorkspaceId): Effect.Effect<void, SqlError, Scope.Scope> =>
    Effect.suspend(() => {
      const tenant = tenants.get(id) ?? { held: 0, waiting: new Set() }
      tenants.set(id, tenant)
      let isHeld = tenant.held < most
      if (isHeld) tenant.held += 1
      const left = Effect.addFinalizer(() => Effect.sync(() => isHeld && leave(id, tenant)))
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

/** The pool's connections for single statements: whoever is interrupted gives up waiting for one. */
const singleStatements = (client: PgClient): Connection => ({
  execute: (sql, params) => untraced(client.unsafe(sql, params)),
  executeRaw: (sql, params) => untraced(client.unsafe(sql, params).raw),
  executeStream: (sql, params) => client.unsafe(sql, params).stream,
  executeValues: (sql, params) => untraced(client.unsafe(sql, params).values),
  executeUnprepared: (sql, params) => untraced(client.unsafe(sql, params).unprepared)
})

/** The statement that is made of this one has a span already. */
const untraced = Effect.withTracerEnabled(false)

/**
 * A connection for a transaction. Whoever is interrupted leaves the pool's answer to a fiber, which gives it back. A transaction
 * that cannot begin leaves its scope open: what it had taken is given back here.
 */
const forTransaction = <A, E>(acquire: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.flatMap(Scope.make(), (own) =>
      Effect.zipRight(
        Scope.addFinalizerExit(scope, (exit) => Scope.close(own, exit)),
        Effect.onExit(Scope.extend(acquire, own), (exit) =>
          exit._tag === "Failure" ? Scope.close(own, exit) : Effect.void
        )
      )
    )
  )

/** The client's statements and transactions, with at most so many connections for each workspace. */
export const limitTenants = (
  client: PgClient,
  most: number,
  patience: Duration.DurationInput
): Effect.Effect<SqlClient.SqlClient, never, Reactivity.Reactivity> => {
  const { config } = client
  const hold = makeTenants(most, patience)
  const held = Effect.flatMap(
    Effect.serviceOption(CurrentPrincipal),
    Option.match({ onNone: () => Effect.void, onSome: ({ workspaceId }) => hold(workspaceId) })
  )
  const reserve = Effect.interruptible(Effect.disconnect(Effect.uninterruptible(client.reserve)))
  return SqlClient.make({
    acquirer: Effect.as(held, singleStatements(client)),
    transactionAcquirer: forTransaction(Effect.zipRight(held, reserve)),
    compiler: makeCompiler(undefined, false),
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", config.database ?? config.username ?? "postgres"],
      ["server.address", config.host ?? "localhost"],
      ["server.port", config.port ?? 5432]
    ]
  })
}
