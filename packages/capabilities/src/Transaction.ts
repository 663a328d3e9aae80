/** Wraps a capability in one transaction. A database failure is a defect, not a refusal. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"

export const transactional =
  (sql: SqlClient) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError>, R> =>
    sql
      .withTransaction(self)
      .pipe(
        Effect.catchAll((error) =>
          error instanceof SqlError ? Effect.die(error) : Effect.fail(error as Exclude<E, SqlError>)
        )
      )
