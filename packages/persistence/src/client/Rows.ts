/**
 * The rows of statements. Their columns are declared once, as a schema, from which the type is derived. A statement that is
 * run without a schema has columns of unknown types.
 *
 * Production uses rows as the driver made them: decoding 50 of them takes twice as long as reading them. Tests decode every
 * row that they read (`testkit/src/CheckedRows.ts`) and fail if one does not fit. Why: docs/adr/0033-row-types.md.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, type Schema } from "effect"

/** Throws when the values are not such rows. */
export type Check = (
  found: ReadonlyArray<unknown>,
  row: Schema.Schema.AnyNoContext,
  statement: string
) => void

let check: Check | null = null

/** Checks every row that this process reads from now on; for tests. */
export const checkRows = (by: Check): void => {
  check = by
}

type Statement<A> = (
  text: TemplateStringsArray,
  ...parts: ReadonlyArray<unknown>
) => Effect.Effect<ReadonlyArray<A>, SqlError>

/** The template tag for a statement with such rows. */
export const rows = <A extends object>(sql: SqlClient, row: Schema.Schema<A>): Statement<A> =>
  check === null
    ? sql<A>
    : (text, ...parts) => {
        const statement = sql<A>(text, ...parts)
        return Effect.flatMap(statement, (found) => rowsOf(row, found, statement.compile()[0]))
      }

/** Rows of a statement that did not run on the pool. */
export const rowsOf = <A>(
  row: Schema.Schema<A>,
  found: ReadonlyArray<unknown>,
  statement: string
): Effect.Effect<ReadonlyArray<A>> =>
  check === null
    ? Effect.succeed(found as ReadonlyArray<A>)
    : Effect.sync(() => {
        check?.(found, row, statement)
        return found as ReadonlyArray<A>
      })
