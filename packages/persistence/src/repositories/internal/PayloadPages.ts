/**
 * Pages of rows with a payload. A page ends once its payloads have reached `PAGE_BYTES`, so that no reader can make the
 * server hold 200 payloads of 1 MiB. The payloads of the rows beyond stay in the database. Summing up their sizes costs
 * PostgreSQL 0.35 ms, most of it for planning, so it is done only when one payload takes more than its share of the page.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { JsonText } from "@posthorn/domain/JsonText"
import { cursorAt, type Order, type Page, pageOf } from "@posthorn/domain/Page"
import { Effect, type Schema } from "effect"
import { columnsOf } from "../../client/internal/Columns.ts"
import { rows } from "../../client/Rows.ts"

/** Bytes of payload after which a page ends. */
const PAGE_BYTES = 1_048_576

interface Raw {
  readonly payload: string | null
}

export type WithPayload<R extends Raw> = Omit<R, "payload"> & { readonly payload: JsonText | null }

/** The row itself, changed in place: copying 50 rows of 14 members costs more than reading them. */
const toRow = <R extends Raw>(raw: R): WithPayload<R> => {
  const row = raw as { payload: string | JsonText | null }
  if (typeof row.payload === "string") row.payload = new JsonText(row.payload)
  return row as WithPayload<R>
}

/** `payload`, and the values of `more`, are expressions over the table's row, which is called `r`. */
export const makePayloadPages = <R extends Raw, P>(
  sql: SqlClient,
  row: Schema.Schema<R> & { readonly fields: object },
  order: Order<WithPayload<R>, P>,
  payload: string,
  more: Readonly<Record<string, string>> = {}
) => {
  const columnsWith = (payload: string) => {
    const instead: object = { ...more, payload }
    return sql.literal(columnsOf<object>(row, "r.", instead))
  }
  const columns = columnsWith(payload)
  const withoutPayload = columnsWith("null::text")
  const withinShare = columnsWith(
    "case when octet_length(r.whole_payload) <= r.share then r.whole_payload end"
  )
  const withinBudget = columnsWith(`case when r.bytes_before < ${PAGE_BYTES} then r.whole_payload end`)

  const hasAll = (found: ReadonlyArray<Raw>) => found.every(({ payload }) => payload !== null)

  /** Without `offset 0` the payload is read twice. */
  const read = (walk: Fragment, limit: number) => {
    const share = Math.floor((PAGE_BYTES - 1) / limit)
    return Effect.flatMap(
      rows(sql, row)`select ${withinShare} from (
        select r.*, ${sql.literal(payload)} as whole_payload, ${share}::integer as share from ${walk} offset 0) r`,
      (found) =>
        hasAll(found)
          ? Effect.succeed(found)
          : rows(sql, row)`select ${withinBudget} from (
              select w.*, coalesce(sum(octet_length(w.whole_payload)) over (
                order by w.id desc rows between unbounded preceding and 1 preceding), 0) as bytes_before
              from (select r.*, ${sql.literal(payload)} as whole_payload from ${walk}) w
            ) r order by r.id desc`
    )
  }

  /** `walk` is the `from` clause and what follows it: the page's rows in order, and one more if there is one. */
  const page = (
    walk: Fragment,
    limit: number,
    omitPayload = false
  ): Effect.Effect<Page<WithPayload<R>>, SqlError> =>
    Effect.map(
      omitPayload ? rows(sql, row)`select ${withoutPayload} from ${walk}` : read(walk, limit),
      (found) => {
        const end = omitPayload ? -1 : found.findIndex(({ payload }) => payload === null)
        if (end < 0) return pageOf(order, found.map(toRow), limit)
        const items = found.slice(0, end).map(toRow)
        return { items, nextCursor: cursorAt(order, order.positionOf(items[end - 1]!)) }
      }
    )

  /** The row of a statement that has found it as `r`. */
  const first = (found: ReadonlyArray<R>) => found[0] && toRow(found[0])

  return { columns, first, page } as const
}
