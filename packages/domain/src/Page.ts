/**
 * Pages: how many items, and from where.
 *
 * A limit is never wrong: no integer means 50, and it is clamped into [1, 200]. A cursor is an opaque base64 position
 * (sort key and id of the last item); one that does not decode gives an empty page, never an error. It binds to
 * nothing secret and grants nothing: it only moves the caller along rows that are the caller's own. Source: spec §8.
 */
import { Either, Option, Schema } from "effect"

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200

export interface Bounds {
  readonly min: number
  readonly max: number
  readonly otherwise: number
}

/** A whole number as it came in the query string or from an agent; what is no integer is `otherwise`. */
export const clampInteger = (raw: string, { max, min, otherwise }: Bounds): number => {
  const text = raw.trim()
  return /^[+-]?\d+$/.test(text) ? Math.min(max, Math.max(min, Number(text))) : otherwise
}

export const clampLimit = (raw: string | undefined): number =>
  clampInteger(raw ?? "", { min: 1, max: MAX_LIMIT, otherwise: DEFAULT_LIMIT })

/** A position in a list forward on id, or newest first on (createdAt, id), by event type, or by ordinal. */
export const IdPosition = Schema.Struct({ id: Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,64}$/)) })
export const TimePosition = Schema.Struct({
  at: Schema.String.pipe(
    Schema.pattern(
      /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
    )
  ),
  id: Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,64}$/))
})
export type TimePosition = typeof TimePosition.Type
export const TypePosition = Schema.Struct({
  type: Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,128}$/))
})
export const OrdinalPosition = Schema.Struct({ ordinal: Schema.Int.pipe(Schema.between(0, 32_767)) })

const CURSOR_LIMIT = 512
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

export const encodeCursor = (position: object): string => btoa(JSON.stringify(position))

/**
 * `none` when there is no cursor (start from the beginning), `some(position)` when it decodes; left when it does not,
 * which the caller answers with an empty page.
 */
export const decodeCursor = <A, I>(
  schema: Schema.Schema<A, I>,
  cursor: string | undefined
): Either.Either<Option.Option<A>, "undecodable"> => {
  if (cursor === undefined) return Either.right(Option.none())
  if (cursor.length > CURSOR_LIMIT || !BASE64.test(cursor)) return Either.left("undecodable")
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })
  return Either.try(() => JSON.parse(atob(cursor.replace(/-/g, "+").replace(/_/g, "/")))).pipe(
    Either.flatMap(decode),
    Either.filterOrLeft(isRealDay, () => "undecodable" as const),
    Either.mapBoth({ onLeft: () => "undecodable" as const, onRight: Option.some })
  )
}

/** 30 February has the shape of a day and is none; PostgreSQL would refuse it. */
const isRealDay = (position: unknown) => {
  const at = (position as { readonly at?: string }).at
  return at === undefined || new Date(at).toISOString() === at
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

export const emptyPage: Page<never> = { items: [], nextCursor: null }

/** Turn limit + 1 rows into a page of at most limit. */
export const pageOf = <A>(rows: ReadonlyArray<A>, limit: number, position: (last: A) => object): Page<A> => {
  if (rows.length <= limit) return { items: rows, nextCursor: null }
  const items = rows.slice(0, limit)
  return { items, nextCursor: encodeCursor(position(items[limit - 1]!)) }
}
