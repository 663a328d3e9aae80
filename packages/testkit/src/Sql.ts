/** One statement as an effect, for tests that need no client beside it. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect } from "effect"

type Text = TemplateStringsArray
type Values = ReadonlyArray<string | number | boolean | null | ReadonlyArray<string>>

export const rows = <A extends object = object>(text: Text, ...values: Values) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql<A>(text, ...values))

/** The first row of the answer. */
export const row = <A extends object = object>(text: Text, ...values: Values) =>
  Effect.map(rows<A>(text, ...values), ([first]) => first!)
