/** A list as a stream: pages are requested as needed. Source: spec §2.5 and §8. */
import { Chunk, Effect, Option, Stream } from "effect"

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

/** Every item, page by page: `items((cursor) => client.deliveries.listWebhookDeliveries({ path, urlParams: { …, cursor } }))`. */
export const items = <A, E, R>(
  page: (cursor: string | undefined) => Effect.Effect<Page<A>, E, R>
): Stream.Stream<A, E, R> =>
  Stream.paginateChunkEffect(undefined as string | undefined, (cursor) =>
    Effect.map(page(cursor), ({ items, nextCursor }) => [
      Chunk.fromIterable(items),
      Option.map(Option.fromNullable(nextCursor), (next): string | undefined => next)
    ])
  )
