/**
 * What a statement gives. The columns of its rows are declared once, as a schema, and their type is derived from it; a
 * statement that is run without one gives columns of which nothing is known.
 *
 * Rows are taken as the driver made them: decoding 50 of them takes twice as long as reading them. Tests decode every
 * row that they read (`testkit/src/CheckedRows.ts`), and fail by one that does not fit. Why: docs/adr/0033-row-types.md.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, type Schema } from "effect"

/** Throws when these are not such rows. */
export type Check = (
  found: ReadonlyArray<unknown>,
  row: Schema.Schema.AnyNoContext,
  statement: string
) => void

let check: Check | null = null

/** From now on every row that this process reads is checked: for tests. */
export const checkRows = (by: Check): void => {
  check = by
}

type Statement<A> = (
  text: TemplateStringsArray,
  ...parts: ReadonlyArray<unknown>
) => Effect.Effect<ReadonlyArray<A>, SqlError>

/** The tag of a statement that gives such rows. */
export const rows = <A extends object>(sql: SqlClient, row: Schema.Schema<A>): Statement<A> =>
  check === null
    ? sql<A>
    : (text, ...parts) => {
        const statement = sql<A>(text, ...parts)
        return Effect.flatMap(statement, (found) => rowsOf(row, found, statement.compile()[0]))
      }

/** What was found by a statement that is not the pool's. */
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
