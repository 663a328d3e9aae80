/** What is called good as it stands, the schema library takes, and makes nothing else of it. */
import { entries } from "@posthorn/api-contract/Walk"
import { Arbitrary, Either, FastCheck as fc, Option, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { asItStands } from "../src/AsItStands.ts"

const parts = entries.flatMap(({ bodySchema, headersSchema, name, pathSchema, querySchema }) =>
  [
    { part: "path", others: "ignored", schema: pathSchema },
    { part: "query", others: "refused", schema: querySchema },
    { part: "headers", others: "ignored", schema: headersSchema },
    { part: "body", others: "refused", schema: bodySchema }
  ].flatMap(({ others, part, schema }) =>
    Option.isNone(schema)
      ? []
      : [
          {
            what: `${name} ${part}`,
            others: others as "ignored" | "refused",
            schema: schema.value as Schema.Schema<unknown>
          }
        ]
  )
)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Good, and then perhaps with a member that is missing, of another kind, or nobody's. */
const inputs = (schema: Schema.Schema<unknown>) => {
  const good = fc.oneof(
    Arbitrary.make(Schema.typeSchema(schema)),
    Arbitrary.make(Schema.encodedSchema(schema))
  )
  const odd = fc.oneof(fc.constantFrom(undefined, null, "", "a.b", 0, -1, true, [], {}), fc.string())
  const changed = fc.tuple(good, fc.nat(), odd).map(([value, n, other]) => {
    if (!isRecord(value)) return other
    const names = [...Object.keys(value), "nobodys", "__proto__"]
    const name = names[n % names.length]!
    const { [name]: _, ...rest } = value
    return n % 2 === 0 ? rest : Object.fromEntries([...Object.entries(rest), [name, other]])
  })
  return fc.oneof(good, changed)
}

describe("input that is good as it stands", () => {
  it("§4 is nothing of which a choice would make something else before it comes to what takes it as it is", () => {
    const isGood = asItStands(Schema.Union(Schema.NumberFromString, Schema.String).ast)

    expect(isGood).toBeUndefined()
  })

  it("§4 is what the contract's schemas take, and give again", () => {
    let taken = 0
    for (const { others, schema, what } of parts) {
      const isGood = asItStands(schema.ast, others)
      if (isGood === undefined) continue
      const decode = Schema.decodeUnknownEither(schema, {
        onExcessProperty: others === "refused" ? "error" : "ignore",
        exact: true
      })
      fc.assert(
        fc.property(inputs(schema), (input) => {
          if (!isGood(input)) return
          taken++
          const decoded = decode(input)
          expect(Either.isRight(decoded), what).toBe(true)
          expect(input, what).toEqual(
            others === "refused"
              ? Either.getOrThrow(decoded)
              : expect.objectContaining(Either.getOrThrow(decoded) as object)
          )
        }),
        { numRuns: 60 }
      )
    }
    expect(taken).toBeGreaterThan(parts.length)
  })

  it("§6 a single publish is judged without the library", () => {
    const good: Readonly<Record<string, unknown>> = {
      "publishEvent path": { slug: "acme" },
      "publishEvent headers": { host: "example.com", "idempotency-key": "one" },
      "publishEvent body": { eventType: "invoice.paid", payload: { total: 1 }, idempotencyKey: "one" }
    }
    const judged = parts
      .filter(({ what }) => what in good)
      .map(({ others, schema, what }) => [what, asItStands(schema.ast, others)?.(good[what])])

    expect(Object.fromEntries(judged)).toEqual(
      Object.fromEntries(Object.keys(good).map((what) => [what, true]))
    )
  })
})
