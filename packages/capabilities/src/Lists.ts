/**
 * The parameters of every list: limit and cursor. A page ends early once its items have reached 1 MiB, so that no reader can make the
 * server hold 200 of the largest; it goes on by its cursor. Source: spec §8.
 */
import { cursorAt, emptyPage, type Order, type Page, pageOf, positionIn } from "@posthorn/domain/Page"
import { Effect, Option } from "effect"

export interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
}

const PAGE_BYTES = 1_048_576

/** Most rows of one read: 50 of the largest have some 4 MB. */
const STEP = 50

export const pagePast = <P, A, E, R>(
  order: Order<never, P>,
  { cursor }: ListQuery,
  read: (from: Option.Option<P>) => Effect.Effect<Page<A>, E, R>
): Effect.Effect<Page<A>, E, R> =>
  Option.match(positionIn(order, cursor), { onNone: () => Effect.succeed(emptyPage), onSome: read })

/** The same by bytes; `read` returns a page of at most `limit`. */
export const boundedPast = <P, A, E, R>(
  order: Order<A, P>,
  query: ListQuery,
  read: (from: Option.Option<P>, limit: number) => Effect.Effect<Page<A>, E, R>
): Effect.Effect<Page<A>, E, R> =>
  pagePast(order, query, (from) =>
    Effect.gen(function* () {
      const items: Array<A> = []
      let bytes = 0
      let at = from
      for (;;) {
        const step = Math.min(STEP, query.limit - items.length)
        const page = yield* read(at, step)
        for (const item of page.items) {
          if (bytes >= PAGE_BYTES)
            return { items, nextCursor: cursorAt(order, order.positionOf(items.at(-1)!)) }
          items.push(item)
          bytes += JSON.stringify(item).length
        }
        if (page.nextCursor === null || page.items.length < step || items.length === query.limit)
          return { items, nextCursor: page.nextCursor }
        at = Option.some(order.positionOf(items.at(-1)!))
      }
    })
  )

/** The same from rows: `read` returns one row more than `limit`, if there is one. */
export const listPast = <P, A, E, R>(
  order: Order<A, P>,
  query: ListQuery,
  read: (from: Option.Option<P>, limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<Page<A>, E, R> =>
  boundedPast(order, query, (from, limit) =>
    Effect.map(read(from, limit), (rows) => pageOf(order, rows, limit))
  )
