/** Test sends, to try an endpoint. Source: spec §3.1 and §4.3. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  WebhookEndpointDisabled,
  WebhookEndpointNotFound
} from "@posthorn/domain/Errors"
import { EventType } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { Delivery } from "./DeliveryShapes.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, idempotencyKey, JsonValue, Slug, strictRequest, withStatus } from "./Shapes.ts"

const MAX_WAIT_SECONDS = 15

export const SendTestEvent = Schema.Struct({
  eventType: Schema.optional(
    EventType.annotations({
      description: "Default: `webhook.test_event`. Another one needs the permission `event:publish` as well."
    })
  ),
  payload: Schema.optional(
    JsonValue.annotations({
      description: "Default: its type's first example, or a test message."
    })
  ),
  waitSeconds: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(0, MAX_WAIT_SECONDS)).annotations({
      description: "Answer when the first attempt is recorded, or after so many seconds. Default 0: at once.",
      default: 0,
      examples: [10],
      message: () => `Expected a whole number of seconds from 0 to ${MAX_WAIT_SECONDS}`
    })
  )
}).annotations({ identifier: "SendTestEvent" })

export const sendTestEvent = HttpApiEndpoint.post(
  "sendTestEvent",
  "/workspaces/:slug/webhooks/:endpointId/test-event"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(SendTestEvent))
  .addSuccess(withStatus(202, Delivery))
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(WebhookEndpointDisabled))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Send a test event")
  .annotate(
    OpenApi.Description,
    "Queues a synthetic `webhook.test_event`, or what you give, for this endpoint alone, whatever it subscribes to. With `waitSeconds` the answer shows what came of the first attempt."
  )
  .annotateContext(
    operation({
      permission: "webhook:test",
      bucket: "rest_write",
      tool: "send_webhook_test_event",
      toolset: "core",
      guidance:
        "To prove that an endpoint works after a change: waitSeconds 10 shows the outcome at once. A disabled endpoint refuses it: enable it first.",
      optionalBody: true,
      waitsMs: MAX_WAIT_SECONDS * 1000,
      raw: [["payload"]]
    })
  )
