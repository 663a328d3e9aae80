/** What a webhook endpoint looks like, and what may be asked of one. Source: spec §2.1, decision §4. */
import { EventTypePattern } from "@posthorn/domain/EventType"
import { DisabledReason } from "@posthorn/domain/States"
import { Schema } from "effect"
import { Integer, PageOf, Storable, Timestamp, withDefault } from "./Wire.ts"

export const endpointFields = {
  id: Schema.String,
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  eventTypes: Schema.Array(Schema.String),
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(DisabledReason),
  consecutiveFailures: Integer("Failed attempts in a row; at 20 the endpoint is disabled.")
}

export const WebhookEndpoint = Schema.Struct(endpointFields).annotations({
  identifier: "WebhookEndpoint",
  description: "Where a workspace wants its events, and which."
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

export const WebhookEndpointDetail = Schema.Struct({
  ...endpointFields,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  previousSecretExpiresAt: Schema.NullOr(Timestamp).annotations({
    description: "Until then deliveries are signed with the previous secret too; null when there is none."
  }),
  missedEvents: Schema.Struct({
    count: Integer("How many events matched."),
    since: Schema.NullOr(Timestamp).annotations({
      description: "When the present or latest disabled time began; null when it was never disabled."
    })
  }).annotations({ description: "Events that matched while it was disabled: no delivery was made for them." })
}).annotations({ identifier: "WebhookEndpointDetail", description: "An endpoint with its times." })
export type WebhookEndpointDetail = typeof WebhookEndpointDetail.Type

export const WebhookEndpointPage = PageOf("WebhookEndpoint", WebhookEndpoint)

export const EventTypes = Schema.Array(EventTypePattern)
  .pipe(Schema.minItems(1), Schema.maxItems(100))
  .annotations({
    description: "Exact event types, `prefix.*`, or `*`; 1 to 100 of them.",
    examples: [["invoice.*"]]
  })

export const Description = Storable.pipe(Schema.maxLength(500)).annotations({
  description: "For people; at most 500 characters.",
  message: () => "Expected at most 500 characters, all valid Unicode and none NUL"
})

/** The URL is any text here: the capability judges it, so that a bad one is `InvalidWebhookUrl`. */
export const Url = Schema.String.annotations({
  description: "A public https URL without credentials; at most 2,048 characters.",
  examples: ["https://example.com/webhooks"]
})

const Enabled = Schema.Boolean.annotations({ description: "Whether it is sent anything." })

export const CreateWebhookEndpoint = Schema.Struct({
  url: Url,
  eventTypes: EventTypes,
  description: Schema.optional(Schema.NullOr(Description)),
  enabled: withDefault(Enabled, true)
}).annotations({ identifier: "CreateWebhookEndpoint" })

export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optional(Url),
  eventTypes: Schema.optional(EventTypes),
  description: Schema.optional(Schema.NullOr(Description)),
  enabled: Schema.optional(Enabled)
}).annotations({ identifier: "UpdateWebhookEndpoint" })

export const RotatedSecret = Schema.Struct({
  endpointId: Schema.String,
  signingSecret: Schema.String.annotations({
    description: "`whsec_<base64>`, shown this once.",
    examples: ["whsec_…"]
  }),
  previousSecretExpiresAt: Timestamp.annotations({
    description: "Until then deliveries are signed with the old secret too."
  })
}).annotations({ identifier: "RotatedSecret" })
export type RotatedSecret = typeof RotatedSecret.Type
