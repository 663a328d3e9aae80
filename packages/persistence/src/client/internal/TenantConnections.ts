/**
 * Limits how many of the pool's connections the statements of one workspace hold.
 *
 * A statement is of the workspace whose principal is a service where it runs. Past the limit it waits in memory, first come
 * first served, and for as long as for a connection at most: 24 batches of one customer leave the other connections to
 * everybody else. Statements without a principal (the look-up of a token) have no limit. Source: spec §5.2.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { makeCompiler, type PgClient } from "@effect/sql-pg/PgClient"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { type Duration, Effect, Option } from "effect"
import { makeKeyedSemaphores } from "./KeyedSemaphores.ts"

const overLimit = () =>
  new SqlError({
    cause: new Error("This workspace has its share of the connections in use"),
    message: "Failed to acquire connection"
  })

/** The client's statements and transactions, with at most so many connections for each workspace. */
export const limitTenants = (
  { config, reserve }: PgClient,
  most: number,
  patience: Duration.DurationInput
): Effect.Effect<SqlClient.SqlClient, never, Reactivity.Reactivity> => {
  const tenants = makeKeyedSemaphores(most)
  // The driver cannot give up asking for a connection: one that comes too late would be lost.
  const connection = Effect.uninterruptible(reserve)
  const acquirer = Effect.flatMap(
    Effect.serviceOption(CurrentPrincipal),
    Option.match({
      onNone: () => connection,
      onSome: ({ workspaceId }) => Effect.zipRight(tenants.hold(workspaceId, patience, overLimit), connection)
    })
  )
  return SqlClient.make({
    acquirer,
    compiler: makeCompiler(undefined, false),
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", config.database ?? config.username ?? "postgres"],
      ["server.address", config.host ?? "localhost"],
      ["server.port", config.port ?? 5432]
    ]
  })
}
