/** Trying whether Posthorn can authenticate itself to an endpoint. Source: spec §2.9. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { NullOr, Timestamp } from "./Fields.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, Slug } from "./Shapes.ts"

export const AuthenticationCheck = Schema.Struct({
  ok: Schema.Boolean.annotations({
    description: "Whether Posthorn can authenticate itself; true as well when there is nothing to try.",
    examples: [false]
  }),
  kind: NullOr(
    Schema.Literal("basic", "bearer", "oauth2", "mtls"),
    "How the endpoint's `request` authenticates; null when it does not.",
    "oauth2"
  ),
  reason: NullOr(
    Schema.String,
    "What is wrong: of what a token endpoint said, its status and its OAuth error code.",
    "The token endpoint answered 401 (invalid_client)."
  ),
  expiresAt: NullOr(Timestamp, "When the token just fetched, or the certificate, expires.", null)
}).annotations({
  identifier: "AuthenticationCheck",
  description: "Never a token, nor what else the token endpoint said."
})

export const checkAuthentication = HttpApiEndpoint.post(
  "checkAuthentication",
  "/workspaces/:slug/webhooks/:endpointId/check-authentication"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .addSuccess(AuthenticationCheck)
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "Check an endpoint's authentication")
  .annotate(
    OpenApi.Description,
    "Fetches a token, or looks at the certificate. The endpoint is not asked, and nothing is stored."
  )
  .annotateContext(
    operation({
      permission: "webhook:test",
      bucket: "assistant",
      tool: "check_webhook_authentication",
      toolset: "core",
      guidance: "Use it when attempts are auth_failed, or after its credentials were changed.",
      readOnly: true,
      reachesOut: true
    })
  )
