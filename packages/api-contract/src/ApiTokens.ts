/** API tokens of a workspace. The token itself is shown once, in the answer that creates it. Source: decision §3. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { WorkspaceNotFound } from "@posthorn/domain/Errors"
import { Scope } from "@posthorn/domain/Permission"
import { Schema } from "effect"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Slug, Timestamp } from "./Wire.ts"

const fields = {
  id: Schema.String,
  name: Schema.String,
  scopes: Schema.Array(Scope),
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  lastUsedAt: Schema.NullOr(Timestamp).annotations({ description: "To the minute." }),
  revokedAt: Schema.NullOr(Timestamp)
}

export const ApiToken = Schema.Struct(fields).annotations({ identifier: "ApiToken" })
export type ApiToken = typeof ApiToken.Type

export const CreatedApiToken = Schema.Struct({
  ...fields,
  token: Schema.String.annotations({ description: "The token itself, shown this once. Only a hash of it is kept." })
}).annotations({ identifier: "CreatedApiToken" })
export type CreatedApiToken = typeof CreatedApiToken.Type

export const CreateApiToken = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)).annotations({
    description: "What it is for.",
    examples: ["Billing service"],
    message: () => "Expected 1 to 200 characters"
  }),
  scopes: Schema.Array(Scope).pipe(Schema.minItems(1), Schema.maxItems(50)).annotations({
    description: "Permissions or bundles; together no more than the caller may do.",
    examples: [["event:publish"]]
  }),
  expiresAt: Schema.optional(Schema.NullOr(Timestamp))
}).annotations({ identifier: "CreateApiToken" })

const createApiToken = HttpApiEndpoint.post("createApiToken", "/workspaces/:slug/api-tokens")
  .setPath(Schema.Struct({ slug: Slug }))
  .setPayload(CreateApiToken)
  .addSuccess(CreatedApiToken, { status: 201 })
  .addError(failure(WorkspaceNotFound))
  .annotate(OpenApi.Summary, "Create an API token")
  .annotate(
    OpenApi.Description,
    "The answer holds the token, this once. Its scopes may grant no more than the caller may do: otherwise 403."
  )
  .annotateContext(
    operation({ permission: "token:create", bucket: "rest_write", tool: "create_api_token", secret: true })
  )

export class ApiTokensApi extends HttpApiGroup.make("API tokens")
  .add(createApiToken)
  .annotate(OpenApi.Description, "Bearer tokens of a workspace, each with its scopes.") {}
