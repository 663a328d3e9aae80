/**
 * The answers of one operation: its success with an example and its headers, and every refusal it can give, grouped by
 * status, each as `application/problem+json` with an example.
 */
import { PROBLEM_JSON, problems, toProblem } from "@posthorn/api-contract/Problem"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import * as Errors from "@posthorn/domain/Errors"
import { Either, Option, Schema } from "effect"
import { exampleOf, TRACE_ID } from "./Examples.ts"
import { type Json, nameOfRef, refOf } from "./Schemas.ts"

type Tag = Errors.PublicError["_tag"]

/** Errors with facts; the others are made without. */
const samples: { readonly [T in Tag]?: Errors.PublicError } = {
  InvalidWebhookUrl: Object.assign(new Errors.InvalidWebhookUrl({ reason: "not_https" }), {
    explanation: "The URL must begin with https."
  }),
  InvalidRequest: Errors.invalid("/eventTypes", "is missing"),
  Forbidden: new Errors.Forbidden({ permission: "webhook:create" }),
  MethodNotAllowed: new Errors.MethodNotAllowed({ allow: "GET, HEAD" }),
  WebhookEndpointDisabled: new Errors.WebhookEndpointDisabled({
    endpointId: "whe_64401b2c93f5e0b7d1c4a98e62f03"
  }),
  WebhookDeliveryNotReplayable: new Errors.WebhookDeliveryNotReplayable({
    deliveryId: "whd_64401b2c93f5e0b7d1c4a98e62f03",
    deliveryStatus: "delivered"
  }),
  LimitReached: new Errors.LimitReached({ limit: 500, of: "endpoints" }),
  PayloadTooLarge: new Errors.PayloadTooLarge({ limitBytes: 1_048_576 }),
  HeadersTooLarge: new Errors.HeadersTooLarge({ limitBytes: 16_384 }),
  RateLimited: new Errors.RateLimited({ bucket: "rest_read", retryAfterSeconds: 12 }),
  ServiceUnavailable: new Errors.ServiceUnavailable({ retryAfterSeconds: 2 })
}

const sampleOf = (tag: Tag): Errors.PublicError =>
  samples[tag] ?? new (Errors as unknown as Record<Tag, new (facts: object) => Errors.PublicError>)[tag]({})

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

/** Whether any value of the query or the headers is refused; most parameters take everything. */
const judgesParameters = (entry: ContractEntry) =>
  [entry.querySchema, entry.headersSchema].some(
    Option.exists((schema) => {
      const { ast } = Schema.encodedSchema(schema as Schema.Schema<unknown>)
      const names = "propertySignatures" in ast ? ast.propertySignatures.map(({ name }) => String(name)) : []
      const nonsense = Object.fromEntries(names.map((name) => [name, ""]))
      return Either.isLeft(Schema.decodeUnknownEither(schema as Schema.Schema<unknown>)(nonsense))
    })
  )

/** Errors that the contract declares for all operations, and that this one cannot give. */
const impossible = (entry: ContractEntry): ReadonlySet<string> => {
  const hasBody = Option.isSome(entry.bodySchema)
  const excluded = hasBody ? [] : ["PayloadTooLarge", "RequestTimeout", "UnsupportedMediaType"]
  return new Set(hasBody || judgesParameters(entry) ? excluded : [...excluded, "InvalidRequest"])
}

const tagsOf = (response: Json): ReadonlyArray<string> => {
  const [media] = Object.values((response.content ?? {}) as Json)
  const schema = (media as Json | undefined)?.schema as Json | undefined
  const choices = (schema?.anyOf ?? [schema]) as ReadonlyArray<unknown>
  return choices.flatMap((choice) => nameOfRef(choice) ?? [])
}

const headersOf = (status: number) => ({
  ...common,
  ...(status === 404 ? {} : counted),
  ...(status === 429 || status === 503 ? { "Retry-After": header("RetryAfter") } : {}),
  ...(status === 401 ? { "WWW-Authenticate": header("WwwAuthenticate") } : {})
})

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
export const errorsText = Object.entries(problems)
  .map(
    ([tag, { status, title }]) =>
      `### ${tag}\n\n${status}: ${title}. For example: ${sampleOf(tag as Tag).message}`
  )
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
  200: "Done.",
  201: "Created.",
  202: "Accepted: stored, and on its way.",
  204: "Done; there is nothing to say."
}

const success = (entry: ContractEntry, response: Json, components: Record<string, Json>) => {
  const [media] = Object.values((response.content ?? {}) as Json) as ReadonlyArray<Json>
  return {
    description: DESCRIPTIONS[entry.successStatus] ?? "Done.",
    headers: {
      ...common,
      ...counted,
      ...(entry.rules.tagged ? { ETag: header("ETag") } : {}),
      ...(entry.rules.location ? { Location: header("Location") } : {})
    },
    ...(media === undefined
      ? {}
      : {
          content: {
            // Not `example`: the reference page passes that over.
            "application/json": {
              schema: media.schema,
              examples: { success: { value: exampleOf(media.schema, components) } }
            }
          }
        })
  }
}

export const responsesOf = (
  entry: ContractEntry,
  generated: Json,
  components: Record<string, Json>,
  shared: Shared
) => {
  const never = impossible(entry)
  const responses: Record<string, unknown> = {}
  for (const [status, response] of Object.entries(generated)) {
    if (Number(status) < 400) {
      responses[status] = success(entry, response as Json, components)
      continue
    }
    const tags = tagsOf(response as Json).filter((tag): tag is Tag => tag in problems && !never.has(tag))
    if (tags.length > 0) responses[status] = sharedRefusal(Number(status), tags, shared)
  }
  return responses
}
