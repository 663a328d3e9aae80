/**
 * Valid and nearly valid requests made from the contract's schemas, and a judge of the answers.
 *
 * New operations of the contract are included automatically. Valid requests come from the schemas and from the samples,
 * because no schema generates an acceptable URL by chance.
 */
import { HttpApiSchema } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import type { ContractEntry } from "@posthorn/api-contract/Contract"
import { PROBLEM_JSON } from "@posthorn/api-contract/Problem"
import { Arbitrary, FastCheck as fc, Option, Schema, SchemaAST } from "effect"
import { openApiDocument } from "../../src/http/OpenApiDocument.ts"
import type { Sample } from "../Samples.ts"

type AnySchema = Schema.Schema<unknown, unknown>

/** Values that fit nowhere, or only elsewhere. */
const odd = fc.oneof(
  fc.constantFrom<Array<unknown>>(
    null,
    true,
    0,
    -1,
    0.5,
    1e308,
    2 ** 53,
    "",
    " ",
    "\0",
    "\ud800",
    "%00",
    "'; --",
    "../..",
    "infinity",
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00+23:59",
    "a".repeat(3_000),
    "https://example.com/a",
    "https://127.0.0.1/",
    [],
    {},
    ["*"],
    [null],
    { __proto__: null, toString: 1 }
  ),
  fc.string({ unit: "binary" }),
  fc.jsonValue()
)

const mutation = fc.record({
  how: fc.constantFrom("remove", "replace", "add", "wrap", "repeat"),
  at: fc.nat(),
  odd
})
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

type Container = Record<string, unknown>

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null

/** Every member and element of a value, at any depth, with its parent. */
const placesIn = (value: unknown): ReadonlyArray<readonly [Container, string]> =>
  isContainer(value)
    ? Object.keys(value).flatMap((key) => [[value, key] as const, ...placesIn(value[key])])
    : []

/** A body stays below the limit of 1 MiB, which has tests of its own: a tool's message above it has no result to judge. */
const timesOf = (at: number, held: unknown) =>
  Math.max(1, Math.min(1 + (at % 200), Math.floor(500_000 / JSON.stringify(held ?? null).length)))

const mutate = (value: unknown, mutations: ReadonlyArray<Mutation>): unknown => {
  const whole = { value: JSON.parse(JSON.stringify(value ?? {})) }
  for (const { at, how, odd: shared } of mutations) {
    // A copy, because one object inserted twice could come to contain itself.
    const odd = structuredClone(shared)
    const places = placesIn(whole)
    if (places.length === 0) break
    const [holder, key] = places[at % places.length]!
    const held = holder[key]
    if (how === "remove") delete holder[key]
    else if (how === "replace") holder[key] = odd
    else if (how === "wrap") holder[key] = [held]
    else if (how === "repeat") holder[key] = Array.from({ length: timesOf(at, held) }, () => held)
    else if (isContainer(held)) held[`unknown${at % 3}`] = odd
  }
  return whole.value
}

const asSchema = (schema: Schema.Schema.Any) => schema as AnySchema

/** Schemas from which a value can be generated: all without a rule in plain code. */
const arbitraryOf = Option.liftThrowable((schema: AnySchema) => Arbitrary.make(schema))

/** What a client of the schema would send; the sample's value where none can be generated. */
const encodedBy = (schema: Option.Option<Schema.Schema.Any>, sample: unknown): fc.Arbitrary<unknown> =>
  Option.match(Option.flatMap(Option.map(schema, asSchema), arbitraryOf), {
    onNone: () => fc.constant(sample),
    onSome: (arbitrary) => {
      const encode = Schema.encodeUnknownOption(asSchema(Option.getOrThrow(schema)))
      return arbitrary.map((value) => Option.getOrElse(encode(value), () => sample))
    }
  })

export interface Fuzzed {
  readonly query: Readonly<Record<string, unknown>>
  /** Undefined: no body is sent. */
  readonly body: unknown
  /** Replaces each id of the path, when there is one. */
  readonly id: string | undefined
}

/** Test sends do not wait here: the bounds of `waitSeconds` have a test of their own. */
const unwaiting = (body: unknown) =>
  isContainer(body) && "waitSeconds" in body ? { ...body, waitSeconds: 0 } : body

export const fuzzedOf = (entry: ContractEntry, sample: Sample): fc.Arbitrary<Fuzzed> => {
  const hasBody = Option.isSome(entry.bodySchema)
  const mutations = fc.oneof(fc.constant([]), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  return fc.record({
    query: fc
      .tuple(
        fc.oneof(fc.constant(sample.query ?? {}), encodedBy(entry.querySchema, sample.query ?? {})),
        fc.oneof(
          { weight: 3, arbitrary: fc.constant({}) },
          {
            weight: 1,
            arbitrary: fc.dictionary(fc.constantFrom("limit", "cursor", "since", "x"), fc.string())
          }
        )
      )
      .map(([query, more]) => ({ ...(query as object), ...more })),
    body: hasBody
      ? fc
          .tuple(
            fc.oneof(fc.constant(sample.body ?? {}), encodedBy(entry.bodySchema, sample.body ?? {})),
            mutations
          )
          .map(([body, mutations]) => mutate(unwaiting(body), mutations))
      : fc.constant(undefined),
    id: fc.option(
      fc.string({ unit: "binary" }).filter((id) => !/^\.{0,2}$/.test(id)),
      { nil: undefined, freq: 8 }
    )
  })
}

type Schemas = ReadonlyMap<number, ReadonlyArray<AnySchema>>

const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(alternatives) : [ast]

const byStatus = (ast: SchemaAST.AST, statusOf: (ast: SchemaAST.AST) => number): Schemas => {
  const found = new Map<number, Array<AnySchema>>()
  for (const one of alternatives(ast))
    found.set(statusOf(one), [...(found.get(statusOf(one)) ?? []), Schema.make(one)])
  return found
}

const document = openApiDocument({ baseUrl: "https://posthorn.example.net", version: "0.0.0" })

/** The refusals that the OpenAPI document names for an operation, by status. */
const toldOf = (entry: ContractEntry): ReadonlyMap<number, ReadonlyArray<string>> => {
  const path = entry.path.replace(/:(\w+)/g, "{$1}")
  const { responses } = document.paths[path]![entry.method.toLowerCase()] as {
    readonly responses: Readonly<Record<string, { readonly $ref?: string }>>
  }
  return new Map(
    Object.entries(responses).map(([status, { $ref }]) => {
      const shared = document.components.responses[$ref?.split("/").at(-1) ?? ""] as Refusal | undefined
      return [Number(status), Object.keys(shared?.content[PROBLEM_JSON].examples ?? {})]
    })
  )
}

interface Refusal {
  readonly content: Readonly<Record<typeof PROBLEM_JSON, { readonly examples: object }>>
}

export interface Judge {
  /** What is wrong with an answer, or undefined. */
  readonly answer: (status: number, body: unknown) => string | undefined
  /** The same of a success whose status is not known. */
  readonly success: (body: unknown) => string | undefined
}

/**
 * An answer is right when the operation declares its status and, for that status, exactly this body; a refusal must be in
 * the OpenAPI document as well.
 */
export const judgeOf = (entry: ContractEntry): Judge => {
  const successes = byStatus(entry.successSchema.ast, HttpApiSchema.getStatusSuccessAST)
  const errors = [
    entry.endpoint.errorSchema.ast,
    (Api as unknown as { errorSchema: AnySchema }).errorSchema.ast
  ]
  const failures = errors.map((ast) => byStatus(ast, HttpApiSchema.getStatusErrorAST))
  const told = toldOf(entry)
  const answer = (status: number, body: unknown) => {
    if (status >= 500) return `status ${status}`
    const tag = String((body as { readonly _tag?: unknown } | undefined)?._tag)
    if (status >= 400 && told.get(status)?.includes(tag) !== true)
      return `${status} ${tag}, which the document does not name`
    const schemas = [successes, ...failures].flatMap((declared) => declared.get(status) ?? [])
    if (schemas.length === 0) return `status ${status}, which is not declared`
    const fits =
      status === 204 ||
      schemas.some((schema) =>
        Option.isSome(Schema.decodeUnknownOption(schema, { onExcessProperty: "error" })(body))
      )
    return fits ? undefined : `a body that is not declared for ${status}`
  }
  return {
    answer,
    success: (body) => {
      const wrong = [...successes.keys()].map((status) => answer(status, body))
      return wrong.includes(undefined) ? undefined : wrong.join(", ")
    }
  }
}
