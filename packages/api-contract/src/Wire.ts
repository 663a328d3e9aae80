/** Pieces that many shapes on the wire are made of. Plain strings and numbers: what a JSON client sees is what is typed. */
import { clampLimit, DEFAULT_LIMIT, MAX_LIMIT } from "@posthorn/domain/Page"
import { Schema } from "effect"

/** RFC 3339, UTC, milliseconds. */
export const Timestamp = Schema.String.annotations({
  description: "RFC 3339 in UTC with milliseconds.",
  jsonSchema: { type: "string", format: "date-time" },
  examples: ["2026-11-21T13:00:00.000Z"]
})

export const NullOr = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.NullOr(schema)

/** A whole number without the component name that `Schema.Int` would leak into OpenAPI. */
export const Integer = (description: string) =>
  Schema.Number.annotations({ description, jsonSchema: { type: "integer" } })

/** Any JSON value. On the way through the service it is a `JsonText`: the exact text. */
export const JsonValue = Schema.Unknown.annotations({
  description: "Any JSON value, carried exactly as it was written.",
  jsonSchema: {}
})

export const Slug = Schema.String.annotations({
  description: "The workspace's slug.",
  examples: ["acme"],
  jsonSchema: { type: "string", pattern: "^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$" }
})

/** An id in a path. Any text is taken: a malformed id is an unknown id. */
export const IdParam = (noun: string, prefix: string) =>
  Schema.String.annotations({ description: `Id of the ${noun}.`, examples: [`${prefix}64401b2c93f5e0b7d1c4a98e62f03`] })

const Limit = Schema.transform(Schema.String, Schema.Number, {
  strict: true,
  decode: clampLimit,
  encode: String
}).annotations({
  description: `How many items at most. Anything that is no integer means ${DEFAULT_LIMIT}; out of range is clamped.`,
  jsonSchema: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }
})

/** The two query members that every list takes. */
export const pageQuery = {
  limit: Schema.optionalWith(Limit, { default: () => DEFAULT_LIMIT }),
  cursor: Schema.optional(
    Schema.String.annotations({ description: "The `nextCursor` of the page before; one that does not decode gives an empty page." })
  )
}

/** `{ items, nextCursor }`; `nextCursor` is null on the last page. */
export const PageOf = <A, I>(name: string, item: Schema.Schema<A, I>) =>
  Schema.Struct({
    items: Schema.Array(item),
    nextCursor: Schema.NullOr(Schema.String).annotations({ description: "Opaque; null on the last page." })
  }).annotations({ identifier: `${name}Page` })
