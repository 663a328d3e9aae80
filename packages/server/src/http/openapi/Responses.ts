/**
 * The answers of one operation: its success with an example and its headers, and every refusal it can give, grouped by
 * status, each as `application/problem+json` with an example.
 *
 * The contract says which errors stand at which status. Headers of answers, and that an error declared for all operations
 * cannot occur in one, the library has no annotation for: they are said here.
 */
import type { OpenApi } from "@effect/platform"
import { TRACE_ID } from "@posthorn/api-contract/Examples"
import { PROBLEM_JSON, problems, toProblem } from "@posthorn/api-contract/Problem"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import * as Errors from "@posthorn/domain/Errors"
import { describeReason } from "@posthorn/domain/WebhookUrl"
import { Either, Option, type Schema, SchemaAST } from "effect"
import { judgementOf, membersOf } from "../../Judge.ts"
import { exampleOf } from "./Examples.ts"
import { type Json, nameOfRef, refOf } from "./Schemas.ts"

type Tag = Errors.PublicError["_tag"]

type Refusals = Readonly<
  Record<
    Tag,
    (new (facts: Json) => Errors.PublicError) & { readonly fields: Record<string, Schema.Schema.Any> }
  >
>

/** Of the examples of its facts. */
const sampleOf = (tag: Tag): Errors.PublicError => {
  const Refusal = (Errors as unknown as Refusals)[tag]
  const facts = Object.entries(Refusal.fields).map(([name, { ast }]) => [
    name,
    Option.getOrUndefined(SchemaAST.getExamplesAnnotation(ast))?.[0]
  ])
  const { _tag, ...given } = Object.fromEntries(facts)
  const error = new Refusal(given)
  // Its sentence belongs to the reason, and is added where a URL is judged.
  return error._tag === "InvalidWebhookUrl"
    ? Object.assign(error, { explanation: describeReason("not_https") })
    : error
}

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })

const string = { type: "string" }

export const headers = {
  TraceId: { description: "Quote it when you ask for help.", schema: string, example: TRACE_ID },
  RateLimitPolicy: {
    description: "The bucket this call was counted in: calls per window of so many seconds.",
    schema: string,
    example: '"rest_read";q=600;w=60'
  },
  RateLimit: {
    description: "Calls left in the window, and seconds until it ends.",
    schema: string,
    example: '"rest_read";r=599;t=60'
  },
  RetryAfter: { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 }, example: 12 },
  ETag: {
    description:
      "Stands for url, eventTypes, description and enabled: send it as `If-Match` to change just this.",
    schema: string,
    example: '"tRvJ2mKwQ0eT4nUzXy8sLA"'
  },
  Location: { description: "Where what was created can be read.", schema: { ...string, format: "uri" } },
  WwwAuthenticate: { description: "Always `Bearer`.", schema: string, example: "Bearer" }
}

const common = { "x-trace-id": header("TraceId") }
const counted = { "RateLimit-Policy": header("RateLimitPolicy"), RateLimit: header("RateLimit") }

const headersOf = (status: number) => ({
  ...common,
  ...(status === 404 ? {} : counted),
  ...(status === 429 || status === 503 ? { "Retry-After": header("RetryAfter") } : {}),
  ...(status === 401 ? { "WWW-Authenticate": header("WwwAuthenticate") } : {})
})

/** Whether any value of the query or the headers is refused; most parameters take everything. */
const judgesParameters = (entry: ContractEntry) =>
  [entry.querySchema, entry.headersSchema].some(
    Option.exists((schema) =>
      Either.isLeft(
        judgementOf(schema, "ignored")(Object.fromEntries(membersOf(schema).map((name) => [name, ""])))
      )
    )
  )

/** Errors that the contract declares for all operations, and that this one cannot give. */
const impossible = (entry: ContractEntry): ReadonlyArray<string> => {
  if (Option.isSome(entry.bodySchema)) return []
  const ofBodies = ["PayloadTooLarge", "RequestTimeout", "UnsupportedMediaType"]
  return judgesParameters(entry) ? ofBodies : [...ofBodies, "InvalidRequest"]
}

const schemaOf = ({ content }: OpenApi.OpenApiSpecResponse) => Object.values(content ?? {})[0]?.schema

const tagsOf = (response: OpenApi.OpenApiSpecResponse): ReadonlyArray<string> => {
  const schema = schemaOf(response)
  const choices = schema !== undefined && "anyOf" in schema ? schema.anyOf : [schema ?? {}]
  return choices.flatMap((choice) => nameOfRef(choice) ?? [])
}

/** Parts that several operations answer alike: told once, in `components`. */
export interface Shared {
  readonly responses: Record<string, unknown>
  readonly examples: Record<string, unknown>
}

const exampleOfTag = (tag: Tag) => ({
  summary: problems[tag].title,
  value: toProblem(sampleOf(tag), { baseUrl: "https://posthorn.example.net", traceId: TRACE_ID })
})

/** Every refusal in words; the `type` of a problem leads to its heading here. */
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

const success = (
  status: number,
  { rules }: ContractEntry,
  response: OpenApi.OpenApiSpecResponse,
  components: Json
) => {
  const schema = schemaOf(response)
  return {
    description: DESCRIPTIONS[status] ?? "Done.",
    headers: {
      ...common,
      ...counted,
      ...(rules.tagged ? { ETag: header("ETag") } : {}),
      ...(rules.location ? { Location: header("Location") } : {})
    },
    // Not `example`: the reference page passes that over.
    ...(schema === undefined
      ? {}
      : {
          content: {
            "application/json": { schema, examples: { success: { value: exampleOf(schema, components) } } }
          }
        })
  }
}

export const responsesOf = (
  entry: ContractEntry,
  generated: OpenApi.OpenAPISpecResponses,
  components: Json,
  shared: Shared
) => {
  const never = new Set(impossible(entry))
  const responses: Record<string, unknown> = {}
  for (const [status, response] of Object.entries(generated)) {
    if (Number(status) < 400) {
      responses[status] = success(Number(status), entry, response, components)
      continue
    }
    const tags = tagsOf(response).filter((tag): tag is Tag => tag in problems && !never.has(tag))
    if (tags.length > 0) responses[status] = sharedRefusal(Number(status), tags, shared)
  }
  return responses
}
