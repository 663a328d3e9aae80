/** Runs statements of repositories. A statement that fails is a defect; Statement.ts has the exceptions. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, type Schema } from "effect"
import { Counted } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"

type Query<A> = (text: TemplateStringsArray, ...parts: ReadonlyArray<unknown>) => Effect.Effect<A>

export const all = <A extends object>(sql: SqlClient, row: Schema.Schema<A>): Query<ReadonlyArray<A>> => {
  const statement = rows(sql, row)
  return (text, ...parts) => Effect.orDie(statement(text, ...parts))
}

const seen =
  <A extends object, B>(statement: Query<ReadonlyArray<A>>, see: (found: ReadonlyArray<A>) => B): Query<B> =>
  (text, ...parts) =>
    Effect.map(statement(text, ...parts), see)

export const first = <A extends object>(sql: SqlClient, row: Schema.Schema<A>): Query<A | undefined> =>
  seen(all(sql, row), ([found]) => found)

/** The row of a statement that always returns one. */
export const one = <A extends object>(sql: SqlClient, row: Schema.Schema<A>): Query<A> =>
  seen(all(sql, row), ([found]) => found!)

export const counted = (sql: SqlClient): Query<number> => seen(all(sql, Counted), ([found]) => found!.n)

export const hasRow = (sql: SqlClient): Query<boolean> =>
  seen(
    (text, ...parts) => Effect.orDie(sql(text, ...parts)),
    (found) => found.length > 0
  )

export const execute =
  (sql: SqlClient): Query<void> =>
  (text, ...parts) =>
    Effect.orDie(Effect.asVoid(sql(text, ...parts)))
