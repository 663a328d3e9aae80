/** The parameters of every list: limit and cursor. Source: spec §8. */
import { emptyPage, type Order, type Page, pageOf, positionIn } from "@posthorn/domain/Page"
import { Effect, Option } from "effect"

export interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
}

/** The page that `read` returns past the cursor; an empty one if the cursor does not decode. */
export const pagePast = <P, A, E, R>(
  order: Order<never, P>,
  { cursor }: ListQuery,
  read: (from: Option.Option<P>) => Effect.Effect<Page<A>, E, R>
): Effect.Effect<Page<A>, E, R> =>
  Option.match(positionIn(order, cursor), { onNone: () => Effect.succeed(emptyPage), onSome: read })

/** The same from rows: `read` returns one row more than fits on the page, if there is one. */
export const listPast = <P, A, E, R>(
  order: Order<A, P>,
  query: ListQuery,
  read: (from: Option.Option<P>) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<Page<A>, E, R> =>
  pagePast(order, query, (from) => Effect.map(read(from), (rows) => pageOf(order, rows, query.limit)))
