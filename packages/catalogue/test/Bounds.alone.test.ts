/** What schemas and payloads made to be expensive cost: no turn of the event loop is longer than 100 ms. */
import { expect, it } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { Effect, Either } from "effect"
import { compileSchema, STEPS } from "../src/Schemas.ts"

const MOST_MS = 100

const list = <A>(length: number, make: (index: number) => A) =>
  Array.from({ length }, (_, index) => make(index))
const object = <A>(length: number, make: (index: number) => readonly [string, A]) =>
  Object.fromEntries(list(length, make))

/** The processor time of each turn while this runs; gives the longest, in ms. */
const longestTurn = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    let longest = 0
    let last = process.cpuUsage()
    let isOver = false
    const tick = () => {
      const { system, user } = process.cpuUsage(last)
      longest = Math.max(longest, (system + user) / 1_000)
      last = process.cpuUsage()
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)
    const done = yield* work
    isOver = true
    tick()
    return { done, longest }
  })

const schemas: Readonly<Record<string, object>> = {
  "2,000 members": { properties: object(1_999, (n) => [`p${n}`, { type: "string" }]) },
  "unions of 200": { anyOf: list(9, () => ({ oneOf: list(200, (n) => ({ const: n })) })) },
  "references in a row": {
    $ref: "#/$defs/d0",
    $defs: object(990, (n) => [`d${n}`, n === 989 ? { type: "string" } : { $ref: `#/$defs/d${n + 1}` }])
  },
  "patterns with repetitions": { allOf: list(90, (n) => ({ pattern: `^(a?){50}a{50}${n}` })) },
  "a long alternation": { pattern: list(200, (n) => `a${n}b`).join("|") },
  "doubled at each of 40 levels": {
    $ref: "#/$defs/d0",
    $defs: object(41, (n) => [
      `d${n}`,
      n === 40 ? {} : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
    ])
  },
  "named members unevaluated": {
    anyOf: list(190, (n) => ({ properties: { [`a${n}`]: true }, required: [`a${n}`] })),
    unevaluatedProperties: false
  }
}

const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`) as unknown
const branch = (name: string) => ({ properties: { a: { $ref: "#" } }, required: [name] })

const judgements: Readonly<Record<string, readonly [schema: object, payload: unknown]>> = {
  "a union that branches at each level": [{ anyOf: [branch("b"), branch("c")] }, nested(99)],
  "unique lists of lists": [
    { items: { uniqueItems: true }, uniqueItems: true },
    list(500, () => list(1_000, () => 0))
  ],
  "unique numbers": [{ uniqueItems: true }, list(150_000, (n) => n)],
  "contains within contains": [
    { contains: { contains: { const: 3 } }, minContains: 1 },
    list(1_000, () => list(500, () => 1))
  ],
  "500,000 wrong items": [{ items: { type: "string" } }, list(500_000, () => 1)],
  "unknown members": [{ additionalProperties: false }, object(60_000, (n) => [`m${n}`, 1])],
  "unevaluated members": [{ ...schemas["named members unevaluated"] }, object(60_000, (n) => [`a${n}`, 1])],
  "2,000 members of 60,000": [schemas["2,000 members"]!, object(60_000, (n) => [`p${n}`, 1])],
  "a pattern over 1 MiB": [{ pattern: "^(a|b|ab)*c$" }, "ab".repeat(500_000)],
  "a pattern over many texts": [{ items: { pattern: "^(a|b|ab)*c$" } }, list(1_000, () => "ab".repeat(500))],
  "a pattern that needs many states": [{ pattern: "(a|b)*a(a|b){14}c$" }, "abbabaaabb".repeat(1_000)],
  "multiples of the smallest number": [{ items: { multipleOf: 1e-300 } }, list(100_000, () => 1e300)],
  "a large constant": [{ items: { const: list(20_000, () => 1) } }, list(20, () => list(20_000, () => 1))]
}

it.effect("§6.2 compiling pauses: no turn takes longer than 100 ms", () =>
  Effect.gen(function* () {
    const took: Record<string, number> = {}
    yield* compileSchema("{}")
    for (const [name, schema] of Object.entries(schemas)) {
      const { longest } = yield* atBest(
        MOST_MS,
        longestTurn(Effect.either(compileSchema(JSON.stringify(schema)))),
        ({ longest }) => longest
      )
      took[name] = Math.round(longest)
    }
    expect(Object.entries(took).filter(([, ms]) => ms >= MOST_MS)).toEqual([])
  })
)

it.effect("§6.2 judging has a budget: no payload takes longer than 100 ms", () =>
  Effect.gen(function* () {
    const took: Record<string, number> = {}
    for (const [name, [schema, payload]] of Object.entries(judgements)) {
      const judge = yield* Effect.map(Effect.either(compileSchema(JSON.stringify(schema))), Either.getOrThrow)
      const { ms } = yield* atBest(
        MOST_MS,
        Effect.sync(() => {
          const began = process.cpuUsage()
          judge.issuesOf(payload, { left: STEPS })
          const { system, user } = process.cpuUsage(began)
          return { ms: (system + user) / 1_000 }
        }),
        ({ ms }) => ms
      )
      took[name] = Math.round(ms)
    }
    expect(Object.entries(took).filter(([, ms]) => ms >= MOST_MS)).toEqual([])
  })
)
