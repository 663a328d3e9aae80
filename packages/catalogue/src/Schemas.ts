/**
 * Compiles schemas of the catalogue, and judges payloads by them.
 *
 * A schema that would not be judged as it reads is refused: unknown keywords, references beyond the schema, patterns that the engine
 * does not take. Bounds: `ajv` compiles one schema in time quadratic in its size (2,000 members took 5.6 s), so each subschema is
 * compiled on its own, with pauses in between. Judging has a budget of steps, which covers unions that fan out, long lists, and
 * patterns; a payload that would need more does not fit. `format` is an annotation. Numbers are as JavaScript reads them.
 * Source: spec §6.2, docs/adr/0036-catalogue.md.
 */

import {
  isObject,
  type JsonSchema,
  mapSubschemas,
  referencesOf,
  type SchemaObject,
  step
} from "@posthorn/domain/catalogue/JsonSchema"
import { InvalidSchema, type Issue } from "@posthorn/domain/Errors"
import { nextTurn } from "@posthorn/domain/NextTurn"
import type { SchemaObject as AjvSchema, ErrorObject } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import {
  addKeywords,
  type Budget,
  type Compiled,
  type Cost,
  charge,
  type Judgement,
  TooCostly
} from "./internal/Keywords.ts"
import { Pattern, PatternRefused } from "./internal/Patterns.ts"
import { pausing } from "./Pausing.ts"

const MOST_BYTES = 65_536
const MOST_SUBSCHEMAS = 2_000
const MOST_ISSUES = 20
/** Of longer lists `ajv` makes one function that nests as deep, which V8 cannot compile. */
const MOST_IN_LIST = 200
/** A pattern may take 256 KiB. */
const MOST_PATTERNS = 100
/** Instructions of all of them: 50 ms when they are first used. */
const MOST_PATTERN_SIZE = 10_000
/** Members that one compiled function judges. */
const MOST_MEMBERS = 100

/** Steps of one publish, also of a batch: some 40 ms. */
export const STEPS = 250_000

export interface Judge {
  /** What does not fit, at most 20 issues. Spends of the budget. */
  readonly issuesOf: (payload: unknown, budget: Budget) => ReadonlyArray<Issue>
  readonly subschemas: number
}

export type { Budget }

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

const IN_PLACE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"]
const LISTS = ["allOf", "anyOf", "oneOf"]
const ANNOTATIONS = [
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "deprecated",
  "readOnly",
  "writeOnly",
  "examples",
  "format",
  "contentEncoding",
  "contentMediaType",
  "contentSchema"
]
const ASSERTIONS = [
  "type",
  "enum",
  "const",
  "multipleOf",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "maxContains",
  "minContains",
  "maxProperties",
  "minProperties",
  "required",
  "dependentRequired"
]
const WITHIN = [
  "properties",
  "patternProperties",
  "additionalProperties",
  "propertyNames",
  "items",
  "prefixItems",
  "contains",
  "unevaluatedItems",
  "unevaluatedProperties"
]
const KEYWORDS = new Set([...IN_PLACE, ...ANNOTATIONS, ...ASSERTIONS, ...WITHIN, "$ref"])

const PER_NAME = [
  "patternProperties",
  "additionalProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
  "dependentRequired",
  "dependentSchemas"
]

/** An engine whose compiled patterns are found again by their text. */
const engineOf = (patterns: ReadonlyMap<string, Pattern>) =>
  Object.assign((pattern: string) => patterns.get(pattern) as never, { code: "" })

const METASCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
const METASCHEMA = new Ajv2020({ strict: false, validateFormats: false, logger: false })

interface Node {
  readonly id: number
  readonly schema: SchemaObject
  readonly pointer: string
}

/** Walks a schema and finds what is wrong with it. */
class Parts {
  readonly nodes: Array<Node> = []
  readonly byPointer = new Map<string, Node | boolean>()
  readonly patterns = new Map<string, Pattern>()
  /** Where each pattern stands. */
  readonly sources = new Map<string, string>()
  readonly issues: Array<Issue> = []

  constructor(root: JsonSchema) {
    this.visit(root, "")
  }

  private refuse(path: string, message: string) {
    if (this.issues.length < MOST_ISSUES) this.issues.push({ path, message })
  }

  private visit(schema: JsonSchema, pointer: string): JsonSchema {
    if (typeof schema === "boolean") {
      this.byPointer.set(pointer, schema)
      return schema
    }
    const node = { id: this.nodes.length, schema, pointer }
    this.nodes.push(node)
    this.byPointer.set(pointer, node)
    for (const keyword of Object.keys(schema))
      if (!KEYWORDS.has(keyword))
        this.refuse(
          pointer + step(keyword.slice(0, 100)),
          /^\$(?:dynamic|recursive)/.test(keyword)
            ? "is not judged here"
            : "is no keyword of JSON Schema 2020-12"
        )
    // ajv leaves it out.
    if (isObject(schema.properties) && Object.hasOwn(schema.properties, "__proto__"))
      this.refuse(`${pointer}/properties/__proto__`, "is not judged here")
    if (schema.$schema !== undefined && !DIALECT.test(String(schema.$schema)))
      this.refuse(`${pointer}/$schema`, "must be JSON Schema 2020-12")
    for (const list of LISTS)
      if (Array.isArray(schema[list]) && schema[list].length > MOST_IN_LIST)
        this.refuse(`${pointer}/${list}`, `has more than ${MOST_IN_LIST} schemas`)
    if (typeof schema.pattern === "string") this.sources.set(schema.pattern, `${pointer}/pattern`)
    if (isObject(schema.patternProperties))
      for (const pattern of Object.keys(schema.patternProperties))
        this.sources.set(pattern, `${pointer}/patternProperties${step(pattern)}`)
    mapSubschemas(schema, (inner, at) => this.visit(inner, pointer + at))
    return schema
  }

  compile(pattern: string, path: string) {
    try {
      this.patterns.set(pattern, new Pattern(pattern))
    } catch (error) {
      if (!(error instanceof PatternRefused)) throw error
      this.refuse(path, `The pattern ${error.message}`)
    }
  }

  /** The schema that a reference leads to; undefined, and an issue, where it leads to none. */
  targets(root: JsonSchema): ReadonlyMap<Node, Node | boolean> {
    const targetOf = referencesOf(root)
    const found = new Map<Node, Node | boolean>()
    for (const node of this.nodes) {
      if (node.schema.$ref === undefined) continue
      const target = this.byPointer.get(targetOf(node.schema)?.pointer ?? "?")
      if (target === undefined) this.refuse(`${node.pointer}/$ref`, "must lead to a schema within this one")
      else found.set(node, target)
    }
    return found
  }

  /** Each node after those that it judges the same value by; a node that does so by itself is refused. */
  ordered(targets: ReadonlyMap<Node, Node | boolean>): ReadonlyArray<Node> {
    const order: Array<Node> = []
    const state = new Map<Node, "open" | "done">()
    const visit = (node: Node) => {
      if (state.get(node) === "done") return
      if (state.get(node) === "open")
        return this.refuse(node.pointer, "refers to itself, and would be judged for ever")
      state.set(node, "open")
      for (const next of this.inPlace(node, targets)) visit(next)
      state.set(node, "done")
      order.push(node)
    }
    for (const node of this.nodes) visit(node)
    return order
  }

  inPlace(node: Node, targets: ReadonlyMap<Node, Node | boolean>): ReadonlyArray<Node> {
    const found: Array<Node> = []
    mapSubschemas(node.schema, (inner, at) => {
      const one = this.byPointer.get(node.pointer + at)
      if (IN_PLACE.includes(at.split("/")[1]!) && typeof one === "object") found.push(one)
      return inner
    })
    const target = targets.get(node)
    if (typeof target === "object") found.push(target)
    return found
  }
}

const BASE = "https://schema.invalid/"

const sizeOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 1)
    : 1

/** Judging one value by a node alone. */
const ownCost = ({ schema }: Node, patterns: ReadonlyMap<string, Pattern>): Cost => {
  const used = [
    schema.pattern,
    ...Object.keys(isObject(schema.patternProperties) ? schema.patternProperties : {})
  ]
  const perPattern = used.reduce<number>((sum, text) => {
    const pattern = patterns.get(String(text))
    return pattern === undefined ? sum : sum + 1 + pattern.size / 4
  }, 0)
  const lists = ["enum", "const", "required", "dependentRequired", "properties"].map(
    (keyword) => schema[keyword]
  )
  return {
    base:
      1 +
      lists.reduce<number>(
        (sum, list) => sum + (list === undefined ? 0 : sizeOf(isObject(list) ? Object.keys(list) : list)),
        0
      ) /
        8,
    perName: 4 * PER_NAME.filter((keyword) => keyword in schema).length,
    perCharacter: perPattern + ("minLength" in schema || "maxLength" in schema ? 0.1 : 0)
  }
}

/** The node as `ajv` compiles it: what judges the same value by reference, what judges values within by `child`. */
const partOf = (node: Node, parts: Parts, target: Node | boolean | undefined): AjvSchema => {
  const rewritten = mapSubschemas(node.schema, (inner, at) => {
    const one = parts.byPointer.get(node.pointer + at)
    if (typeof one !== "object") return inner
    return IN_PLACE.includes(at.split("/")[1]!) ? { $ref: `${BASE}${one.id}` } : { child: one.id }
  })
  const kept = Object.fromEntries(
    Object.entries(rewritten).filter(([keyword]) => keyword !== "$ref" && !ANNOTATIONS.includes(keyword))
  )
  const reference =
    target === undefined || target === true
      ? {}
      : target === false
        ? { allOf: [...((kept.allOf as Array<JsonSchema> | undefined) ?? []), false] }
        : { $ref: `${BASE}${target.id}` }
  return { ...kept, ...reference, $id: `${BASE}${node.id}` }
}

/** A part whose members are judged in groups of their own, and these groups. */
const grouped = (part: AjvSchema): ReadonlyArray<AjvSchema> => {
  const members = Object.entries((part.properties as SchemaObject | undefined) ?? {})
  if (members.length <= MOST_MEMBERS) return [part]
  const groups = Array.from({ length: Math.ceil(members.length / MOST_MEMBERS) }, (_, index) => ({
    $id: `${part.$id}.${index}`,
    properties: Object.fromEntries(members.slice(index * MOST_MEMBERS, (index + 1) * MOST_MEMBERS))
  }))
  const whole = {
    ...part,
    // What is additional depends on the names.
    properties: Object.fromEntries(members.map(([name]) => [name, true])),
    allOf: [...(part.allOf ?? []), ...groups.map(({ $id }) => ({ $ref: $id }))]
  }
  return [...groups, whole]
}

const issueOf = ({ instancePath, keyword, message = "does not fit", params }: ErrorObject): Issue => {
  const name =
    keyword === "required" || keyword === "dependentRequired"
      ? params.missingProperty
      : keyword === "additionalProperties"
        ? params.additionalProperty
        : keyword === "unevaluatedProperties"
          ? params.unevaluatedProperty
          : undefined
  return {
    path: (name === undefined ? instancePath : instancePath + step(name)).slice(0, 500),
    message:
      keyword === "required"
        ? "is missing"
        : name !== undefined && keyword !== "dependentRequired"
          ? "is not known to the schema"
          : message
  }
}

/** Faults of the whole come last: what is wrong within a union says more. */
const shown = (errors: ReadonlyArray<ErrorObject>): ReadonlyArray<Issue> => {
  const issues = new Map<string, Issue>()
  for (const error of errors) {
    const issue = issueOf(error)
    if (issues.size < MOST_ISSUES) issues.set(`${issue.path} ${issue.message}`, issue)
  }
  return [...issues.values()]
}

const invalidSchema = (...issues: ReadonlyArray<Issue>) => new InvalidSchema({ issues })

const TOO_COSTLY: ReadonlyArray<Issue> = [{ path: "", message: "takes too long to judge by its schema" }]

/** Values that show at once whether a schema can be judged at all. */
const SAMPLES = [null, {}, [], "", 0]

/** One at a time: the turns of several would follow each other without a pause. */
const compiling = Effect.unsafeMakeSemaphore(1)

/** Compiles a schema, with pauses; fails where it would not be judged as it reads. */
export const compileSchema = (text: string): Effect.Effect<Judge, InvalidSchema> =>
  compiling.withPermits(1)(compile(text))

const compile = (text: string): Effect.Effect<Judge, InvalidSchema> =>
  Effect.gen(function* () {
    if (Buffer.byteLength(text) > MOST_BYTES)
      return yield* invalidSchema({ path: "", message: `Expected at most ${MOST_BYTES} bytes` })
    const root = JSON.parse(text) as JsonSchema
    if (typeof root !== "boolean" && !isObject(root))
      return yield* invalidSchema({ path: "", message: "Expected an object, true or false" })
    if (!METASCHEMA.validate(METASCHEMA_ID, root))
      return yield* invalidSchema(
        ...(METASCHEMA.errors ?? [])
          .slice(0, 1)
          .map(({ instancePath, message = "is not valid" }) => ({ path: instancePath, message }))
      )
    yield* nextTurn
    const parts = new Parts(root)
    if (parts.byPointer.size > MOST_SUBSCHEMAS)
      return yield* invalidSchema({ path: "", message: `Expected at most ${MOST_SUBSCHEMAS} subschemas` })
    if (parts.sources.size > MOST_PATTERNS)
      return yield* invalidSchema({ path: "", message: `Expected at most ${MOST_PATTERNS} patterns` })
    const inTurns = pausing()
    for (const [pattern, path] of parts.sources) {
      parts.compile(pattern, path)
      yield* inTurns
    }
    if ([...parts.patterns.values()].reduce((sum, { size }) => sum + size, 0) > MOST_PATTERN_SIZE)
      return yield* invalidSchema({ path: "", message: "The patterns are too long together" })
    const targets = parts.targets(root)
    const order = parts.ordered(targets)
    if (parts.issues.length > 0) return yield* invalidSchema(...parts.issues)
    if (typeof root === "boolean") return judgeOf(root)

    const compiled: Array<Compiled> = []
    const judgement: Judgement = { budget: { left: 0 }, failures: [] }
    const ajv = new Ajv2020({
      allErrors: true,
      allowMatchingProperties: true,
      code: { optimize: false, regExp: engineOf(parts.patterns) },
      inlineRefs: false,
      logger: false,
      meta: false,
      ownProperties: true,
      strictSchema: true,
      strictTypes: false,
      strictTuples: false,
      strictRequired: false,
      validateFormats: false,
      validateSchema: false
    })
    addKeywords(ajv, compiled, judgement)
    for (const node of order) {
      const costs = [
        ownCost(node, parts.patterns),
        ...parts.inPlace(node, targets).map(({ id }) => compiled[id]!.cost)
      ]
      const cost = {
        base: costs.reduce((sum, one) => sum + one.base, 0),
        perName: costs.reduce((sum, one) => sum + one.perName, 0),
        perCharacter: costs.reduce((sum, one) => sum + one.perCharacter, 0)
      }
      if (cost.base > STEPS / 10)
        return yield* invalidSchema({ path: node.pointer, message: "takes too long to judge" })
      for (const part of grouped(partOf(node, parts, targets.get(node)))) {
        const validate = yield* Effect.try({
          try: () => ajv.compile(part),
          catch: (error) => invalidSchema({ path: node.pointer, message: messageOf(error) })
        })
        compiled[node.id] = { validate: validate as never, cost }
        yield* inTurns
      }
    }
    const judge = judgeOf(compiled[0]!, judgement, parts.byPointer.size)
    for (const sample of SAMPLES) judge.issuesOf(sample, { left: STEPS })
    return judge
  })

/** What `ajv` says of a schema that its strict mode refuses. */
const messageOf = (error: unknown) =>
  String((error as Error).message)
    .replace(/^strict mode: /, "")
    .slice(0, 200)

const NO_JUDGEMENT: Judgement = { budget: { left: 0 }, failures: [] }

const judgeOf = (whole: Compiled | boolean, judgement = NO_JUDGEMENT, subschemas = 1): Judge => {
  if (typeof whole === "boolean")
    return { issuesOf: () => (whole ? [] : [{ path: "", message: "Nothing fits the schema" }]), subschemas }
  return {
    subschemas,
    issuesOf: (payload, budget) => {
      judgement.budget = budget
      judgement.failures.splice(0, Number.POSITIVE_INFINITY, 0)
      try {
        charge(budget, whole.cost, payload)
        return whole.validate(payload) ? [] : shown(whole.validate.errors ?? [])
      } catch (error) {
        if (error instanceof TooCostly || error instanceof RangeError) return TOO_COSTLY
        throw error
      }
    }
  }
}
