import { Ajv2020 } from "ajv/dist/2020.js"
import { FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { compare } from "../../src/catalogue/Compare.ts"
import type { JsonSchema } from "../../src/catalogue/JsonSchema.ts"

/** Small schemas with every keyword that changes can be told of, and others; two of them are often alike. */
const schema = fc.letrec<{ schema: JsonSchema }>((tie) => {
  const inner = tie("schema")
  const some = (arbitrary: fc.Arbitrary<JsonSchema>) => fc.array(arbitrary, { minLength: 1, maxLength: 2 })
  const name = fc.constantFrom("a", "b", "c")
  const small = fc.nat({ max: 2 })
  const keywords = fc.record(
    {
      type: fc.constantFrom<unknown>(
        "object",
        "array",
        "string",
        "number",
        "integer",
        ["object", "null"],
        "null"
      ),
      properties: fc.dictionary(name, inner, { maxKeys: 2 }),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      additionalProperties: inner,
      patternProperties: fc.constantFrom({}, { "^a": { type: "string" } }),
      items: inner,
      prefixItems: some(inner),
      enum: fc.constantFrom<Array<unknown>>([1, "x"], [1], [{ a: 1 }, null]),
      const: fc.constantFrom<unknown>(1, "x"),
      minimum: small,
      maximum: small,
      minLength: small,
      maxItems: small,
      pattern: fc.constantFrom("^x", "y"),
      uniqueItems: fc.boolean(),
      not: inner,
      if: inner,
      then: inner,
      else: inner,
      contains: inner,
      anyOf: some(inner),
      oneOf: some(inner),
      allOf: some(inner),
      unevaluatedProperties: inner,
      propertyNames: inner,
      dependentRequired: fc.constantFrom({ a: ["b"] }, {}),
      description: fc.constantFrom("x", "y")
    },
    { requiredKeys: [] }
  )
  /** At most two keywords, so that pairs of schemas can be compared at all. */
  const few = fc.tuple(keywords, fc.nat(), fc.nat()).map(([all, one, two]) => {
    const names = Object.keys(all)
    return Object.fromEntries(
      [one, two].flatMap((at) => {
        const key = names[at % Math.max(1, names.length)] as keyof typeof all | undefined
        return key === undefined ? [] : [[key, all[key]]]
      })
    ) as JsonSchema
  })
  return {
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom<JsonSchema>(
        true,
        false,
        {},
        { type: "string" },
        { $ref: "#/$defs/d" },
        { type: "integer" }
      ),
      few
    )
  }
}).schema

const root = fc
  .tuple(schema, fc.constantFrom<JsonSchema>({ type: "string" }, { minimum: 1 }, true))
  .map(([made, d]): JsonSchema => (typeof made === "boolean" ? made : { ...made, $defs: { d } }))

const within = (a: JsonSchema): JsonSchema => ({
  $defs: { d: { type: "integer" } },
  properties: { a: typeof a === "boolean" ? a : { ...a, $defs: {} }, b: true }
})

const payload = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(null, 0, 1, 2, 1.5, "x", "xy", "", true),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 2 })
  )
})).value

const ajv = new Ajv2020({ strict: false, validateSchema: false })
const judge = (schema: JsonSchema) => ajv.compile(schema as object)

describe("comparison of schemas", () => {
  it("finds every change: what is not said to be narrowed still fits, what is not said to be widened did before", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(root, root),
          fc.tuple(root, root).map(([one, two]) => [within(one), within(two)] as const)
        ),
        fc.array(payload, { minLength: 1, maxLength: 8 }),
        ([before, after], payloads) => {
          const changes = new Set(compare(before, after).map(({ change }) => change))
          if (changes.has("added") || changes.has("removed")) return
          const [did, does] = [judge(before), judge(after)]
          for (const one of payloads) {
            if (did(one) && !does(one)) expect([...changes]).toContain("narrowed")
            if (does(one) && !did(one)) expect([...changes]).toContain("widened")
          }
        }
      ),
      { numRuns: 150 }
    )
  })

  it("finds no change between a schema and itself, whatever the order and the words in it", () => {
    fc.assert(
      fc.property(root, (one) => {
        const again = JSON.parse(JSON.stringify(one)) as JsonSchema
        const turned =
          typeof again === "boolean"
            ? again
            : { ...Object.fromEntries(Object.entries(again).reverse()), title: "Words", examples: [1] }
        expect(compare(one, turned)).toEqual([])
      })
    )
  })

  it("names the members that came, went, and take more or less", () => {
    const before: JsonSchema = {
      type: "object",
      properties: {
        id: { type: "integer" },
        note: { type: "string", maxLength: 20 },
        lines: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
        state: { enum: ["open", "paid"] },
        gone: true
      },
      required: ["id"]
    }
    const after: JsonSchema = {
      type: "object",
      properties: {
        id: { type: "number" },
        note: { type: "string", maxLength: 10 },
        lines: {
          type: "array",
          items: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] }
        },
        state: { enum: ["open", "paid", "void"] },
        "a/b": { type: "string" }
      }
    }
    expect(compare(before, after)).toEqual([
      { path: "/id", change: "widened" },
      { path: "/note", change: "narrowed" },
      { path: "/lines/*/sku", change: "narrowed" },
      { path: "/state", change: "widened" },
      { path: "/gone", change: "removed" },
      { path: "/a~1b", change: "added" }
    ])
    const union = { anyOf: [{ type: "integer" }, { type: "string" }] }
    expect(compare({ type: "integer" }, union)).toEqual([{ path: "", change: "widened" }])
    expect(compare(union, { type: "integer", title: "Id" })).toEqual([{ path: "", change: "narrowed" }])
    expect(compare(null, union)).toEqual([{ path: "", change: "narrowed" }])
    expect(compare(null, { type: "object", properties: { id: true } })).toEqual([
      { path: "", change: "narrowed" },
      { path: "/id", change: "added" }
    ])
  })

  it("follows references, in circles too, and ends whatever they multiply", () => {
    const tree = (leaf: JsonSchema): JsonSchema => ({
      $ref: "#node",
      $defs: { node: { $anchor: "node", properties: { value: leaf, next: { $ref: "#/$defs/node" } } } }
    })
    expect(compare(tree({ type: "string" }), tree({ type: "string" }))).toEqual([])
    expect(compare(tree({ type: "string" }), tree({ type: ["string", "null"] }))).toEqual([
      { path: "/value", change: "widened" }
    ])
    const bomb = (leaf: string): JsonSchema => ({
      $ref: "#/$defs/0",
      $defs: Object.fromEntries(
        Array.from({ length: 500 }, (_, index) => [
          index,
          index === 499
            ? { type: leaf }
            : { properties: { a: { $ref: `#/$defs/${index + 1}` }, b: { $ref: `#/$defs/${index + 1}` } } }
        ])
      )
    })
    const changes = compare(bomb("string"), bomb("number"))
    expect(changes.map(({ change }) => change)).toContain("narrowed")
    expect(changes.length).toBeLessThan(20_000)
  })
})
