/** Webhook endpoints: where a workspace wants its events. Source: spec §2.1 and §4.2. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  ExternalIdTaken,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  InvalidWebhookUrl,
  LimitReached,
  PreconditionFailed,
  WebhookEndpointNotFound
} from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { checkAuthentication } from "./AuthenticationChecks.ts"
import { diagnoseWebhookEndpoint } from "./Diagnosis.ts"
import {
  CreatedWebhookEndpoint,
  CreateWebhookEndpoint,
  ExternalId,
  RotatedSecret,
  UpdateWebhookEndpoint,
  WebhookEndpointDetail,
  WebhookEndpointPage
} from "./EndpointShapes.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  IdParam,
  idempotencyKey,
  ifMatch,
  pageQuery,
  Slug,
  Storable,
  strictRequest,
  withDefault,
  withStatus
} from "./Shapes.ts"
import { explainSignature } from "./Signatures.ts"
import { getEndpointStats } from "./Statistics.ts"
import { sendTestEvent } from "./TestSends.ts"

const inEndpoint = Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") })

const createWebhookEndpoint = HttpApiEndpoint.post("createWebhookEndpoint", "/workspaces/:slug/webhooks")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(CreateWebhookEndpoint))
  .addSuccess(withStatus(201, CreatedWebhookEndpoint))
  .addError(failure(LimitReached))
  .addError(failure(InvalidWebhookUrl))
  .addError(failure(ExternalIdTaken))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Create a webhook endpoint")
  .annotate(OpenApi.Description, "Events that match are delivered from now on.")
  .annotateContext(
    operation({
      permission: "webhook:create",
      bucket: "rest_write",
      tool: "create_webhook_endpoint",
      toolset: "manage",
      tagged: true,
      secret: "signingSecret",
      notInTool: { body: ["revealSecret"], answer: ["signingSecret"] },
      guidance:
        "Next: rotate_webhook_secret gives the secret that its receiver verifies with, then send_webhook_test_event.",
      location: (path, answer) => `/workspaces/${path.slug}/webhooks/${answer.id}`,
      raw: [["filter"]]
    })
  )

const listWebhookEndpoints = HttpApiEndpoint.get("listWebhookEndpoints", "/workspaces/:slug/webhooks")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        ...pageQuery,
        externalId: Schema.optional(
          ExternalId.annotations({ description: "Only the endpoint with this external id." })
        ),
        search: Schema.optional(
          Storable.pipe(Schema.minLength(1), Schema.maxLength(100)).annotations({
            description: "In URL, description or external id; in any case.",
            message: () => "Expected 1 to 100 characters, all valid Unicode and none NUL"
          })
        ),
        state: Schema.optional(
          Schema.Literal("enabled", "disabled", "failing").annotations({
            description: "`failing`: enabled, with failures in a row."
          })
        ),
        order: withDefault(
          Schema.Literal("id", "recent").annotations({ description: "`recent`: newest first." }),
          "id"
        )
      })
    )
  )
  .addSuccess(WebhookEndpointPage)
  .annotate(OpenApi.Summary, "List webhook endpoints")
  .annotate(OpenApi.Description, "In the order they were created.")
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "list_webhook_endpoints",
      toolset: "core",
      guidance:
        "To find the id that other tools ask for; consecutiveFailures above 0 or enabled false means trouble: diagnose_webhook_endpoint."
    })
  )

const getWebhookEndpoint = HttpApiEndpoint.get("getWebhookEndpoint", "/workspaces/:slug/webhooks/:endpointId")
  .setPath(inEndpoint)
  .addSuccess(WebhookEndpointDetail)
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "Get a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "With its times, and what it missed while it was disabled. Never with its secret."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_webhook_endpoint",
      toolset: "core",
      tagged: true,
      guidance: "To learn why it does not get its webhooks, call diagnose_webhook_endpoint instead."
    })
  )

const updateWebhookEndpoint = HttpApiEndpoint.patch(
  "updateWebhookEndpoint",
  "/workspaces/:slug/webhooks/:endpointId"
)
  .setPath(inEndpoint)
  .setHeaders(Schema.Struct(ifMatch))
  .setPayload(strictRequest(UpdateWebhookEndpoint))
  .addSuccess(WebhookEndpointDetail)
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(InvalidWebhookUrl))
  .addError(failure(ExternalIdTaken))
  .addError(failure(PreconditionFailed))
  .annotate(OpenApi.Summary, "Update a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "Changes only the members that are sent. Disabling stops delivery and keeps history; enabling sets the failure streak to 0 and lets waiting deliveries go on."
  )
  .annotateContext(
    operation({
      permission: "webhook:update",
      bucket: "rest_write",
      tool: "update_webhook_endpoint",
      toolset: "core",
      tagged: true,
      guidance:
        "To correct a URL, change subscriptions, or enable it again once its cause is mended; then send_webhook_test_event shows whether it works.",
      destructive: true,
      idempotent: true,
      raw: [["filter"]]
    })
  )

const deleteWebhookEndpoint = HttpApiEndpoint.del(
  "deleteWebhookEndpoint",
  "/workspaces/:slug/webhooks/:endpointId"
)
  .setPath(inEndpoint)
  .setHeaders(Schema.Struct(ifMatch))
  .addSuccess(Schema.Void, { status: 204 })
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(PreconditionFailed))
  .annotate(OpenApi.Summary, "Delete a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "Also deletes its deliveries and attempts, of a long history some minutes later; none of them is sent any more. To stop delivery and keep history, disable it instead."
  )
  .annotateContext(
    operation({
      permission: "webhook:delete",
      bucket: "rest_write",
      tool: "delete_webhook_endpoint",
      toolset: "manage",
      guidance: "Ask the user first.",
      destructive: true
    })
  )

const rotateWebhookSecret = HttpApiEndpoint.post(
  "rotateWebhookSecret",
  "/workspaces/:slug/webhooks/:endpointId/rotate-secret"
)
  .setPath(inEndpoint)
  .setHeaders(Schema.Struct(idempotencyKey))
  .addSuccess(RotatedSecret)
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Rotate the signing secret")
  .annotate(
    OpenApi.Description,
    "Only this answer contains the new secret. For 24 hours deliveries are signed with the new and the old one; an even older one stops at once."
  )
  .annotateContext(
    operation({
      permission: "webhook:rotate_secret",
      bucket: "rest_write",
      tool: "rotate_webhook_secret",
      toolset: "core",
      guidance:
        "After creating an endpoint, when the secret was lost, or when it leaked. Give the secret to the user for the receiver, and do not repeat it. Not within 24 hours of an earlier rotation: that drops a secret the receiver may still use.",
      destructive: true,
      secret: "signingSecret"
    })
  )

export class EndpointsApi extends HttpApiGroup.make("endpoints")
  .add(createWebhookEndpoint)
  .add(listWebhookEndpoints)
  .add(getWebhookEndpoint)
  .add(updateWebhookEndpoint)
  .add(deleteWebhookEndpoint)
  .add(getEndpointStats)
  .add(diagnoseWebhookEndpoint)
  .add(rotateWebhookSecret)
  .add(checkAuthentication)
  .add(sendTestEvent)
  .add(explainSignature)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Webhook endpoints")
  .annotate(OpenApi.Description, "Where a workspace wants its events, and which.") {}
