/**
 * Pages: how many items, and from where.
 *
 * A limit is never refused: anything but an integer means 50, and integers are clamped to [1, 200]. A cursor is an opaque
 * base64 position (sort key and id of the last item); one that does not decode gives an empty page, never an error. It contains
 * no secret and grants nothing: it only moves the caller along the caller's own rows. Source: spec §8.
 */
import { Option, ParseResult, Schema } from "effect"

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200

export interface Bounds {
  readonly min: number
  readonly max: number
  readonly otherwise: number
}

/** A whole number from a query string or an agent; anything but an integer is `otherwise`. */
export const clampInteger = (raw: string, { max, min, otherwise }: Bounds): number => {
  const text = raw.trim()
  return /^[+-]?\d+$/.test(text) ? Math.min(max, Math.max(min, Number(text))) : otherwise
}

export const clampLimit = (raw: string | undefined): number =>
  clampInteger(raw ?? "", { min: 1, max: MAX_LIMIT, otherwise: DEFAULT_LIMIT })

const ID = Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,64}$/))

/** 30 February has the form of a date but is none; PostgreSQL would refuse it. */
const Moment = Schema.String.pipe(
  Schema.pattern(
    /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/
  ),
  Schema.filter((at) => new Date(at).toISOString() === at)
)

/** A position in a list that is newest first by (createdAt, id). */
export const TimePosition = Schema.Struct({ at: Moment, id: ID })
export type TimePosition = typeof TimePosition.Type

const CURSOR_LIMIT = 512

/** Base64 of either alphabet, from ASCII. */
const Base64 = Schema.transformOrFail(
  Schema.String.pipe(Schema.maxLength(CURSOR_LIMIT), Schema.pattern(/^[A-Za-z0-9+/_-]+={0,2}$/)),
  Schema.String,
  {
    strict: true,
    decode: (text, _options, ast) =>
      ParseResult.try({
        try: () => atob(text.replace(/-/g, "+").replace(/_/g, "/")),
        catch: () => new ParseResult.Type(ast, text)
      }),
    encode: (text) => ParseResult.succeed(btoa(text))
  }
)

/** The order of a list: the position of a row, and how cursors encode it. */
export interface Order<in A, P> {
  readonly cursor: Schema.Schema<P, string>
  readonly positionOf: (row: A) => P
}

const order = <A, P>(position: Schema.Schema<P>, positionOf: (row: A) => P): Order<A, P> => ({
  cursor: Schema.compose(
    Base64,
    Schema.parseJson(position.annotations({ parseOptions: { onExcessProperty: "error" } }))
  ),
  positionOf
})

/** Newest first by (createdAt, id). */
export const byTime = order(
  TimePosition,
  ({ createdAt, id }: { readonly createdAt: string; readonly id: string }) => ({ at: createdAt, id })
)

/** By id, ascending or newest first. */
export const byId = order(Schema.Struct({ id: ID }), ({ id }: { readonly id: string }) => ({ id }))

/** Facts about endpoints, by the endpoint's id. */
export const byEndpoint = order(
  Schema.Struct({ id: ID }),
  ({ endpointId }: { readonly endpointId: string }) => ({ id: endpointId })
)

/** Most waiting deliveries first, then by id. */
export const byWaiting = order(
  Schema.Struct({ waiting: Schema.NonNegativeInt, id: ID }),
  ({ id, waiting }: { readonly waiting: number; readonly id: string }) => ({ waiting, id })
)

/** Event types by name. */
export const byType = order(
  Schema.Struct({ type: Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{1,128}$/)) }),
  ({ eventType }: { readonly eventType: string }) => ({ type: eventType })
)

/** The attempts of a delivery. */
export const byOrdinal = order(
  Schema.Struct({ ordinal: Schema.Int.pipe(Schema.between(0, 32_767)) }),
  ({ ordinal }: { readonly ordinal: number }) => ({ ordinal })
)

/**
 * The cursor after this position. It equals what the order's schema would encode, which takes 20 us longer; the members come
 * from a row, so they need no checks. `order` only fixes the type.
 */
export const cursorAt = <P>(_order: Order<never, P>, position: P): string => btoa(JSON.stringify(position))

/**
 * The position that a cursor means. The inner `none` means the beginning: there is no cursor. The outer `none` means that the
 * cursor does not decode, which the caller answers with an empty page.
 */
export const positionIn = <P>(
  { cursor }: Order<never, P>,
  text: string | undefined
): Option.Option<Option.Option<P>> =>
  text === undefined || text === ""
    ? Option.some(Option.none())
    : Option.map(Schema.decodeOption(cursor)(text), Option.some)

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

export const emptyPage: Page<never> = { items: [], nextCursor: null }

/** Turn limit + 1 rows into a page of at most limit. */
export const pageOf = <A, P>(order: Order<A, P>, rows: ReadonlyArray<A>, limit: number): Page<A> => {
  if (rows.length <= limit) return { items: rows, nextCursor: null }
  const items = rows.slice(0, limit)
  return { items, nextCursor: cursorAt(order, order.positionOf(items[limit - 1]!)) }
}
