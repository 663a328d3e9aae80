/** Publishing domain events. Source: spec §6, §4.4 and §3.4. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  InvalidPayload,
  QuotaExceeded
} from "@posthorn/domain/Errors"
import { EventType } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { getEvent, listEvents, listEventTypes, purgeEvent } from "./EventHistory.ts"
import { exampleId } from "./Examples.ts"
import { Id, TypeOfEvent } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, idempotencyKey, JsonValue, Slug, Storable, strictRequest, withStatus } from "./Shapes.ts"

const IdempotencyKey = Storable.pipe(Schema.minLength(1), Schema.maxLength(255)).annotations({
  description:
    "Publishing again with the same key within 24 hours creates nothing and gives the first answer.",
  examples: ["invoice-7-paid"],
  message: () => "Expected 1 to 255 characters, all valid Unicode and none NUL"
})

const EndpointIds = Schema.Array(IdParam("endpoint"))
  .pipe(
    Schema.minItems(1),
    Schema.maxItems(100),
    Schema.filter((ids) => new Set(ids).size === ids.length, { jsonSchema: { uniqueItems: true } })
  )
  .annotations({
    description:
      "Exactly these get it, whatever they subscribe to; 1 to 100, each once. One that is disabled has missed it.",
    examples: [[exampleId("endpoint")]],
    message: () => "Expected the ids of 1 to 100 endpoints, each once"
  })

export const PublishEvent = Schema.Struct({
  eventType: EventType,
  payload: JsonValue,
  idempotencyKey: Schema.optional(IdempotencyKey),
  endpointIds: Schema.optional(EndpointIds),
  retry: Schema.optional(
    Schema.Boolean.annotations({
      description: "False: one attempt. Replays of it follow the endpoint's policy.",
      jsonSchema: { default: true }
    })
  )
}).annotations({ identifier: "PublishEvent" })

const PublishedEvent = Schema.Struct({
  id: Id("event"),
  eventType: TypeOfEvent,
  deliveryIds: Schema.Array(Schema.String).annotations({
    description: "One delivery for each enabled endpoint that matches, or is named.",
    examples: [[exampleId("delivery")]]
  }),
  duplicate: Schema.Boolean.annotations({
    description: "Whether the idempotency key had been used: then nothing was created.",
    examples: [false]
  })
}).annotations({ identifier: "PublishedEvent" })

const publishEvent = HttpApiEndpoint.post("publishEvent", "/workspaces/:slug/events")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(IdempotencyKey) }))
  .setPayload(strictRequest(PublishEvent))
  .addSuccess(withStatus(202, PublishedEvent))
  .addError(failure(InvalidPayload))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(QuotaExceeded))
  .annotate(OpenApi.Summary, "Publish an event")
  .annotate(
    OpenApi.Description,
    "Queues one delivery for each enabled endpoint whose subscriptions match, or that `endpointIds` names. Once this is answered, the event is durable. The payload reaches receivers exactly as written here."
  )
  .annotateContext(
    operation({
      permission: "event:publish",
      bucket: "event_publish",
      tool: "publish_event",
      toolset: "publish",
      ownKeys: true,
      guidance:
        "Every matching endpoint gets it, so do not use it to try one out: that is send_webhook_test_event. deliveryIds is empty when no enabled endpoint subscribes to the type: list_webhook_endpoints shows what they subscribe to.",
      raw: [["payload"]]
    })
  )

export const PublishEvents = Schema.Struct({
  events: Schema.Array(PublishEvent)
    .pipe(Schema.minItems(1), Schema.maxItems(1000))
    .annotations({
      description: "1 to 1,000 events, in the order they happened.",
      message: () => "Expected 1 to 1,000 events"
    })
}).annotations({
  identifier: "PublishEvents",
  // Of thousands of events only the first fault is reported: the library needs 0.1 ms for each.
  parseOptions: { errors: "first", exact: true, onExcessProperty: "error" }
})

const PublishedEvents = Schema.Struct({
  items: Schema.Array(PublishedEvent).annotations({
    description: "One answer per event, in the order they were sent."
  })
}).annotations({ identifier: "PublishedEvents" })

const publishEvents = HttpApiEndpoint.post("publishEvents", "/workspaces/:slug/events/batch")
  .setPath(Schema.Struct({ slug: Slug }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(PublishEvents)
  .addSuccess(withStatus(202, PublishedEvents))
  .addError(failure(InvalidPayload))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(QuotaExceeded))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Publish several events")
  .annotate(
    OpenApi.Description,
    "All or nothing: one event that is refused refuses the whole batch. The answers come in the order of the events."
  )
  .annotateContext(
    operation({
      permission: "event:publish",
      bucket: "event_publish",
      tool: "publish_events",
      toolset: "publish",
      repeated: ({ items }: typeof PublishedEvents.Type) => ({
        items: items.map((item) => ({ ...item, duplicate: true }))
      }),
      guidance: "Use it instead of many single publishes.",
      raw: [["events", "*", "payload"]]
    })
  )

export class EventsApi extends HttpApiGroup.make("events")
  .add(publishEvent)
  .add(publishEvents)
  .add(listEvents)
  .add(getEvent)
  .add(listEventTypes)
  .add(purgeEvent)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Events")
  .annotate(OpenApi.Description, "What happened on the platform.") {}
