/** Publishing domain events. Source: spec §6, decision §4 and §7. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { IdempotencyKeyReused, WorkspaceNotFound } from "@posthorn/domain/Errors"
import { EventType } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { JsonValue, Slug } from "./Wire.ts"

export const IdempotencyKey = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)).annotations({
  description: "Publishing again with the same key within 24 hours creates nothing and gives the first answer.",
  examples: ["invoice-7-paid"],
  message: () => "Expected 1 to 255 characters"
})

export const PublishEvent = Schema.Struct({
  eventType: EventType,
  payload: JsonValue,
  idempotencyKey: Schema.optional(IdempotencyKey)
}).annotations({ identifier: "PublishEvent" })

export const PublishedEvent = Schema.Struct({
  id: Schema.String,
  eventType: Schema.String,
  deliveryIds: Schema.Array(Schema.String).annotations({ description: "One delivery for each enabled endpoint that matches." }),
  duplicate: Schema.Boolean.annotations({ description: "Whether the idempotency key had been used: then nothing was created." })
}).annotations({ identifier: "PublishedEvent" })
export type PublishedEvent = typeof PublishedEvent.Type

const publishEvent = HttpApiEndpoint.post("publishEvent", "/workspaces/:slug/events")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(IdempotencyKey) }))
  .setPayload(PublishEvent)
  .addSuccess(PublishedEvent, { status: 202 })
  .addError(failure(WorkspaceNotFound))
  .addError(failure(IdempotencyKeyReused))
  .annotate(OpenApi.Summary, "Publish an event")
  .annotate(
    OpenApi.Description,
    "Queues one delivery for each enabled endpoint whose subscriptions match. Answered means durable. The payload reaches receivers exactly as written here."
  )
  .annotateContext(
    operation({ permission: "event:publish", bucket: "event_publish", tool: "publish_event", raw: [["payload"]] })
  )

export class EventsApi extends HttpApiGroup.make("Events")
  .add(publishEvent)
  .annotate(OpenApi.Description, "What happened on the platform.") {}
