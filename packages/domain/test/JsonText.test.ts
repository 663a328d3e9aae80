import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import {
  compact,
  type JsonProblem,
  JsonText,
  MAX_DEPTH,
  MAX_RAW_DEPTH,
  MAX_VALUES,
  parseJson,
  rawProblem,
  stringify
} from "../src/JsonText.ts"

type Paths = ReadonlyArray<ReadonlyArray<string>>

const parse = (text: string, raw: Paths): unknown =>
  Either.getOrThrowWith(parseJson(text, raw), ({ message }) => message)
const problem = (text: string, raw: Paths): JsonProblem =>
  Either.getOrThrow(Either.flip(parseJson(text, raw)))
/** The raw text at `payload`. */
const payloadOf = (text: string): unknown =>
  (parse(text, [["payload"]]) as { readonly payload: unknown }).payload
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth)

/** Spellings that parsing and writing would change. */
const scalars = [
  ..."1.0 1e3 1E+3 -0 -0.0 9007199254740993 123456789012345678901234567890 0.1 1e400 true null".split(" "),
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\uDBFF\\u0041"',
  '"\\/"',
  '"é\u2028"',
  '"{\\"a\\":[1,}]"',
  '"\\\\"',
  '"\\\\\\""',
  '"]"'
]

/** Random valid JSON text, with random white space between all tokens. */
const jsonText = (() => {
  const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
  const leaf = fc.oneof(
    fc.constantFrom(...scalars),
    fc.string({ unit: "binary" }).map((one) => JSON.stringify(one)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one))
  )
  const name = fc.oneof(
    fc.constantFrom('"payload"', '"10"', '"9"', '"__proto__"', '"a\\"}"'),
    fc.string().map((one) => JSON.stringify(one))
  )
  return fc.letrec<{ value: string; member: string }>((tie) => {
    const list = (item: fc.Arbitrary<string>, open: string, close: string) =>
      fc
        .tuple(fc.array(item, { maxLength: 4 }), space)
        .map(([items, gap]) => open + (items.join(",") || gap) + close)
    const around = (value: fc.Arbitrary<string>) =>
      fc.tuple(space, value, space).map((parts) => parts.join(""))
    return {
      member: fc.tuple(around(name), around(tie("value"))).map((parts) => parts.join(":")),
      value: fc.oneof(
        { depthSize: "small" },
        leaf,
        list(around(tie("value")), "[", "]"),
        list(tie("member"), "{", "}")
      )
    }
  }).value
})()

describe("§2.7 parseJson cuts out the text of a value", () => {
  it.each(scalars)("keeps %s as written", (scalar) => {
    for (const written of [
      scalar,
      `[${scalar}]`,
      `{"b":${scalar},"a":${scalar},"10":1,"9":2}`,
      `[ ${scalar} ,1]`
    ]) {
      for (const around of [`{"payload":${written}}`, `{"a":1,"payload" :\n ${written}\t,"z":[]}`]) {
        expect(payloadOf(around)).toEqual(new JsonText(written))
      }
    }
  })

  it("keeps the text of any value, and gives everything else as JSON.parse does", () => {
    fc.assert(
      fc.property(jsonText, jsonText, (value, beside) => {
        const text = ` {"a":${beside}, "events":[{"payload": ${value} },${beside}],"payload":\n${value} , "z" : ${beside}} `

        const parsed = parse(text, [["payload"], ["events", "*", "payload"]])

        const expected = JSON.parse(text)
        expected.payload = new JsonText(value)
        expected.events[0].payload = new JsonText(value)
        const second = expected.events[1]
        if (isObject(second) && Object.hasOwn(second, "payload")) {
          const slice = (parsed as typeof expected).events[1].payload
          expect(JSON.parse(slice.text)).toStrictEqual(second.payload)
          second.payload = slice
        }
        expect(parsed).toStrictEqual(expected)
      }),
      { numRuns: 1_000 }
    )
  })

  it("finds members and elements on the path, and skips missing ones", () => {
    const raw = [["payload"], ["events", "*", "payload"], ["params", "arguments", "payload"], ["x", "*"]]
    const text =
      '{"events":[{"payload":1.0},{},[],{"payload":[]}],"params":{"arguments":{"payload":-0},"payload":1.0},"x":[1e3,{}]}'

    expect(parse(text, raw)).toEqual({
      events: [{ payload: new JsonText("1.0") }, {}, [], { payload: new JsonText("[]") }],
      params: { arguments: { payload: new JsonText("-0") }, payload: 1 },
      x: [new JsonText("1e3"), new JsonText("{}")]
    })
    for (const other of [
      "1",
      "[]",
      "{}",
      '"payload"',
      '{"events":{"payload":1},"params":[]}',
      '{"*":{"payload":1}}'
    ]) {
      expect(parse(other, [...raw, ["*", "payload"]])).toEqual(JSON.parse(other))
    }
    expect(parse(" [1.0] ", [[]])).toEqual(new JsonText("[1.0]"))
  })

  it("takes the last of repeated members, as JSON.parse does, however the name is written", () => {
    expect(payloadOf('{"payload":1.0,"pay\\u006coad":2.0}')).toEqual(new JsonText("2.0"))
    expect(payloadOf('{"pay\\u006coad":{"payload":1},"payload":3.0}')).toEqual(new JsonText("3.0"))
    expect(parse('{"a":{"payload":1.0},"a":{"b":1}}', [["a", "payload"]])).toEqual({ a: { b: 1 } })
    expect(parse('{"a":{"payload":1.0},"a":7}', [["a", "payload"]])).toEqual({ a: 7 })
    expect(parse('{"a":7,"a":{"payload":1.0}}', [["a", "payload"]])).toEqual({
      a: { payload: new JsonText("1.0") }
    })
  })

  it("treats a member named __proto__ like any other", () => {
    const parsed = parse('{"__proto__":{"payload":1.0}}', [["__proto__", "payload"], ["__proto__"]])

    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(parsed, "__proto__")?.value).toEqual(
      new JsonText('{"payload":1.0}')
    )
  })
})

describe("§2.7 depth", () => {
  it("allows 100 levels inside a payload, wherever it is, and not 101", () => {
    for (const deepest of [nested(100), `${'{"a":'.repeat(100)}1${"}".repeat(100)}`, `[${nested(99)},1]`]) {
      expect(payloadOf(`{"payload":${deepest}}`)).toEqual(new JsonText(deepest))
      expect(problem(`{"payload":[${deepest}]}`, [["payload"]])).toEqual({
        reason: "too_deep",
        message: `Nested deeper than ${MAX_RAW_DEPTH} levels.`,
        path: "/payload"
      })
    }
    expect(problem(`{"events":[{},{"payload":${nested(101)}}]}`, [["events", "*", "payload"]]).path).toBe(
      "/events/1/payload"
    )
  })

  it("does not count brackets in strings, nor closed ones", () => {
    const flat = `["${"[".repeat(500)}\\"${"{".repeat(500)}",${"[],".repeat(500)}[]]`

    expect(payloadOf(`{"payload":${flat}}`)).toEqual(new JsonText(flat))
    expect(parse(flat, [])).toEqual(JSON.parse(flat))
  })

  it("allows 128 levels elsewhere, and not 129", () => {
    expect(parse(nested(MAX_DEPTH), [])).toEqual(JSON.parse(nested(MAX_DEPTH)))
    expect(parse(`{"a":${nested(127)}}`, [["payload"]])).toEqual(JSON.parse(`{"a":${nested(127)}}`))
    for (const text of [nested(129), `{"a":${nested(128)}}`, `{"payload":1,"a":{"b":${nested(127)}}}`]) {
      expect(problem(text, [["payload"]])).toMatchObject({ reason: "too_deep", path: "" })
    }
  })

  it("allows 10,000 values beside payloads, and any number in them", () => {
    const list = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(",")}]`
    const tooMany = {
      reason: "too_many",
      message: "Holds more than 10,000 values: send fewer at once.",
      path: ""
    }

    for (const item of ["0", "{}", "[]", '""']) {
      expect(parse(list(MAX_VALUES - 1, item), [])).toHaveLength(MAX_VALUES - 1)
      expect(problem(list(MAX_VALUES, item), [])).toEqual(tooMany)
    }
    expect(problem(`{"events":${list(MAX_VALUES, "{}")}}`, [["events", "*", "payload"]])).toEqual(tooMany)
    expect(payloadOf(`{"payload":${list(3 * MAX_VALUES, "{}")}}`)).toBeInstanceOf(JsonText)
    const events = `{"events":${list(1_000, '{"eventType":"a","idempotencyKey":"b","payload":[1,2]}')}}`
    expect(parse(events, [["events", "*", "payload"]])).toHaveProperty("events.999.payload")
  })

  it.each([".5", "e5", "5", "x", '"', "{}", "]", "-1"])(
    "does not accept a raw value followed by %s",
    (tail) => {
      for (const value of ['"a"', "{}", "[1]", "0"]) {
        const text = `{"payload":${value}${tail}}`
        const parsed = Either.map(parseJson(text, [["payload"]], { rawUnparsed: true }), (body) =>
          rawProblem(body, [["payload"]])
        )
        const isJson = Either.isRight(Either.try(() => JSON.parse(text) as unknown))
        expect(Either.isRight(parsed) && parsed.right === undefined, text).toBe(isJson)
      }
    }
  )

  it("leaves raw values unparsed for the caller, and says where the rest is wrong", () => {
    const parsed = parseJson('{"a":{"b":}, "c":1}', [["a"]], { rawUnparsed: true })

    expect(Either.getOrThrow(parsed)).toEqual({ a: new JsonText('{"b":}'), c: 1 })
    const broken = parseJson('{"a":{"b":2}, c}', [["a"]], { rawUnparsed: true })
    expect(Either.getOrThrow(Either.flip(broken))).toMatchObject({
      reason: "syntax",
      message: "This is not valid JSON: look at character 15."
    })
  })

  it("survives a million brackets, closed or not", () => {
    for (const text of [
      "[".repeat(1e6),
      nested(1e6),
      `{"payload":${nested(1e6)}}`,
      '{"a":'.repeat(1e6),
      "]".repeat(1e6)
    ]) {
      expect(["too_deep", "syntax"]).toContain(problem(text, [["payload"]]).reason)
    }
  })
})

describe("§2.7 what is not JSON", () => {
  it.each([
    "",
    " ",
    '"\n"',
    "\ufeff{}",
    ...`{ [1,] {"payload":1.} {"payload"} {'a':1} 01 nul {"a":1}x NaN`.split(" ")
  ])("%j is a syntax problem", (text) => {
    expect(problem(text, [["payload"]])).toMatchObject({ reason: "syntax", path: "" })
  })

  it("is reported without repeating any of it, with the position when the engine gives one", () => {
    expect(problem('{"secret" 1}', []).message).toBe("This is not valid JSON: look at character 11.")
    for (const text of ["sesame", '{"sesame":sesame}', '"sesame', '{"a":"sesame"} at position 7']) {
      expect(problem(text, []).message).toMatch(/^This is not valid JSON(: look at character \d+)?\.$/)
    }
  })

  it("any text is either parsed as by JSON.parse or a syntax problem", () => {
    const raw = [["payload"], ["a", "*", "payload"], ["*"]]
    const near = fc.stringMatching(/^[[\]{},:"\\ a1]{0,30}$/)
    const broken = fc.tuple(jsonText, fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, put]) => {
      const place = at % (text.length + 1)
      return `{"payload":${text.slice(0, place)}${put}${text.slice(place + 1)}}`
    })
    fc.assert(
      fc.property(
        fc.oneof(
          near,
          broken,
          near.map((text) => `{"payload":${text}`)
        ),
        (text) => {
          const expected = Either.try((): unknown => JSON.parse(text))

          const parsed = parseJson(text, raw)
          const inTwoSteps = Either.filterOrLeft(
            parseJson(text, raw, { rawUnparsed: true }),
            (value) => rawProblem(value, raw) === undefined,
            () => "a raw value is not valid"
          )

          for (const given of [parsed, inTwoSteps]) {
            expect(Either.isRight(given)).toBe(Either.isRight(expected))
            if (Either.isRight(given))
              expect(JSON.stringify(given.right)).toBe(JSON.stringify(Either.getOrThrow(expected)))
          }
        }
      ),
      { numRuns: 3_000 }
    )
  })
})

describe("§2.7 stringify", () => {
  it("writes any cut-out text back verbatim", () => {
    fc.assert(
      fc.property(jsonText, jsonText, (one, two) => {
        const text = `{"items":[{"id":"a","payload":${one}},{"payload":${two},"z":null}],"nextCursor":null}`

        expect(stringify(parse(text, [["items", "*", "payload"]]))).toBe(text)
      })
    )
  })

  it("equals JSON.stringify when there is no verbatim text", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => stringify(value) === JSON.stringify(value)))
    expect(stringify({ a: undefined, b: new Date(0), c: () => 1 })).toBe('{"b":"1970-01-01T00:00:00.000Z"}')
    expect(stringify(undefined)).toBe("null")
    expect(stringify(new JsonText("1.0"))).toBe("1.0")
  })

  it("writes the same text twice, at positions of any kind, in order", () => {
    const text = new JsonText("-0")

    expect(stringify({ b: [text, text, "-0"], a: { toJSON: () => [text] }, "1": new JsonText('"$&"') })).toBe(
      '{"1":"$&","b":[-0,-0,"-0"],"a":[-0]}'
    )
  })

  it("may be called again from a toJSON, and works after a toJSON that throws", () => {
    const inner = { toJSON: () => stringify([new JsonText("1.0")]) }
    const broken = {
      toJSON: () => {
        throw new Error("broken")
      }
    }

    expect(stringify([new JsonText("2.0"), inner, new JsonText("3.0")])).toBe('[2.0,"[1.0]",3.0]')
    expect(() => stringify([new JsonText("2.0"), broken])).toThrow("broken")
    expect(JSON.stringify(new JsonText("2.0"))).toBe("2")
  })

  it("never reveals its marker: elsewhere JSON.stringify gives the value", () => {
    expect(JSON.stringify({ payload: new JsonText('{"a":1.0}') })).toBe('{"payload":{"a":1}}')
    expect(() => stringify({ toJSON: () => JSON.stringify(new JsonText("1")) })).toThrow("call stringify")
  })
})

describe("§4.4 compact", () => {
  it("removes white space between tokens and nothing else", () => {
    expect(compact(' { "a b" : [ 1.0 ,\t"\\" , " , { } ] ,\r\n"c":"  " } ')).toBe(
      '{"a b":[1.0,"\\" , ",{}],"c":"  "}'
    )
    fc.assert(
      fc.property(jsonText, (text) => {
        const short = compact(text)

        expect(compact(short)).toBe(short)
        expect(JSON.stringify(JSON.parse(short))).toBe(JSON.stringify(JSON.parse(text)))
        expect(short.replace(/"(?:[^"\\]|\\.)*"/gs, "")).not.toMatch(/\s/)
        expect(short.match(/"(?:[^"\\]|\\.)*"/gs)).toEqual(text.match(/"(?:[^"\\]|\\.)*"/gs))
      })
    )
  })

  it("makes texts that differ only in white space equal", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => compact(JSON.stringify(value, null, 3)) === JSON.stringify(value)
      )
    )
  })
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
