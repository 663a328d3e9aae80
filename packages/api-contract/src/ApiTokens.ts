/** API tokens of a workspace. The token itself is shown once, in the answer that creates it. Source: spec §5.1. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  ApiTokenNotFound,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  LimitReached
} from "@posthorn/domain/Errors"
import { Scope } from "@posthorn/domain/Permission"
import { Maker } from "@posthorn/domain/Principal"
import { Schema } from "effect"
import { A_YEAR_LATER, API_TOKEN, exampleId, TIME } from "./Examples.ts"
import { ExpiresAt, Id, NullOr, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  Flag,
  IdParam,
  idempotencyKey,
  Label,
  Moment,
  PageOf,
  pageQuery,
  Slug,
  strictRequest,
  withStatus
} from "./Shapes.ts"

const fields = {
  id: Id("token"),
  name: Text("For people.", "Billing service"),
  scopes: Schema.Array(Scope).annotations({
    description: "Permissions, and bundles of them.",
    examples: [["read", "event:publish"]]
  }),
  createdAt: Timestamp,
  expiresAt: ExpiresAt,
  lastUsedAt: NullOr(Timestamp, "When it was last used, to the minute; null when it never was.", TIME),
  revokedAt: NullOr(Timestamp, "When it was revoked; null when it was not.", null),
  createdBy: NullOr(
    Schema.Struct({
      type: Maker.fields.type.annotations({ description: "Its kind." }),
      id: Text("Id of the token or the member; `operator` for the operator.", exampleId("member"))
    }),
    "Who made it; null for tokens that are older than this member.",
    { type: "member", id: exampleId("member") }
  )
}

const ApiToken = Schema.Struct(fields).annotations({ identifier: "ApiToken" })

export const CreatedApiToken = Schema.Struct({
  ...fields,
  token: Text("The token itself, shown only here. Only a hash of it is stored.", API_TOKEN)
}).annotations({ identifier: "CreatedApiToken" })
export type CreatedApiToken = typeof CreatedApiToken.Type

const END =
  "When it ends: at the latest when its maker does, as it does when this is null or left out. Never, when its maker does not."

const CreateApiToken = Schema.Struct({
  name: Label(200, "What it is for.", "Billing service"),
  scopes: Schema.Array(Scope)
    .pipe(Schema.minItems(1), Schema.maxItems(50))
    .annotations({
      description: "Permissions or bundles; together no more than the caller may do.",
      examples: [["read", "event:publish"]]
    }),
  expiresAt: Schema.optional(NullOr(Moment(END), END, A_YEAR_LATER))
}).annotations({ identifier: "CreateApiToken" })

const createApiToken = HttpApiEndpoint.post("createApiToken", "/workspaces/:slug/api-tokens")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(CreateApiToken))
  .addSuccess(withStatus(201, CreatedApiToken))
  .addError(failure(LimitReached))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Create an API token")
  .annotate(
    OpenApi.Description,
    "Only this answer contains the token. Scopes that grant more than the caller may do are refused. It expires with the token that made it at the latest."
  )
  .annotateContext(
    operation({
      permission: "token:create",
      bucket: "rest_write",
      tool: "create_api_token",
      toolset: "manage",
      guidance:
        "Ask for the narrowest scopes that do the job. Give the token to the user, and do not repeat it.",
      secret: "token"
    })
  )

const ApiTokenPage = PageOf("ApiToken", ApiToken)

const listApiTokens = HttpApiEndpoint.get("listApiTokens", "/workspaces/:slug/api-tokens")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(ApiTokenPage)
  .annotate(OpenApi.Summary, "List API tokens")
  .annotate(
    OpenApi.Description,
    "Newest first, revoked and expired ones included. Never with the token itself."
  )
  .annotateContext(
    operation({
      permission: "token:list",
      bucket: "rest_read",
      tool: "list_api_tokens",
      toolset: "manage",
      guidance: "Use it to find a token's id, or tokens nobody uses (lastUsedAt)."
    })
  )

const revokeApiToken = HttpApiEndpoint.del("revokeApiToken", "/workspaces/:slug/api-tokens/:tokenId")
  .setPath(Schema.Struct({ slug: Slug, tokenId: IdParam("token") }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        descendants: Flag(
          "Also revoke every token made by this one, directly or through others, even if one in between is already revoked."
        )
      })
    )
  )
  .addSuccess(Schema.Void, { status: 204 })
  .addError(failure(ApiTokenNotFound))
  .annotate(OpenApi.Summary, "Revoke an API token")
  .annotate(
    OpenApi.Description,
    "Takes effect everywhere within a second, permanently. Revoking it again changes nothing. A leaked token may have made others: `descendants=true` revokes those too, even if the token itself is already revoked."
  )
  .annotateContext(
    operation({
      permission: "token:revoke",
      bucket: "rest_write",
      tool: "revoke_api_token",
      toolset: "manage",
      guidance: "Whatever uses it stops working: ask the user first.",
      destructive: true,
      idempotent: true
    })
  )

export class ApiTokensApi extends HttpApiGroup.make("apiTokens")
  .add(createApiToken)
  .add(listApiTokens)
  .add(revokeApiToken)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "API tokens")
  .annotate(OpenApi.Description, "Bearer tokens of a workspace, each with its scopes.") {}
