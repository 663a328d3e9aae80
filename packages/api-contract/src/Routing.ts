/** Who gets an event, and why not; which events a filter would let through. Source: spec §4.6 and §6.3. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { EventNotFound } from "@posthorn/domain/Errors"
import { RoutingReason } from "@posthorn/domain/States"
import { Schema } from "effect"
import { EventTypes } from "./EndpointShapes.ts"
import { EndpointId, IdOrNull, Integer, NullOr, Text } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, JsonValue, PageOf, pageQuery, Slug, strictRequest } from "./Shapes.ts"

const REASONS = [
  "`unfilterable`: the publish made a delivery, because the payload could not be judged.",
  "`sent`: the publish made a delivery.",
  "`not_chosen`: the publish named other endpoints.",
  "`about_itself`: `webhook.endpoint_disabled` is not sent to the endpoint that it is about.",
  "`missed`: the endpoint was disabled.",
  "`created_later`: it was not there yet when the publish looked.",
  "`changed_since`: as it is now it would want the event.",
  "`type`: none of its patterns fits the type.",
  "`filter`: its filter does not let the payload through; `because` says where."
].join(" ")

const UnmetCondition = Schema.Struct({
  path: Text("Where in the payload, as a JSON Pointer; of an array without an index.", "/currency"),
  condition: JsonValue.annotations({
    description: "The first condition that does not hold there, as the filter has it.",
    examples: [{ $in: ["USD", "GBP"] }]
  })
}).annotations({ identifier: "UnmetCondition", description: "Why a filter does not let a payload through." })

const EventRoute = Schema.Struct({
  endpointId: EndpointId,
  reason: RoutingReason.annotations({
    description: `Why the endpoint got the event, or did not: the first that is true. ${REASONS}`,
    examples: ["sent"]
  }),
  deliveryId: IdOrNull(
    "delivery",
    "The latest delivery of the event to it, replays included; null without any."
  ),
  because: NullOr(UnmetCondition, "Only with `filter`, by the filter as it is now.", null)
}).annotations({ identifier: "EventRoute", description: "What one endpoint has to do with an event." })

const explainEventRouting = HttpApiEndpoint.get(
  "explainEventRouting",
  "/workspaces/:slug/events/:eventId/routing"
)
  .setPath(Schema.Struct({ slug: Slug, eventId: IdParam("event") }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        ...pageQuery,
        endpointId: Schema.optional(IdParam("endpoint", "Only this endpoint."))
      })
    )
  )
  .addSuccess(PageOf("EventRoute", EventRoute))
  .addError(failure(EventNotFound))
  .annotate(OpenApi.Summary, "Explain who got an event")
  .annotate(
    OpenApi.Description,
    "For every endpoint that there is now, by its id: why it got the event, or why not."
  )
  .annotateContext(
    operation({
      permission: "webhook:list",
      bucket: "assistant",
      tool: "explain_event_routing",
      toolset: "routing",
      guidance:
        "Use it when an event was published and an endpoint has no delivery of it: endpointId asks for that one."
    })
  )

const TriedEvent = Schema.Struct({
  eventId: IdOrNull("event", "Null for the payload that was given."),
  matches: Schema.Boolean.annotations({ description: "Whether the filter holds.", examples: [false] }),
  because: NullOr(UnmetCondition, "Null when it holds.", {
    path: "/currency",
    condition: { $in: ["USD", "GBP"] }
  })
}).annotations({ identifier: "TriedEvent" })

const TriedFilter = Schema.Struct({
  examined: Integer("How many events were judged.", 200),
  matching: Integer("How many of them the filter lets through.", 12),
  events: Schema.Array(TriedEvent).annotations({ description: "Each of them, newest first." })
}).annotations({ identifier: "TriedFilter", description: "What a filter would have let through." })

export const TryFilter = Schema.Struct({
  filter: JsonValue.annotations({
    description: "A filter, as an endpoint takes it.",
    examples: [{ currency: "EUR" }]
  }),
  eventTypes: Schema.optional(EventTypes),
  payload: Schema.optional(
    JsonValue.annotations({ description: "Judges this payload alone, whatever the patterns." })
  )
}).annotations({ identifier: "TryFilter" })

const tryFilter = HttpApiEndpoint.post("tryFilter", "/workspaces/:slug/webhooks/try-filter")
  .setPath(Schema.Struct({ slug: Slug }))
  .setPayload(strictRequest(TryFilter))
  .addSuccess(TriedFilter)
  .annotate(OpenApi.Summary, "Try a filter on real events")
  .annotate(
    OpenApi.Description,
    "Judges the newest 200 events that `eventTypes` want (default all), or one payload. Fewer when payloads are so large that it would take too long. Changes nothing."
  )
  .annotateContext(
    operation({
      permission: "webhook:list",
      bucket: "filter_try",
      tool: "try_webhook_filter",
      toolset: "routing",
      readOnly: true,
      idempotent: true,
      guidance:
        "Use it before an endpoint gets a filter: it tells which recent events would be let through, and why not the others.",
      raw: [["filter"], ["payload"]]
    })
  )

export class RoutingApi extends HttpApiGroup.make("routing")
  .add(explainEventRouting)
  .add(tryFilter)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Routing")
  .annotate(OpenApi.Description, "Who gets an event, and why not; what a filter lets through.") {}
