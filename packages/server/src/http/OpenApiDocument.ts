/**
 * The OpenAPI document, derived from the contract that the handlers run. Source: spec §9.
 *
 * `OpenApi.fromApi` generates the operations' schemas with the contract's annotations, and the errors by status. This file adds
 * what annotations cannot express: operation names, required permissions, headers and the webhook itself; and it removes errors
 * that cannot occur.
 */
import { OpenApi } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { parameterOf, shareParameters } from "./openapi/Parameters.ts"
import { errorsText, headers, responsesOf, type Shared } from "./openapi/Responses.ts"
import { type Json, reachable, tidy } from "./openapi/Schemas.ts"
import { exampleOf } from "./openapi/ShapeExamples.ts"
import { webhooksOf } from "./openapi/Webhooks.ts"

const NEEDS: Readonly<Record<string, string>> = {
  operator: "Needs the operator's token.",
  any: "Any valid token may ask."
}

const descriptionOf = ({ rules }: ContractEntry, said: string | undefined) => {
  const needs = NEEDS[rules.permission] ?? `Needs the permission \`${rules.permission}\`.`
  return `${said}\n\n${needs} Counts in the rate limit \`${rules.bucket}\`.`
}

const bodyOf = ({ rules }: ContractEntry, { content }: OpenApi.OpenAPISpecRequestBody, schemas: Json) => {
  const schema = content["application/json"]?.schema
  return {
    required: rules.optionalBody !== true,
    content: { "application/json": { schema, example: exampleOf(schema, schemas) } }
  }
}

const operationOf = (
  entry: ContractEntry,
  generated: OpenApi.OpenAPISpecOperation,
  schemas: Json,
  shared: Shared
) => {
  const { description, parameters, requestBody, responses, ...rest } = generated
  return {
    ...rest,
    operationId: entry.name,
    description: descriptionOf(entry, description),
    parameters: parameters.map((each) => parameterOf(each, schemas)),
    ...(requestBody === undefined ? {} : { requestBody: bodyOf(entry, requestBody, schemas) }),
    responses: responsesOf(entry, responses, schemas, shared)
  }
}

/** The document of this installation. */
export const openApiDocument = ({
  baseUrl,
  version
}: {
  readonly baseUrl: string
  readonly version: string
}) => {
  const generated = OpenApi.fromApi(Api)
  const { schemas, securitySchemes } = generated.components
  const shared: Shared = { responses: {}, examples: {} }
  const paths: Record<string, Record<string, unknown>> = {}
  const operations = entries.map((entry) => {
    const path = entry.path.replace(/:(\w+)/g, "{$1}")
    const method = entry.method.toLowerCase() as OpenApi.OpenAPISpecMethodName
    const operation = operationOf(entry, generated.paths[path]![method]!, schemas, shared)
    paths[path] = { ...paths[path], [method]: operation }
    return operation
  })
  const sent = reachable(
    operations.map(({ requestBody }) => requestBody),
    schemas
  )
  const webhooks = webhooksOf(schemas)
  const used = reachable([operations, shared, webhooks], schemas)
  return {
    openapi: "3.1.0",
    info: {
      ...generated.info,
      version,
      description: `${generated.info.description}\n\n## Errors\n\n${errorsText}`,
      contact: { name: "Whoever runs this installation", url: `${baseUrl}/reference` }
    },
    servers: [{ url: baseUrl, description: "This installation." }],
    security: [{ bearer: [] }],
    tags: generated.tags,
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas)
          .filter(([name]) => used.has(name))
          .map(([name, schema]) => [name, tidy(schema, !sent.has(name))])
      ),
      parameters: shareParameters(operations),
      ...shared,
      headers,
      securitySchemes
    }
  }
}
