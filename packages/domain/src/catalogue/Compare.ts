/**
 * What changes for payloads when one JSON Schema replaces another: which members are described anew (`added`) or no longer
 * (`removed`), and where fewer values fit (`narrowed`) or more (`widened`), by paths within the payload; `*` stands for each element
 * of an array and for each member that has no name in the schema.
 *
 * With `widened` alone, every payload that fitted still fits; with `narrowed` alone, every payload that fits now did before; without
 * any change, the same payloads fit. Where two keywords cannot be compared, both are said. Annotations do not count. Pure, and
 * bounded: after `MOST_STEPS` pairs of schemas, what is left counts as changed in both ways.
 */
import {
  isObject,
  type JsonSchema,
  listOf,
  mapOf,
  mapSubschemas,
  oneOf,
  referencesOf,
  type SchemaObject,
  step
} from "./JsonSchema.ts"

export type Change = "added" | "narrowed" | "removed" | "widened"
export interface SchemaChange {
  readonly path: string
  readonly change: Change
}

const MOST_STEPS = 2_000
const MOST_DEPTH = 200

const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]

/** Keywords that only narrow when they come, and are else compared as a whole. */
const NARROWING = [
  ["pattern"],
  ["multipleOf"],
  ["uniqueItems"],
  ["not"],
  ["propertyNames"],
  ["dependentRequired"],
  ["dependentSchemas"],
  ["contains", "minContains", "maxContains"],
  ["if", "then", "else"]
]

/** Keywords that say which members and elements the others leave over. */
const LEFT_OVER = ["unevaluatedProperties", "unevaluatedItems"]

const WORDS = new Set([
  "$comment",
  "$schema",
  "default",
  "deprecated",
  "description",
  "examples",
  "format",
  "readOnly",
  "title",
  "writeOnly"
])
const NAMES = new Set(["$anchor", "$defs", "$id", "definitions"])

/** The same text for values that JSON Schema takes as equal. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [two]) => (one < two ? -1 : 1)))
      : inner
  ) ?? ""

/** As each step asks for the text of all that is below it, it is made once. */
const texts = new WeakMap<object, string>()
const textOf = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return canonical(value)
  const text = texts.get(value) ?? canonical(value)
  texts.set(value, text)
  return text
}

const KINDS = ["array", "boolean", "integer", "fraction", "null", "object", "string"]

const kindsOf = ({ type }: SchemaObject): ReadonlySet<string> =>
  new Set(
    type === undefined
      ? KINDS
      : [type].flat().flatMap((kind) => (kind === "number" ? ["integer", "fraction"] : [String(kind)]))
  )

/** The values of `enum` and `const`; undefined where any may stand. */
const valuesOf = (schema: SchemaObject): ReadonlySet<string> | undefined => {
  if ("const" in schema) return new Set([canonical(schema.const)])
  return Array.isArray(schema.enum) ? new Set(schema.enum.map(canonical)) : undefined
}

const hasMore = (some: ReadonlySet<string>, others: ReadonlySet<string>) =>
  [...some].some((one) => !others.has(one))

export const compare = (before: JsonSchema | null, after: JsonSchema | null): ReadonlyArray<SchemaChange> => {
  const changes = new Map<string, SchemaChange>()
  const say = (path: string, ...all: ReadonlyArray<Change>) => {
    for (const change of all) changes.set(`${change} ${path}`, { path, change })
  }
  /** Values with a reference are the same where all that they can lead to is. */
  const isSame = sameness(before ?? true, after ?? true)
  const plainBefore = plainly(before ?? true)
  const plainAfter = plainly(after ?? true)
  const within = new Map<SchemaObject, Set<SchemaObject>>()
  let steps = 0
  let depth = 0

  const visit = (path: string, old: JsonSchema, next: JsonSchema): void => {
    const one = plainBefore(old)
    const two = plainAfter(next)
    if (one === false || two === false) {
      if (one !== two) say(path, one === false ? "widened" : "narrowed")
      return
    }
    if (isSame(one, two) || within.get(one)?.has(two)) return
    steps += 1
    if (steps > MOST_STEPS || depth > MOST_DEPTH) {
      say(path, "narrowed", "widened")
      return
    }
    depth += 1
    const pairs = within.get(one) ?? new Set()
    within.set(one, pairs.add(two))
    const alike = [likeUnion(one, two), likeUnion(two, one)] as const
    assertions(path, ...alike)
    members(path, ...alike)
    elements(path, ...alike)
    branches(path, ...alike)
    if (LEFT_OVER.some((keyword) => keyword in one || keyword in two)) say(path, "narrowed", "widened")
    pairs.delete(two)
    depth -= 1
  }

  const assertions = (path: string, one: SchemaObject, two: SchemaObject) => {
    const sets = [
      [kindsOf(one), kindsOf(two)],
      [valuesOf(one), valuesOf(two)]
    ] as const
    for (const [old, next] of sets) {
      if (old !== undefined ? next !== undefined && hasMore(old, next) : next !== undefined)
        say(path, "narrowed")
      if (next !== undefined ? old !== undefined && hasMore(next, old) : old !== undefined)
        say(path, "widened")
    }
    for (const keyword of [...LOWER, ...UPPER]) {
      const sign = LOWER.includes(keyword) ? 1 : -1
      const [old, next] = [one, two].map((schema) =>
        typeof schema[keyword] === "number" ? sign * (schema[keyword] as number) : Number.NEGATIVE_INFINITY
      ) as [number, number]
      if (old !== next) say(path, next > old ? "narrowed" : "widened")
    }
    for (const keywords of NARROWING) {
      const [old, next] = [one, two].map((schema) => keywords.map((keyword) => schema[keyword])) as [
        Array<unknown>,
        Array<unknown>
      ]
      const [had, has] = [old, next].map((values) => values.some((value) => value !== undefined))
      if (!(had || has) || (had === has && isSame(old, next))) continue
      if (has) say(path, "narrowed")
      if (had) say(path, "widened")
    }
  }

  const members = (path: string, one: SchemaObject, two: SchemaObject) => {
    const [old, next] = [mapOf(one, "properties"), mapOf(two, "properties")]
    const [had, has] = [one, two].map(({ required }) => new Set(Array.isArray(required) ? required : []))
    for (const name of new Set([...old.keys(), ...next.keys(), ...had!, ...has!])) {
      const at = path + step(name)
      const [was, is] = [old.get(name), next.get(name)]
      if (was !== undefined && is !== undefined) visit(at, was, is)
      else if (is !== undefined) say(at, "added")
      else if (was !== undefined) say(at, "removed")
      if (had!.has(name) !== has!.has(name)) say(at, has!.has(name) ? "narrowed" : "widened")
    }
    const [oldPatterns, nextPatterns] = [one.patternProperties, two.patternProperties]
    if ((oldPatterns ?? nextPatterns) !== undefined && !isSame(oldPatterns, nextPatterns))
      say(path, "narrowed", "widened")
    visit(`${path}/*`, oneOf(one, "additionalProperties") ?? true, oneOf(two, "additionalProperties") ?? true)
  }

  const elements = (path: string, one: SchemaObject, two: SchemaObject) => {
    const [old, next] = [listOf(one, "prefixItems"), listOf(two, "prefixItems")]
    if (old.length !== next.length) say(path, "narrowed", "widened")
    else for (const [index, schema] of old.entries()) visit(`${path}/${index}`, schema, next[index]!)
    visit(`${path}/*`, oneOf(one, "items") ?? true, oneOf(two, "items") ?? true)
  }

  const branches = (path: string, one: SchemaObject, two: SchemaObject) => {
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const [old, next] = [listOf(one, keyword), listOf(two, keyword)]
      if (old.length === 0 && next.length === 0) continue
      // Where exactly one branch may fit, a wider branch can also exclude what another one took.
      if (keyword === "oneOf" || old.length === 0 || next.length === 0) {
        if (isSame(old, next)) continue
        if (next.length > 0) say(path, "narrowed")
        if (old.length > 0) say(path, "widened")
        continue
      }
      const { left, pairs, come } = paired(old, next)
      for (const [was, is] of pairs) visit(path, was, is)
      if (left > 0) say(path, keyword === "anyOf" ? "narrowed" : "widened")
      if (come > 0) say(path, keyword === "anyOf" ? "widened" : "narrowed")
    }
  }

  if (textOf(bare(before ?? true)) !== textOf(bare(after ?? true))) visit("", before ?? true, after ?? true)
  return [...changes.values()]
}

/** A schema that says something, beside one that is a union alone, as a union of one. */
const likeUnion = (schema: SchemaObject, other: SchemaObject): SchemaObject =>
  Object.keys(other).join() === "anyOf" && !("anyOf" in schema) && Object.keys(schema).length > 0
    ? { anyOf: [schema] }
    : schema

const sameness = (before: JsonSchema, after: JsonSchema) => {
  const [old, next] = [before, after].map((root) => {
    const { $defs, $id } = bare(root) as SchemaObject
    return textOf([$defs, $id])
  })
  return (one: unknown, two: unknown) => {
    const text = textOf(one)
    if (text !== textOf(two)) return false
    return (
      !text.includes('"$ref"') ||
      (!text.includes('"$id"') && old === next && !/"\$ref":"(?!#\/\$defs\/)/.test(text))
    )
  }
}

/** Without annotations, at any depth. */
const bare = (schema: JsonSchema): JsonSchema =>
  typeof schema === "boolean"
    ? schema
    : mapSubschemas(
        Object.fromEntries(Object.entries(schema).filter(([keyword]) => !WORDS.has(keyword))),
        bare
      )

/** Branches that are equal, then those of one type or reference. */
const paired = (old: ReadonlyArray<JsonSchema>, next: ReadonlyArray<JsonSchema>) => {
  const pairs: Array<readonly [JsonSchema, JsonSchema]> = []
  const kinds = [
    textOf,
    (schema: JsonSchema) => (isObject(schema) ? canonical([schema.type, schema.$ref]) : "")
  ]
  const { come, left } = kinds.reduce(
    ({ come, left }, kind) => {
      const byKind = new Map<string, Array<JsonSchema>>()
      for (const is of come) byKind.set(kind(is), [...(byKind.get(kind(is)) ?? []), is])
      const stay = left.filter((was) => {
        const is = byKind.get(kind(was))?.shift()
        if (is !== undefined) pairs.push([was, is])
        return is === undefined
      })
      return { left: stay, come: [...byKind.values()].flat() }
    },
    { left: [...old], come: [...next] }
  )
  return { pairs, left: left.length, come: come.length }
}

/** A schema without a reference beside its other keywords and without annotations; the same object each time. */
const plainly = (root: JsonSchema) => {
  const targetOf = referencesOf(root)
  const known = new Map<SchemaObject, false | SchemaObject>()
  const plain = (schema: JsonSchema, depth = 0): false | SchemaObject => {
    if (typeof schema === "boolean") return schema && EVERYTHING
    const made = known.get(schema)
    if (made !== undefined) return made
    const kept = Object.fromEntries(
      Object.entries(schema).filter(([keyword]) => !WORDS.has(keyword) && !NAMES.has(keyword))
    )
    const target = "$ref" in kept && depth < 100 ? targetOf(schema)?.schema : undefined
    const { $ref: _, ...rest } = kept
    const result =
      target === undefined
        ? kept
        : Object.keys(rest).length === 0
          ? plain(target, depth + 1)
          : { ...rest, allOf: [...listOf(rest, "allOf"), target] }
    known.set(schema, result)
    return result
  }
  return plain
}

const EVERYTHING: SchemaObject = {}
