/**
 * The OpenAPI document, derived from the contract that the handlers run. Source: spec §9.
 *
 * `OpenApi.fromApi` gives the schemas and which error stands at which status; the rest (names, headers,
 * examples, only the errors that can occur) is read off the contract here.
 */
import { OpenApi } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { described } from "./openapi/Descriptions.ts"
import { exampleOf } from "./openapi/Examples.ts"
import { shareParameters } from "./openapi/Parameters.ts"
import { errorsText, headers, responsesOf } from "./openapi/Responses.ts"
import { clean, cleanComponents, type Json, nameOfRef, opened, reachable } from "./openapi/Schemas.ts"
import { deliveryRequest, webhooks } from "./openapi/Webhooks.ts"

const DESCRIPTION = `Posthorn delivers a platform's webhooks: signed, retried, evidenced, replayable.

Every call carries an API token of one workspace: \`Authorization: Bearer <token>\`. Lists answer \`{items, nextCursor}\`;
give \`nextCursor\` back as \`cursor\` until it is null. Every refusal is a problem (RFC 9457) with a \`_tag\` to switch on
and a \`detail\` that says what to do; its \`type\` leads to its place below. Every answer has an \`x-trace-id\`.

Every POST takes an \`Idempotency-Key\`, so that it can be sent again safely. Members may be added to answers at any time:
pass over those you do not know.

## Errors

${errorsText}`

const OPERATOR_ONLY = "Needs the operator's token."
const ANY_TOKEN = "Any valid token may ask."

const NEEDS: Readonly<Record<string, string>> = { operator: OPERATOR_ONLY, any: ANY_TOKEN }

const describe = ({ rules }: ContractEntry, description: unknown) => {
  const needs = NEEDS[rules.permission] ?? `Needs the permission \`${rules.permission}\`.`
  const said = String(description).replace(OPERATOR_ONLY, "").trim()
  return `${said}\n\n${needs} Counts in the rate limit \`${rules.bucket}\`.`
}

const parameter = (generated: unknown, raw: Json) => {
  const { schema, ...rest } = clean(generated, raw) as Json & { readonly schema: Json }
  const { description, examples, ...bare } = schema
  const component = raw[nameOfRef(schema) ?? ""] as Json | undefined
  const [example] = (examples ?? []) as ReadonlyArray<unknown>
  return {
    ...rest,
    description: description ?? component?.description ?? rest.description,
    ...(example === undefined ? {} : { example }),
    schema: bare
  }
}

const requestBody = (entry: ContractEntry, generated: unknown, components: Record<string, Json>) => {
  const schema = ((generated as Json).content as Record<string, { readonly schema: unknown }>)[
    "application/json"
  ]?.schema
  return {
    required: entry.rules.optionalBody !== true,
    content: { "application/json": { schema, example: exampleOf(schema, components) } }
  }
}

const pathOf = (entry: ContractEntry) => entry.path.replace(/:(\w+)/g, "{$1}")

/** The document of this installation. */
export const openApiDocument = (installation: { readonly baseUrl: string; readonly version: string }) => {
  const document = OpenApi.fromApi(Api) as unknown as {
    readonly components: { readonly schemas: Json; readonly securitySchemes: Json }
    readonly paths: Record<string, Record<string, Json>>
    readonly tags: ReadonlyArray<Json>
  }
  const raw = document.components.schemas
  const components = { ...cleanComponents(raw), DeliveryRequest: deliveryRequest as Json }
  const paths: Record<string, Record<string, unknown>> = {}
  const shared = { responses: {}, examples: {} }
  for (const entry of entries) {
    const path = pathOf(entry)
    const generated = document.paths[path]![entry.method.toLowerCase()]!
    paths[path] ??= {}
    paths[path][entry.method.toLowerCase()] = {
      operationId: entry.name,
      summary: generated.summary,
      description: describe(entry, generated.description),
      tags: generated.tags,
      security: generated.security,
      parameters: (generated.parameters as ReadonlyArray<unknown>).map((each) => parameter(each, raw)),
      ...(generated.requestBody === undefined
        ? {}
        : { requestBody: requestBody(entry, generated.requestBody, components) }),
      responses: responsesOf(entry, clean(generated.responses, raw) as Json, components, shared)
    }
  }
  const sent = reachable(
    Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((each) => (each as Json).requestBody)
    ),
    components
  )
  const used = reachable([paths, shared, webhooks], components)
  const parameters = shareParameters(paths)
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version: installation.version,
      summary: "Delivers a platform's webhooks: signed, retried, evidenced, replayable.",
      description: DESCRIPTION,
      contact: { name: "Whoever runs this installation", url: `${installation.baseUrl}/reference` },
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" }
    },
    servers: [{ url: installation.baseUrl, description: "This installation." }],
    security: [{ bearer: [] }],
    tags: document.tags,
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(
        Object.entries(components)
          .filter(([name]) => used.has(name))
          .map(([name, schema]) => [name, described(name, sent.has(name) ? schema : opened(schema))])
      ),
      parameters,
      responses: shared.responses,
      examples: shared.examples,
      headers,
      securitySchemes: document.components.securitySchemes
    }
  }
}
