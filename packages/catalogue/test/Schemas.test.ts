/** What a schema may be, what its issues say, and how patterns are read. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { compileSchema, STEPS } from "../src/Schemas.ts"

const compiled = (schema: unknown) =>
  compileSchema(typeof schema === "string" ? schema : JSON.stringify(schema))

const refusal = (schema: unknown) => Effect.map(Effect.flip(compiled(schema)), ({ issues }) => issues)

const issuesOf = (schema: unknown, payload: unknown) =>
  Effect.map(compiled(schema), (judge) => judge.issuesOf(payload, { left: STEPS }))

describe("a schema", () => {
  it.effect("§6.2 with what would not be judged as it reads is refused, each fault at its path", () =>
    Effect.gen(function* () {
      const faulty = {
        $schema: "http://json-schema.org/draft-07/schema#",
        properties: {
          a: { minimun: 1, $dynamicRef: "#x" },
          b: { $ref: "https://example.com/b" },
          "c/d": { pattern: "(?=a)b" }
        }
      }
      expect((yield* refusal(faulty)).map(({ path }) => path)).toEqual([
        "/$schema",
        "/properties/a/minimun",
        "/properties/a/$dynamicRef",
        "/properties/c~1d/pattern",
        "/properties/b/$ref"
      ])
      for (const wrong of [3, null, [], { type: "text" }, { required: "a" }, { allOf: [] }])
        expect((yield* refusal(wrong)).length, JSON.stringify(wrong)).toBe(1)
    })
  )

  it.effect(
    "§6.2 has at most 65,536 bytes, 2,000 subschemas, 200 in a list, and refers to itself only within",
    () =>
      Effect.gen(function* () {
        const members = (count: number) => ({
          properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, true]))
        })
        yield* compiled(members(1_999))
        expect((yield* refusal(members(2_000)))[0]!.message).toContain("2000 subschemas")
        expect((yield* refusal({ description: "x".repeat(65_536) }))[0]!.message).toContain("65536 bytes")
        yield* compiled({ anyOf: Array(200).fill({ type: "string" }) })
        expect((yield* refusal({ anyOf: Array(201).fill({ type: "string" }) }))[0]!.path).toBe("/anyOf")
        yield* compiled({ properties: { a: { $ref: "#" } } })
        expect((yield* refusal({ $ref: "#" }))[0]!.message).toContain("for ever")
      })
  )

  it.effect("§6.2 is judged the same in groups of members as whole", () =>
    Effect.gen(function* () {
      const properties = Object.fromEntries(
        Array.from({ length: 250 }, (_, index) => [`m${index}`, { type: "integer" }])
      )
      const schema = { properties, additionalProperties: false, required: ["m3"] }
      expect(yield* issuesOf(schema, { m3: 1, m249: 2 })).toEqual([])
      expect(yield* issuesOf({ properties, unevaluatedProperties: false }, { m3: 1, m249: 2 })).toEqual([])
      expect((yield* issuesOf(schema, { m120: "x", other: 1 })).map(({ path }) => path).sort()).toEqual([
        "/m120",
        "/m3",
        "/other"
      ])
    })
  )
})

it.effect(
  "§6.2 issues have paths within the payload, a missing or unknown member its own, and at most 20",
  () =>
    Effect.gen(function* () {
      const schema = {
        type: "object",
        required: ["id"],
        additionalProperties: false,
        properties: { "a/b": { items: { type: "string" } }, id: {}, n: { multipleOf: 0.01 } }
      }
      expect(yield* issuesOf(schema, { "a/b": ["x", 1], more: 1, n: 0.015 })).toEqual([
        { path: "/id", message: "is missing" },
        { path: "/more", message: "is not known to the schema" },
        { path: "/a~1b/1", message: "must be string" },
        { path: "/n", message: "must be multiple of 0.01" }
      ])
      expect(yield* issuesOf(schema, { id: 1, "a/b": Array(100).fill(1) })).toHaveLength(20)
      expect(yield* issuesOf({ format: "email", type: "string" }, "no address")).toEqual([])
    })
)

it.effect("§6.2 patterns mean what ECMA-262 says, or are refused", () =>
  Effect.gen(function* () {
    const texts = [
      "",
      "a",
      "\u00a0",
      "\ufeff",
      "\u2028",
      "\n",
      "A1_",
      "é",
      "😀",
      "[",
      "]",
      "-",
      "x-y",
      "\t",
      "aXb",
      "a b",
      "\b"
    ]
    const patterns = [
      ".",
      "^.$",
      "\\s",
      "\\S",
      "[\\s]",
      "^\\w+$",
      "\\d",
      "\\u00e9",
      "\\u{1F600}",
      "\\uD83D\\uDE00",
      "[[]",
      "[\\]a]",
      "[a\\-z]",
      "\\x41",
      "\\cI",
      "\\t",
      "a|b$",
      "(?<n>a)X",
      "(?:a){1,2}",
      "a{2}",
      "a{0,}",
      "[^a]",
      "^$",
      "\\ba",
      "[\\b]",
      "\\p{L}",
      "\\P{Lu}",
      "\\.",
      "\\/"
    ]
    for (const pattern of patterns) {
      const judge = yield* compiled({ pattern })
      const native = new RegExp(pattern, "u")
      for (const text of texts)
        expect([pattern, text, judge.issuesOf(text, { left: STEPS }).length === 0]).toEqual([
          pattern,
          text,
          native.test(text)
        ])
    }
    const refused = [
      "(a)\\1",
      "(?=a)",
      "(?<!a)",
      "(?i)a",
      "[[:alpha:]]",
      "\\A",
      "a**",
      "[^]",
      "[]",
      "(a{30}){40}",
      "\\p{Letter}",
      "["
    ]
    for (const pattern of refused) expect((yield* refusal({ pattern }))[0]!.path, pattern).toBe("/pattern")
  })
)
