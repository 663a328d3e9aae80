/** Reading back published events and their types. Source: spec §4.5. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import {
  EventInDelivery,
  EventNotFound,
  IdempotencyKeyInUse,
  IdempotencyKeyReused
} from "@posthorn/domain/Errors"
import { EventType } from "@posthorn/domain/EventType"
import { Schema } from "effect"
import { described } from "./EventTypes.ts"
import { A_DAY_LATER, TIME } from "./Examples.ts"
import { actorFields, Id, Integer, NullOr, Text, Timestamp, TraceId } from "./Fields.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  IdParam,
  idempotencyKey,
  JsonValue,
  Moment,
  PageOf,
  PayloadChoice,
  pageQuery,
  Slug,
  Storable,
  strictRequest
} from "./Shapes.ts"

export const Event = Schema.Struct({
  id: Id("event", "`evt_…`; newer events have greater ids."),
  eventType: Text("As it was published.", "invoice.paid"),
  payload: JsonValue,
  traceId: TraceId.annotations({
    description: "Of the call that published it; its deliveries send it as `x-trace-id`."
  }),
  endpointIds: NullOr(
    Schema.Array(Schema.String),
    "The endpoints that its publish named; null when it named none: then all that wanted it got it.",
    null
  ),
  retry: Schema.Boolean.annotations({
    description: "False: the publish asked for one attempt of each delivery.",
    examples: [true]
  }),
  actor: Schema.Struct(actorFields).annotations({
    description: "Who published it; of an event published in SQL the role of the database's session."
  }),
  createdAt: Timestamp.annotations({ description: "When it was published." }),
  purgedAt: NullOr(Timestamp, "When its payload was blanked; null unless it was.", null),
  deliveries: Integer("How many deliveries the publish made; replays are not counted.", 2),
  missed: Integer(
    "How many endpoints wanted it, or were named, but were disabled at that moment: no delivery was made for them.",
    0
  )
}).annotations({ identifier: "Event", description: "One thing that happened on the platform." })
export type Event = typeof Event.Type

const EventPage = PageOf("Event", Event)

const EventTypeSummary = Schema.Struct({
  eventType: Text("The type itself.", "invoice.paid"),
  described: Schema.Boolean.annotations({
    description: "Whether the catalogue has it; else what it says is null, false and `off`.",
    examples: [true]
  }),
  ...described,
  lastSeenAt: NullOr(Timestamp, "When an event of it was last published; null when none was.", TIME),
  lastDay: Integer("How many were published in the last 24 hours.", 998),
  endpoints: Integer("How many enabled endpoints match it now.", 2)
}).annotations({
  identifier: "EventTypeSummary",
  description: "One event type that is described or was published, and who wants it."
})

const EventTypePage = PageOf("EventTypeSummary", EventTypeSummary)

export const listEvents = HttpApiEndpoint.get("listEvents", "/workspaces/:slug/events")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        ...pageQuery,
        eventType: Schema.optional(EventType),
        since: Schema.optional(Moment("Only events published then or later.")),
        until: Schema.optional(Moment("Only events published before then.", A_DAY_LATER)),
        idempotencyKey: Schema.optional(
          Storable.pipe(Schema.minLength(1), Schema.maxLength(255)).annotations({
            description: "Only the event that was published under this key, within the last 24 hours.",
            examples: ["invoice-7-paid"],
            message: () => "Expected 1 to 255 characters, all valid Unicode and none NUL"
          })
        ),
        payloadPath: Schema.optional(
          Storable.pipe(Schema.pattern(/^(?:\/(?:[^~/]|~[01])*)+$/), Schema.maxLength(500)).annotations({
            description:
              "With `payloadValue`: only events with this value at this JSON Pointer of their payload.",
            examples: ["/order/id"],
            message: () => "Expected a JSON Pointer such as /order/id"
          })
        ),
        payloadValue: Schema.optional(
          Storable.pipe(Schema.maxLength(1_000)).annotations({
            description:
              'A number, true, false or null as JSON spells it, anything else as text; `"4711"` in quotes is text.',
            examples: ["4711"],
            message: () => "Expected at most 1,000 characters, all valid Unicode and none NUL"
          })
        ),
        payload: PayloadChoice
      })
    )
  )
  .addSuccess(EventPage)
  .annotate(OpenApi.Summary, "List events")
  .annotate(
    OpenApi.Description,
    "What was published, newest first, Posthorn's own events too; test sends are no events. Usually kept for 30 days."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "list_events",
      toolset: "core",
      guidance:
        "To see whether something was published at all, or by a value in its payload; missed counts endpoints that were disabled then, deliveries those it went to."
    })
  )

export const getEvent = HttpApiEndpoint.get("getEvent", "/workspaces/:slug/events/:eventId")
  .setPath(Schema.Struct({ slug: Slug, eventId: IdParam("event") }))
  .addSuccess(Event)
  .addError(failure(EventNotFound))
  .annotate(OpenApi.Summary, "Get an event")
  .annotate(
    OpenApi.Description,
    "With its payload, and how many deliveries it became. List deliveries with its `eventId` to see them."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_event",
      toolset: "core",
      guidance: "For one event's payload."
    })
  )

export const purgeEvent = HttpApiEndpoint.post("purgeEvent", "/workspaces/:slug/events/:eventId/purge")
  .setPath(Schema.Struct({ slug: Slug, eventId: IdParam("event") }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .addSuccess(Event)
  .addError(failure(EventNotFound))
  .addError(failure(EventInDelivery))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Purge an event")
  .annotate(
    OpenApi.Description,
    "Blanks its payload, and the bodies and headers that receivers answered, of replays too. Ids, times, statuses and signatures stay. Deliveries of it must have ended; they cannot be replayed any more."
  )
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_write",
      tool: "purge_event",
      toolset: "operator",
      guidance: "It cannot be undone: ask the user first. Use it for personal data or a secret in a payload.",
      destructive: true,
      idempotent: true
    })
  )

export const listEventTypes = HttpApiEndpoint.get("listEventTypes", "/workspaces/:slug/event-types")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(EventTypePage)
  .annotate(OpenApi.Summary, "List event types")
  .annotate(
    OpenApi.Description,
    "Every event type that is described, or was published in the last 30 days, by name. Compare with an endpoint's `eventTypes` when nothing arrives."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "list_event_types",
      toolset: "core",
      guidance:
        "When an endpoint gets nothing: a misspelt subscription shows here as a type that no endpoint matches."
    })
  )
