/** Building blocks of the shapes on the wire. They are plain strings and numbers: the types are what a JSON client sees. */
import { HttpApiSchema } from "@effect/platform"
import type { Id, Noun } from "@posthorn/domain/Ids"
import { type Bounds, clampInteger, DEFAULT_LIMIT, MAX_LIMIT } from "@posthorn/domain/Page"
import { readTime } from "@posthorn/domain/Time"
import { Option, ParseResult, Schema, SchemaAST } from "effect"
import { exampleId, PAYLOAD, TIME } from "./Examples.ts"
import { NullOr } from "./Fields.ts"

/** Annotating a schema again would remove its name. */
const identifierOf = ({ ast }: Schema.Schema.Any) =>
  Option.match(SchemaAST.getIdentifierAnnotation(ast), {
    onNone: () => ({}),
    onSome: (identifier) => ({ identifier })
  })

/** This shape with this status. */
export const withStatus = <A, I>(status: number, schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({ ...identifierOf(schema), ...HttpApiSchema.annotations({ status }) })

/** A part of a request: everything that is wrong with it is reported at once, and unknown members are refused. */
export const strictRequest = <A, I>(schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({
    ...identifierOf(schema),
    parseOptions: { errors: "all", exact: true, onExcessProperty: "error" }
  })

/** Any JSON value. On the way through the service it is a `JsonText`: the exact text. */
export const JsonValue = Schema.Unknown.annotations({
  description: "Any JSON value, carried exactly as it was written.",
  jsonSchema: {},
  examples: [PAYLOAD]
})

/**
 * The typed client puts ids into a path unescaped. An id that could change the path (`../`, `?`) becomes `-`, which is no id.
 */
const inPath = (text: string) => (/^[\w-]+$/.test(text) ? text : "-")

export const Slug = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (slug) => slug,
  encode: inPath
}).annotations({
  description: "The workspace's slug.",
  jsonSchema: {
    type: "string",
    pattern: "^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$",
    description: "The workspace's slug.",
    examples: ["acme"]
  }
})

/** A time from a caller: any RFC 3339 text, decoded to UTC with milliseconds. */
export const Moment = (description: string, example = TIME) =>
  Schema.transformOrFail(Schema.String, Schema.String, {
    strict: true,
    decode: (text, _options, ast) => {
      const time = readTime(text)
      return time === undefined
        ? ParseResult.fail(new ParseResult.Type(ast, text))
        : ParseResult.succeed(time)
    },
    encode: ParseResult.succeed
  }).annotations({
    description,
    message: ({ actual }) => ({
      message:
        "Expected a time such as 2026-11-21T13:00:00Z" +
        (/\d \d\d:?\d\d$/.test(String(actual)) ? "; in a query, + is a space: write %2B" : ""),
      override: true
    }),
    jsonSchema: { type: "string", format: "date-time", description, examples: [example] }
  })

/**
 * Text without NUL and unpaired surrogates, which PostgreSQL cannot store. Not shown in OpenAPI: few languages' patterns can
 * express it.
 */
export const Storable = Schema.String.pipe(Schema.pattern(/^[^\0\p{Cs}]*$/u, { jsonSchema: {} }))

/** Text for people: 1 to `max` characters that can be stored. */
export const Label = (max: number, description: string, example: string) =>
  Storable.pipe(Schema.minLength(1), Schema.maxLength(max)).annotations({
    description,
    examples: [example],
    message: () => `Expected 1 to ${max} characters, all valid Unicode and none NUL`
  })

const PLAIN = /^[\x21-\x7e]{1,64}$/

/** An id in a request. Any text is accepted: a malformed id is decoded to one that nothing has, so it is simply unknown. */
export const IdParam = <N extends Noun>(noun: N, description = `Id of the ${noun}.`) =>
  Schema.transform(Schema.String, Schema.String as Schema.Schema<Id<N>, string>, {
    strict: true,
    decode: (text) => (PLAIN.test(text) ? text : "-"),
    encode: inPath
  }).annotations({
    description,
    jsonSchema: {
      type: "string",
      description,
      examples: [exampleId(noun)]
    }
  })

/**
 * A whole number in a query that is never refused: anything but an integer means the default, and out-of-range values are
 * clamped.
 */
export const Clamped = (description: string, bounds: Bounds) =>
  Schema.transform(Schema.String, Schema.Number, {
    strict: true,
    decode: (text) => clampInteger(text, bounds),
    encode: String
  }).annotations({
    description,
    jsonSchema: {
      type: "integer",
      description,
      minimum: bounds.min,
      maximum: bounds.max,
      default: bounds.otherwise
    }
  })

/** A boolean in a query: `true` or `false`. */
export const FlagText = (description: string) =>
  Schema.transform(Schema.Literal("true", "false"), Schema.Boolean, {
    strict: true,
    decode: (text) => text === "true",
    encode: (flag) => (flag ? ("true" as const) : ("false" as const))
  }).annotations({
    description,
    message: () => ({ message: "Expected true or false", override: true }),
    jsonSchema: { type: "boolean", description }
  })

/** The same, false by default. */
export const Flag = (description: string) =>
  Schema.optionalWith(
    FlagText(description).annotations({ jsonSchema: { type: "boolean", description, default: false } }),
    { default: () => false }
  )

const Limit = Clamped(
  `How many items at most. Anything that is no integer means ${DEFAULT_LIMIT}; out of range is clamped.`,
  { min: 1, max: MAX_LIMIT, otherwise: DEFAULT_LIMIT }
)

/** For the compiler: callers may omit the member, and operations always get it (`WithDefaults`). */
export interface FilledIn {
  readonly "there is no such value": never
}

/** A member with a default, over HTTP and in the typed client. */
export const withDefault = <A, I>(schema: Schema.Schema<A, I>, value: A) =>
  Schema.optionalToOptional(schema, Schema.typeSchema(schema) as Schema.Schema<A | FilledIn, A>, {
    decode: Option.orElseSome(() => value),
    encode: (given) => given as Option.Option<A>
  })

/** A request as its operation gets it: members with a default are always present. */
type WithDefaults<T> = {
  readonly [K in keyof T as K extends Defaulted<T> ? never : K]: T[K]
} & {
  readonly [K in Defaulted<T>]-?: Exclude<T[K], FilledIn | undefined>
}

/** Converts a request to `WithDefaults`. */
export function withDefaults<T>(given: T): WithDefaults<T>
export function withDefaults(given: unknown) {
  return given
}

type Defaulted<T> = {
  [K in keyof T]-?: unknown extends T[K] ? never : FilledIn extends T[K] ? K : never
}[keyof T]

/** The two query members that every list takes. */
export const pageQuery = {
  limit: withDefault(Limit, DEFAULT_LIMIT),
  cursor: Schema.optional(
    Schema.String.annotations({
      description: "The `nextCursor` of the page before; one that does not decode gives an empty page."
    })
  )
}

/** Whether a list shows payloads. Agents, whose context is small, get the other default: `server/mcp/ToolCalls`. */
export const PayloadChoice = Schema.optional(
  Schema.Literal("include", "omit").annotations({
    description:
      "`omit` leaves payloads out of the list: they are then null. REST includes them, a tool omits them when nothing is said.",
    message: () => "Expected include or omit"
  })
)

/** For POSTs that change something: repeating the call returns the first answer and changes nothing. */
export const idempotencyKey = {
  "idempotency-key": Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,255}$/)).annotations({
      description:
        "Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer.",
      examples: ["order-7-endpoint"],
      message: () => "Expected 1 to 255 visible ASCII characters"
    })
  )
}

/** For changes that apply only if the caller has read the present version. */
export const ifMatch = {
  "if-match": Schema.optional(
    Schema.String.annotations({
      description:
        "The `ETag` you have read. When it was changed since, nothing is done and the answer is 412. `*` matches any.",
      examples: ['"tRvJ2mKwQ0eT4nUzXy8sLA"']
    })
  )
}

/** `{ items, nextCursor }`; `nextCursor` is null on the last page. */
export const PageOf = <A, I>(name: string, item: Schema.Schema<A, I>) =>
  Schema.Struct({
    items: Schema.Array(item).annotations({ description: "The page's items." }),
    nextCursor: NullOr(Schema.String, "Opaque; null on the last page.", null)
  }).annotations({ identifier: `${name}Page` })
