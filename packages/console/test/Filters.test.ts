/** The text of a filter as the console edits it. */
import { describe, expect, it } from "vitest"
import { isSame, problemsOf, seenIn, sentOf, withCondition } from "../src/pages/endpoint/filter/draft.ts"
import { lineOf, rawElements } from "../src/ui/json.ts"

describe("the text of a filter", () => {
  it("§6.3 tells what is wrong, and in which line", () => {
    expect(problemsOf("")).toEqual([])
    expect(problemsOf('{"amount": {"$gte": 1000}}')).toEqual([])
    expect(problemsOf('{"amount": ')[0]).toMatch(/^This is not JSON/)
    expect(problemsOf("[]")).toEqual(["Expected an object of names or of operators"])
    expect(problemsOf('{\n  "a/b": 1,\n  "amount": {\n    "$gte": true\n  }\n}')).toEqual([
      "Line 4, /amount/$gte: Expected a number or a string"
    ])
    expect(lineOf('[\n[1,\n{"a~b":\n2}]]', "/0/1/a~0b")).toBe(4)
    expect(rawElements(" [1.0, [2], {}] ")).toEqual(["1.0", "[2]", "{}"])
  })

  it("§6.3 keeps digits and order, and is the same whatever its white space", () => {
    expect(sentOf(" ")).toBeNull()
    expect(sentOf('{"10": 1.10, "2": 12345678901234567890}')?.text).toBe(
      '{"10":1.10,"2":12345678901234567890}'
    )
    expect(isSame('{"a": 1}', ' { "a" : 1 } ')).toBe(true)
    expect(isSame('{"a": 1}', '{"a": 1.0}')).toBe(false)
  })

  it("§6.3 takes members and values from payloads, and a condition for them", () => {
    const seen = seenIn([
      '{"id":1.0,"lines":[{"sku":"A"},{"sku":"B","n":[1,2]}],"$x":1}',
      '{"id":2,"customer":{"name":null}}',
      '"text"'
    ])
    expect(seen.map(({ steps, values }) => [steps.join("/"), [...values]])).toEqual([
      ["id", ["1.0", "2"]],
      ["lines/sku", ['"A"', '"B"']],
      ["lines/n", ["1", "2"]],
      ["customer/name", ["null"]]
    ])
    const one = withCondition("", ["customer", "name"], '"Zoë"')
    expect(one).toBe('{\n  "customer": {\n    "name": "Zoë"\n  }\n}')
    const two = withCondition(one, ["customer", "since"], '{"$gte":1.50}')
    expect(sentOf(withCondition(two, ["customer", "name"], "null"))?.text).toBe(
      '{"customer":{"name":null,"since":{"$gte":1.50}}}'
    )
    expect(sentOf(withCondition('{"a":{"$gt":1},"2":1.0}', ["a", "b"], "1"))?.text).toBe(
      '{"a":{"b":1},"2":1.0}'
    )
  })

  it("§6.3 looks at no more of payloads than can be chosen from", () => {
    const wide = `{${Array.from({ length: 5_000 }, (_, n) => `"m${n}":${n}`).join(",")}}`
    const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`
    const long = `{"n":[${"1,".repeat(400_000)}1]}`
    const began = performance.now()
    expect(seenIn([wide, deep, long]).length).toBeLessThanOrEqual(60)
    expect(performance.now() - began).toBeLessThan(500)
  })
})
