/**
 * Payloads of operational events (migrations/0013_operations.sql). No operation answers them; they are part of the OpenAPI document.
 * Source: spec §6.4.
 */
import { Schema } from "effect"
import {
  DeliveryId,
  EndpointId,
  Id,
  Integer,
  SlugOfWorkspace,
  Text,
  Timestamp,
  TypeOfEvent
} from "./Fields.ts"

const about = {
  workspace: Schema.Struct({ id: Id("workspace"), slug: SlugOfWorkspace }).annotations({
    description: "Where it happened."
  })
}
const endpoint = { endpointId: EndpointId }
const streak = {
  consecutiveFailures: Integer("How many attempts in a row have failed.", 10),
  failingSince: Timestamp.annotations({ description: "When the first of them was recorded." })
}
const EventId = Id("event", "Id of the event.")

const event = <Fields extends Schema.Struct.Fields>(name: string, description: string, fields: Fields) =>
  Schema.Struct({ ...about, ...fields }).annotations({ identifier: name, description })

/** The payload of each event type. */
export const operationalEvents = {
  "endpoint.created": event("EndpointCreated", "A webhook endpoint was made.", endpoint),
  "endpoint.updated": event(
    "EndpointUpdated",
    "Settings of a webhook endpoint were changed, or its secret was rotated.",
    {
      ...endpoint,
      fields: Schema.Array(Text("A member of the endpoint.", "url")).annotations({
        description: "Which members have changed."
      })
    }
  ),
  "endpoint.deleted": event(
    "EndpointDeleted",
    "A webhook endpoint was deleted, alone or with its workspace.",
    endpoint
  ),
  "endpoint.failing": event(
    "EndpointFailing",
    "A webhook endpoint fails, and is half of the way to being disabled. Once in a streak.",
    { ...endpoint, deliveryId: DeliveryId, ...streak }
  ),
  "endpoint.disabled": event(
    "EndpointDisabled",
    "A webhook endpoint was disabled, by its failures or by hand.",
    {
      ...endpoint,
      reason: Schema.Literal("manual", "consecutive_failures", "failing_for", "gone").annotations({
        description: "Why; `manual` is by hand."
      }),
      deliveryId: Schema.optional(DeliveryId),
      consecutiveFailures: Schema.optional(streak.consecutiveFailures),
      failingSince: Schema.optional(streak.failingSince)
    }
  ),
  "endpoint.recovered": event(
    "EndpointRecovered",
    "The first delivery to a webhook endpoint that succeeds after it was failing, or after it was enabled.",
    { ...endpoint, deliveryId: DeliveryId }
  ),
  "delivery.dead_lettered": event("DeliveryDeadLettered", "A delivery was given up.", {
    ...endpoint,
    deliveryId: DeliveryId,
    eventId: Schema.optional(
      EventId.annotations({ description: "Id of the event; absent for a test send." })
    ),
    eventType: TypeOfEvent,
    replayId: Schema.optional(Id("replay", "Id of the replay job that made it.")),
    reason: Schema.Literal("retries_spent", "no_outcome", "never_sent").annotations({ description: "Why." })
  }),
  "replay.finished": event("ReplayFinished", "A replay job is done, or was cancelled.", {
    ...endpoint,
    replayId: Id("replay", "Id of the replay job."),
    state: Schema.Literal("done", "cancelled").annotations({ description: "How it ended." }),
    matched: Integer("Deliveries and events that it was to send again.", 12),
    replayed: Integer("How many of them it has sent again.", 12),
    failed: Integer("How many of them were gone.", 0)
  }),
  "payload.deviated": event(
    "PayloadDeviated",
    "A payload that was published does not fit its type's schema in the catalogue. Once for each type and hour.",
    { eventId: EventId, eventType: TypeOfEvent }
  )
} as const

export type OperationalEvent = keyof typeof operationalEvents
