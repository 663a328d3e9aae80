/** What is a filter and what is not. Source: spec §6.3. */
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { compile, explained } from "../../src/filter/Compile.ts"
import { parseFilter } from "../../src/filter/Filter.ts"

const issuesOf = (text: string) =>
  Either.match(parseFilter(text), {
    onLeft: (issues) => issues.map(({ message, path }) => `${path} ${message}`),
    onRight: () => []
  })

const within = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
const conditions = (count: number) =>
  `{"a":{"$or":[${Array(10).fill(`{"b":{"$and":[${Array(count / 10).fill('{"$gt":1}')}]}}`)}]}}`

describe("filters", () => {
  it("§6.3 keeps the text as it was put, white space aside", () => {
    const text = ' { "b" : 1.10, "a": "x  y", "n": 12345678901234567890, "b" : [ ] , "b":2 } '
    expect(Either.getOrThrow(parseFilter(text)).text).toBe(
      '{"b":1.10,"a":"x  y","n":12345678901234567890,"b":[],"b":2}'
    )
  })

  it("§6.3 takes what is at its limits", () => {
    for (const text of [
      "{}",
      within(10),
      conditions(100),
      `{"a":"${"é".repeat(2044)}"}`,
      `{"$or":[${Array(20).fill("{}")}]}`,
      `{"a":{"$in":[${Array(100).fill(1)}],"$endsWith":[${Array(100).fill('""')}]}}`,
      '{"a":1e131071,"b":-1E-16383,"c":0.0}',
      '{"a":{"$not":1},"$not":{"$eq":2}}'
    ])
      expect(issuesOf(text), text.slice(0, 80)).toEqual([])
  })

  it("§6.3 names what is wrong at its place", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["[]", ""],
      ["1", ""],
      ["null", ""],
      [within(11), "/a".repeat(10)],
      [conditions(110), "/a/$or/9/b/$and/1/$gt"],
      [`{"a":"${"é".repeat(2045)}"}`, ""],
      ['{"a":[1]}', "/a"],
      ['{"a":{"$in":1}}', "/a/$in"],
      ['{"a":{"$in":[]}}', "/a/$in"],
      [`{"a":{"$nin":[${Array(101).fill(1)}]}}`, "/a/$nin"],
      ['{"a":{"$in":[{}]}}', "/a/$in/0"],
      ['{"a":{"$eq":[1]}}', "/a/$eq"],
      ['{"a":{"$gt":true}}', "/a/$gt"],
      ['{"a":{"$startsWith":["x",1]}}', "/a/$startsWith/1"],
      ['{"a":{"$exist":1}}', "/a/$exist"],
      ['{"a":{"$regex":"x"}}', "/a/$regex"],
      ['{"$ref":1}', "/$ref"],
      ['{"__proto__":{"$toString":1}}', "/__proto__/$toString"],
      ['{"a":1,"$gt":1}', "/$gt"],
      ['{"a":1,"$not":5}', "/$not"],
      ['{"$and":{}}', "/$and"],
      ['{"$or":[]}', "/$or"],
      [`{"$or":[${Array(21).fill("{}")}]}`, "/$or"],
      ['{"$or":[1]}', "/$or/0"],
      ['{"a/b~":{"$eq":"\\ud800"}}', "/a~1b~0/$eq"],
      ['{"\\u0000":1}', "/\0"],
      ['{"a":1e131073}', "/a"],
      ['{"a":1e-16384}', "/a"]
    ]
    for (const [text, path] of cases) {
      const issues = issuesOf(text)
      expect([issues.length, issues[0]?.split(" ")[0]], text.slice(0, 80)).toEqual([1, path])
    }
  })

  it("§6.3 explains by the conditions of which all must hold, in the filter's order", () => {
    const filter = Either.getOrThrow(
      parseFilter('{"a":{"b":1.10,"$or":[{"c":2}]},"$and":[{"d":{"$gt":3,"$lt":4}}],"e":{}}')
    )
    expect(explained(filter).conditions.map(({ condition, path }) => `${path} ${condition.text}`)).toEqual([
      "/a/b 1.10",
      '/a {"$or":[{"c":2}]}',
      '/d {"$gt":3}',
      '/d {"$lt":4}',
      "/e {}"
    ])
    expect(compile(filter).length).toBeLessThan(1000)
  })
})
