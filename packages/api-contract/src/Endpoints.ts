/** Webhook endpoints: where a workspace wants its events. Source: spec §2.1, decision §4. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  InvalidWebhookUrl,
  WebhookEndpointDisabled,
  WebhookEndpointNotFound,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { EventTypePattern } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { Delivery } from "./Deliveries.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, Integer, Slug, Timestamp } from "./Wire.ts"

export const endpointFields = {
  id: Schema.String,
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  eventTypes: Schema.Array(Schema.String),
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(Schema.Literal("manual", "consecutive_failures")),
  consecutiveFailures: Integer("Failed attempts in a row; at 20 the endpoint is disabled.")
}

export const WebhookEndpoint = Schema.Struct(endpointFields).annotations({
  identifier: "WebhookEndpoint",
  description: "Where a workspace wants its events, and which."
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

export const EventTypes = Schema.Array(EventTypePattern).pipe(Schema.minItems(1), Schema.maxItems(100)).annotations({
  description: "Exact event types, `prefix.*`, or `*`; 1 to 100 of them.",
  examples: [["invoice.*"]]
})

export const Description = Schema.String.pipe(Schema.maxLength(500)).annotations({
  description: "For people; at most 500 characters.",
  message: () => "Expected at most 500 characters"
})

/** The URL is any text here: the capability judges it, so that a bad one is `InvalidWebhookUrl`. */
export const Url = Schema.String.annotations({
  description: "A public https URL without credentials; at most 2,048 characters.",
  examples: ["https://example.com/webhooks"]
})

export const CreateWebhookEndpoint = Schema.Struct({
  url: Url,
  eventTypes: EventTypes,
  description: Schema.optional(Schema.NullOr(Description)),
  enabled: Schema.optionalWith(Schema.Boolean, { default: () => true })
}).annotations({ identifier: "CreateWebhookEndpoint" })

const inEndpoint = Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint", "whe_") })

const createWebhookEndpoint = HttpApiEndpoint.post("createWebhookEndpoint", "/workspaces/:slug/webhooks")
  .setPath(Schema.Struct({ slug: Slug }))
  .setPayload(CreateWebhookEndpoint)
  .addSuccess(WebhookEndpoint, { status: 201 })
  .addError(failure(WorkspaceNotFound))
  .addError(failure(InvalidWebhookUrl))
  .annotate(OpenApi.Summary, "Create a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "Events that match are delivered from now on. The signing secret is made unseen: rotate it to see one."
  )
  .annotateContext(
    operation({
      permission: "webhook:create",
      bucket: "rest_write",
      tool: "create_webhook_endpoint",
      location: (path, answer) => `/workspaces/${path.slug}/webhooks/${answer.id}`
    })
  )

const sendTestEvent = HttpApiEndpoint.post("sendTestEvent", "/workspaces/:slug/webhooks/:endpointId/test-event")
  .setPath(inEndpoint)
  .addSuccess(Delivery, { status: 202 })
  .addError(failure(WorkspaceNotFound))
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(WebhookEndpointDisabled))
  .annotate(OpenApi.Summary, "Send a test event")
  .annotate(
    OpenApi.Description,
    "Queues a synthetic `webhook.test_event` for this endpoint, whatever it subscribes to. Watch the delivery for the outcome."
  )
  .annotateContext(
    operation({ permission: "webhook:test", bucket: "rest_write", tool: "send_webhook_test_event" })
  )

export const RotatedSecret = Schema.Struct({
  endpointId: Schema.String,
  signingSecret: Schema.String.annotations({ description: "`whsec_<base64>`, shown this once.", examples: ["whsec_…"] }),
  previousSecretExpiresAt: Timestamp.annotations({ description: "Until then deliveries are signed with the old secret too." })
}).annotations({ identifier: "RotatedSecret" })
export type RotatedSecret = typeof RotatedSecret.Type

const rotateWebhookSecret = HttpApiEndpoint.post(
  "rotateWebhookSecret",
  "/workspaces/:slug/webhooks/:endpointId/rotate-secret"
)
  .setPath(inEndpoint)
  .addSuccess(RotatedSecret)
  .addError(failure(WorkspaceNotFound))
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "Rotate the signing secret")
  .annotate(
    OpenApi.Description,
    "The answer holds the new secret, this once. For 24 hours deliveries are signed with the new and the old one; an older one stops at once."
  )
  .annotateContext(
    operation({
      permission: "webhook:rotate_secret",
      bucket: "rest_write",
      tool: "rotate_webhook_secret",
      destructive: true,
      secret: true
    })
  )

export class EndpointsApi extends HttpApiGroup.make("Webhook endpoints")
  .add(createWebhookEndpoint)
  .add(rotateWebhookSecret)
  .add(sendTestEvent)
  .annotate(OpenApi.Description, "Where a workspace wants its events, and which.") {}
