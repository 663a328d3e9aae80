import { Ajv2020 } from "ajv/dist/2020.js"
import { FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { Draft, draft } from "../../src/catalogue/Draft.ts"

const ajv = new Ajv2020({ strict: true, validateSchema: false, ownProperties: true })
const judge = (schema: unknown) => ajv.compile(schema as object)

/** As `JSON.parse` gives them: with 1e999, `__proto__` and names that no text of ours may have. */
const payload = fc
  .letrec<{ value: string }>((tie) => {
    const name = fc.oneof(
      fc.constantFrom("id", "a", "b", "__proto__", "constructor", "a/b", "\0", "\ud800", "", "required"),
      fc.string({ unit: "binary", maxLength: 6 })
    )
    return {
      value: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constantFrom("null", "true", "1", "-0", "1.5", "1e999", "1e300", '""', '"x"', "[]", "{}"),
        fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
        fc
          .array(fc.tuple(name, tie("value")), { maxLength: 4 })
          .map((all) => `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`)
      )
    }
  })
  .value.map((text) => JSON.parse(text) as unknown)

describe("draft of a schema", () => {
  it("makes a schema that a strict judge takes, and that every payload fits", () => {
    fc.assert(
      fc.property(fc.array(payload, { minLength: 1, maxLength: 6 }), (payloads) => {
        const fits = judge(draft(payloads))
        for (const one of payloads) expect(fits(one), JSON.stringify(fits.errors)).toBe(true)
      }),
      { numRuns: 150 }
    )
  })

  it("says of each member its types, and requires those that were always there", () => {
    const payloads = [
      { id: 1, amount: 1, note: null, lines: [{ sku: "a" }], who: "me" },
      { id: 2, amount: 1.5, note: "x", lines: [{ sku: "b", count: 2 }], who: { name: "me" } }
    ]
    expect(draft(payloads)).toEqual({
      type: "object",
      properties: {
        id: { type: "integer" },
        amount: { type: "number" },
        note: { type: ["string", "null"] },
        lines: {
          type: "array",
          items: {
            type: "object",
            properties: { sku: { type: "string" }, count: { type: "integer" } },
            required: ["sku"]
          }
        },
        who: {
          anyOf: [
            { type: "string" },
            { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
          ]
        }
      },
      required: ["id", "amount", "note", "lines", "who"]
    })
  })

  it("takes an object with ids for names as one without members", () => {
    const byId = (from: number) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`id_${from + index}`, 1]))
    expect(
      draft([
        { total: 1, ...byId(0) },
        { total: 2, ...byId(150) }
      ])
    ).toEqual({
      type: "object",
      properties: { total: { type: "integer" } },
      required: ["total"]
    })
  })

  it("never exceeds what the catalogue takes, whatever the payloads are", () => {
    const wide = (depth: number): unknown =>
      depth === 0
        ? { [`"`.repeat(30)]: 1 }
        : Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${index}\u0001`, wide(depth - 1)]))
    const made = new Draft()
    for (const value of [
      wide(2),
      wide(1),
      "x",
      [wide(2), 1, "x"],
      JSON.parse(`${"[".repeat(90)}${"]".repeat(90)}`)
    ])
      made.add(value)
    const schema = made.schema()
    expect(new TextEncoder().encode(JSON.stringify(schema)).length).toBeLessThan(65_536)
    expect(JSON.stringify(schema).split('"type"').length).toBeLessThan(2_000)
    expect(judge(schema)(wide(2))).toBe(true)
  })
})
