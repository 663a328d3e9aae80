/**
 * The answers of one operation: its success with an example and its headers, and every refusal it can give, grouped by
 * status, each as `application/problem+json` with an example.
 *
 * The contract gives the status of each error. The library has no annotations for headers of answers, nor for an error that is
 * declared for all operations and cannot occur in one: this file adds those.
 */
import type { OpenApi } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { TRACE_ID } from "@posthorn/api-contract/Examples"
import type { OperationRules } from "@posthorn/api-contract/Operation"
import { PROBLEM_JSON, problems, toProblem } from "@posthorn/api-contract/Problem"
import { sampleOf } from "@posthorn/api-contract/SampleProblems"
import type { PublicError } from "@posthorn/domain/Errors"
import { Option, SchemaAST } from "effect"
import { type Json, nameOfRef, refOf } from "./Schemas.ts"
import { exampleOf } from "./ShapeExamples.ts"

type Tag = PublicError["_tag"]

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })

const text = (description: string, example: string) => ({
  description,
  schema: { type: "string" },
  example
})

export const headers = {
  TraceId: text("Quote it when you ask for help.", TRACE_ID),
  RateLimitPolicy: text(
    "The bucket this call was counted in: calls per window of so many seconds.",
    '"rest_read";q=600;w=60'
  ),
  RateLimit: text("Calls left in the window, and seconds until it ends.", '"rest_read";r=599;t=60'),
  RetryAfter: { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 }, example: 12 },
  ETag: text(
    "Stands for all that a PATCH or PUT can change: send it as `If-Match` to change just this.",
    '"tRvJ2mKwQ0eT4nUzXy8sLA"'
  ),
  Location: {
    description: "Where what was created can be read.",
    schema: { type: "string", format: "uri" }
  },
  WwwAuthenticate: text("Always `Bearer`.", "Bearer")
}

/** `rules` are the operation's. */
const headersOf = (status: number, rules?: OperationRules) => ({
  "x-trace-id": header("TraceId"),
  ...(status === 404
    ? {}
    : { "RateLimit-Policy": header("RateLimitPolicy"), RateLimit: header("RateLimit") }),
  ...(status === 429 || status === 503 ? { "Retry-After": header("RetryAfter") } : {}),
  ...(status === 401 ? { "WWW-Authenticate": header("WwwAuthenticate") } : {}),
  ...(rules?.tagged ? { ETag: header("ETag") } : {}),
  ...(rules?.location ? { Location: header("Location") } : {})
})

const OF_BODIES = ["PayloadTooLarge", "RequestTimeout", "UnsupportedMediaType"]

/**
 * Errors that the contract declares for all operations, and that this one cannot give. Every operation can give
 * `InvalidRequest`: an unknown query parameter is 400.
 */
const impossible = ({ bodySchema }: ContractEntry) => (Option.isSome(bodySchema) ? [] : OF_BODIES)

const schemaOf = ({ content }: OpenApi.OpenApiSpecResponse) => Object.values(content ?? {})[0]?.schema

/** The refusals in the schema, without the library's own, which is never given. */
const tagsOf = (schema: ReturnType<typeof schemaOf>): ReadonlyArray<Tag> => {
  const choices = schema !== undefined && "anyOf" in schema ? schema.anyOf : [schema ?? {}]
  return choices.map((choice) => nameOfRef(choice) ?? "").filter((name): name is Tag => name in problems)
}

/** Parts of answers that several operations share: written once, in `components`. */
export interface Shared {
  readonly responses: Record<string, unknown>
  readonly examples: Record<string, unknown>
}

const exampleOfTag = (tag: Tag) => ({
  summary: problems[tag].title,
  value: toProblem(sampleOf(tag), { baseUrl: "https://posthorn.example.net", traceId: TRACE_ID })
})

/** A text on every refusal; the `type` of a problem links to its heading here. */
export const errorsText = (Object.keys(problems) as ReadonlyArray<Tag>)
  .map((tag) => {
    const { status, title } = problems[tag]
    return `### ${tag}\n\n${status}: ${title}. For example: ${sampleOf(tag).message}`
  })
  .join("\n\n")

const sharedRefusal = (status: number, tags: ReadonlyArray<Tag>, shared: Shared) => {
  const name = tags.join("Or")
  shared.responses[name] ??= refusal(status, tags)
  for (const tag of tags) shared.examples[tag] ??= exampleOfTag(tag)
  return { $ref: `#/components/responses/${name}` }
}

const refusal = (status: number, tags: ReadonlyArray<Tag>) => ({
  description: `${tags.map((tag) => problems[tag].title).join("; or: ")}.`,
  headers: headersOf(status),
  content: {
    [PROBLEM_JSON]: {
      schema: tags.length === 1 ? refOf(tags[0]!) : { oneOf: tags.map(refOf) },
      examples: Object.fromEntries(tags.map((tag) => [tag, { $ref: `#/components/examples/${tag}` }]))
    }
  }
})

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  201: "Created.",
  202: "Accepted: stored, and on its way.",
  204: "Done; there is nothing to say."
}

const answered = entries.flatMap(({ successSchema }) =>
  Option.toArray(SchemaAST.getIdentifierAnnotation(successSchema.ast))
)

/** Shapes that several operations answer with: their example is shared. */
const repeated: ReadonlySet<string> = new Set(answered.filter((name, at) => answered.indexOf(name) !== at))

const exampleOfSuccess = (schema: unknown, components: Json, shared: Shared) => {
  const name = nameOfRef(schema)
  if (name === undefined || !repeated.has(name)) return { value: exampleOf(schema, components) }
  shared.examples[name] ??= { value: exampleOf(schema, components) }
  return { $ref: `#/components/examples/${name}` }
}

/** Not as `example`, which the reference page ignores. */
const successContent = (schema: unknown, components: Json, shared: Shared) => ({
  content: {
    "application/json": { schema, examples: { success: exampleOfSuccess(schema, components, shared) } }
  }
})

export const responsesOf = (
  entry: ContractEntry,
  generated: OpenApi.OpenAPISpecResponses,
  components: Json,
  shared: Shared
) => {
  const never = impossible(entry)
  const responses: Record<string, unknown> = {}
  for (const [code, response] of Object.entries(generated)) {
    const status = Number(code)
    const schema = schemaOf(response)
    const tags = tagsOf(schema).filter((tag) => !never.includes(tag))
    if (tags.length > 0) responses[status] = sharedRefusal(status, tags, shared)
    else if (status < 400)
      responses[status] = {
        description: DESCRIPTIONS[status] ?? "Done.",
        headers: headersOf(status, entry.rules),
        ...(schema === undefined ? {} : successContent(schema, components, shared))
      }
  }
  return responses
}
