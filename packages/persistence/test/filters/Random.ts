/** Random filters and payloads that meet often: few names, few scalars, arrays in arrays, names that look like something else. */
import type { Json } from "./Model.ts"

type Pick = <A>(all: ReadonlyArray<A>) => A

/** Numbers from 0 to below 1, the same for each seed (mulberry32). */
const numbersOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const NAMES = [
  "a",
  "a",
  "a",
  "b",
  "b",
  "c",
  "eq",
  "a.b",
  "",
  "0",
  "*",
  "last",
  "__proto__",
  "type()",
  '"',
  "\\",
  "~/",
  "é😀",
  "@"
]
const NUMBERS = [
  "0",
  "-0",
  "1",
  "1",
  "1.0",
  "1.10",
  "1.1",
  "-1",
  "10E-1",
  "1e2",
  "100",
  "12345678901234567890",
  "12345678901234567891",
  "0.1",
  "1e-20",
  "1e300"
]
const TEXTS = [
  "",
  "a",
  "a",
  "ab",
  "b",
  "A",
  "1",
  "null",
  "a\n",
  "$",
  ".",
  "a.b",
  "\\",
  '"',
  "]",
  "[[",
  "é",
  "😀",
  "\uffff",
  "2026-11-27",
  "\u0001",
  "\u0002"
]

const string = (value: string): Json => ({ is: "string", value })

export const randomPairs = (seed: number) => {
  const random = numbersOf(seed)
  const pick: Pick = (all) => all[Math.floor(random() * all.length)]!
  const some = <A>(from: number, to: number, make: () => A) =>
    Array.from({ length: from + Math.floor(random() * (to - from + 1)) }, make)
  const number = (): Json => ({ is: "number", text: pick(NUMBERS) })
  const text = () => string(pick(TEXTS))
  const scalar = (): Json =>
    pick([
      number,
      number,
      text,
      text,
      (): Json => ({ is: "boolean", value: random() < 0.5 }),
      (): Json => ({ is: "null" })
    ])()
  const list = (make: () => Json, most = 3): Json => ({ is: "array", items: some(1, most, make) })

  const payload = (depth: number): Json => {
    const kind = random()
    if (depth === 0 || kind < 0.3) return scalar()
    if (kind < 0.55) return { is: "array", items: some(0, 3, () => payload(depth - 1)) }
    return {
      is: "object",
      members: some(
        0,
        3,
        () => [random() < 0.05 ? pick(["$eq", "$and", "$"]) : pick(NAMES), payload(depth - 1)] as const
      )
    }
  }

  const operator = (depth: number): readonly [string, Json] => {
    const name = pick([
      "$eq",
      "$neq",
      "$gt",
      "$gte",
      "$lt",
      "$lte",
      "$in",
      "$nin",
      "$startsWith",
      "$endsWith",
      "$exist",
      "$not"
    ])
    if (name === "$eq" || name === "$neq") return [name, scalar()]
    if (name === "$in" || name === "$nin") return [name, list(scalar)]
    if (name === "$startsWith" || name === "$endsWith") return [name, random() < 0.5 ? text() : list(text)]
    if (name === "$exist") return [name, { is: "boolean", value: random() < 0.5 }]
    if (name === "$not") return [name, condition(depth - 1)]
    return [name, pick([number, text])()]
  }

  const condition = (depth: number): Json => (depth <= 0 || random() < 0.25 ? scalar() : filter(depth))

  const filter = (depth: number): Json => {
    if (depth <= 0) return { is: "object", members: random() < 0.2 ? [] : [operator(0)] }
    const named = random() < 0.6
    const own = named
      ? some(1, 2, () => [pick(NAMES), condition(depth - 1)] as const)
      : some(0, 2, () => operator(depth))
    const logic = some(0, random() < 0.3 ? 2 : 0, () =>
      random() < 0.7
        ? ([pick(["$and", "$or"]), list(() => filter(depth - 1), 2)] as const)
        : (["$not", named ? filter(depth - 1) : condition(depth - 1)] as const)
    )
    return { is: "object", members: random() < 0.5 ? [...own, ...logic] : [...logic, ...own] }
  }

  return () => ({ filter: filter(3), payload: payload(random() < 0.1 ? 8 : 4) })
}
