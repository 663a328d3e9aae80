/** The shapes of a webhook endpoint, and of requests about one. Source: spec §2.1 and §4.5. */
import { DeliveryPolicy, EffectivePolicy } from "@posthorn/domain/DeliveryPolicy"
import { EventTypePattern } from "@posthorn/domain/EventType"
import { RequestProfile, SentRequestProfile } from "@posthorn/domain/RequestProfile"
import { SIGNING_SECRET } from "@posthorn/domain/SigningSecret"
import { DisabledReason } from "@posthorn/domain/States"
import { Schema } from "effect"
import { A_DAY_LATER, FILTER, PUBLIC_KEY, ROTATED_SECRET, TIME, URL_OF_RECEIVER } from "./Examples.ts"
import { EndpointId, Id, Integer, NullOr, Text, Timestamp } from "./Fields.ts"
import { PageOf, Storable, withDefault } from "./Shapes.ts"

const Enabled = Schema.Boolean.annotations({
  description: "Whether deliveries are sent to it.",
  examples: [true]
})

/** On the way through the service a `JsonText`, which keeps order and digits: `@posthorn/domain/filter/Filter` judges it. */
const Filter = Schema.declare((_value: unknown): _value is object => true, {
  jsonSchema: { type: "object" }
})

const endpointFields = {
  id: Id("endpoint"),
  url: Text("Where deliveries are posted.", URL_OF_RECEIVER),
  description: NullOr(Schema.String, "For people.", "Billing"),
  eventTypes: Schema.Array(Schema.String).annotations({
    description: "Exact event types, `prefix.*`, or `*`.",
    examples: [["invoice.*"]]
  }),
  externalId: NullOr(Schema.String, "The platform's own name for it; null when it has none.", "shop-7"),
  metadata: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "The platform's own notes on it.",
    examples: [{ region: "eu" }]
  }),
  policy: NullOr(DeliveryPolicy, "Its own delivery policy; null when it leaves all to the workspace.", null),
  request: NullOr(
    RequestProfile,
    "What its requests look like, with fingerprints in the place of secrets; null when they look as they always do.",
    null
  ),
  filter: NullOr(
    Filter,
    "Only events whose payload fits it are delivered, spec §6.3; null when all are.",
    FILTER
  ),
  enabled: Enabled,
  disabledReason: NullOr(
    DisabledReason,
    "What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled.",
    null
  ),
  consecutiveFailures: Integer(
    "Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise.",
    0
  )
}

export const WebhookEndpoint = Schema.Struct(endpointFields).annotations({
  identifier: "WebhookEndpoint",
  description: "Where a workspace wants its events, and which."
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

const ShownSecret = Text("`whsec_<base64>`, shown this once.", ROTATED_SECRET)

export const CreatedWebhookEndpoint = Schema.Struct({
  ...endpointFields,
  signingSecret: Schema.optional(ShownSecret)
}).annotations({
  identifier: "CreatedWebhookEndpoint",
  description: "A new endpoint, with its signing secret if it was asked for."
})

export const WebhookEndpointDetail = Schema.Struct({
  ...endpointFields,
  effectivePolicy: EffectivePolicy,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  previousSecretExpiresAt: NullOr(
    Timestamp,
    "Until then deliveries are signed with the previous secret too; null when there is none.",
    A_DAY_LATER
  ),
  publicKey: NullOr(
    Schema.String,
    "`whpk_<base64>`, which verifies its `standard_v1a` signatures; null without that recipe.",
    PUBLIC_KEY
  ),
  missedEvents: Schema.Struct({
    count: Integer("How many events matched.", 3),
    since: NullOr(
      Timestamp,
      "When the present or latest disabled time began; null when it was never disabled.",
      TIME
    )
  }).annotations({
    description: "Events that matched while it was disabled: no delivery was made for them."
  }),
  expiredDeliveries: Integer(
    "Deliveries that were removed unsent: it had been disabled for as long as history is kept.",
    0
  )
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
  examples: ["Billing"],
  message: () => "Expected at most 500 characters, all valid Unicode and none NUL"
})

const DescriptionOrNull = NullOr(Description, "For people; at most 500 characters.", "Billing")

export const ExternalId = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_.:-]{1,128}$/)).annotations({
  description: "1 to 128 characters of `A-Z a-z 0-9 _ . : -`.",
  examples: ["shop-7"],
  message: () => "Expected 1 to 128 characters: letters, digits and _ . : -"
})

const ExternalIdOrNull = NullOr(
  ExternalId,
  "The platform's own name for it, unique in the workspace: 1 to 128 letters, digits and `_ . : -`.",
  "shop-7"
)

const METADATA_MEMBERS = 20

const Metadata = Schema.Record({
  // JavaScript would take a member of this name for something else, and lose it in silence.
  key: Storable.pipe(
    Schema.minLength(1),
    Schema.maxLength(64),
    Schema.filter((name) => name !== "__proto__", { jsonSchema: {} })
  ),
  value: Storable.pipe(Schema.maxLength(500))
})
  .pipe(
    Schema.filter((metadata) => Object.keys(metadata).length <= METADATA_MEMBERS, {
      jsonSchema: { maxProperties: METADATA_MEMBERS }
    })
  )
  .annotations({
    description:
      "What the platform notes of it: at most 20 members, names of 1 to 64 characters, values of at most 500; replaced whole.",
    examples: [{ region: "eu" }],
    message: () =>
      "Expected at most 20 members: names of 1 to 64 characters but not __proto__, values texts of at most 500"
  })

export const PolicyOrNull = NullOr(
  DeliveryPolicy,
  "When to try again, how fast, and when to stop; replaced whole. What it leaves out is the workspace's, or the default.",
  { retries: { kind: "patient" }, disableAfter: { kind: "failing_for", seconds: 86_400 } }
)

const RequestOrNull = NullOr(
  SentRequestProfile,
  "What its requests look like: headers, authentication, body, signatures; replaced whole. A secret that is left out is kept.",
  null
)

const FilterOrNull = NullOr(
  Filter,
  "Which payloads it wants: names with scalars, filters or operators ($eq $neq $gt $gte $lt $lte $in $nin $startsWith $endsWith $exist $not); $and, $or; null for all.",
  FILTER
)

/** The URL is any text here; the capability validates it, so that a bad one is `InvalidWebhookUrl`. */
const Url = Schema.String.annotations({
  description: "A public https URL without credentials; at most 2,048 characters.",
  examples: [URL_OF_RECEIVER]
})

const SigningSecret = Schema.Redacted(
  Schema.String.pipe(Schema.pattern(SIGNING_SECRET)).annotations({
    message: () => "Expected 16 to 256 visible ASCII characters"
  })
).annotations({
  description:
    "The secret of the sender that it had before, so that its receiver needs no change: `whsec_` and the base64 of 24 to 64 bytes, or another text of 16 to 256 visible ASCII characters, whose bytes are the key. Never shown. Left out, Posthorn makes one."
})

const SigningSecretEncoding = Schema.Literal("text").annotations({
  description: "`text`: the bytes of the whole text are the key, also when it begins with `whsec_`."
})

export const CreateWebhookEndpoint = Schema.Struct({
  url: Url,
  eventTypes: EventTypes,
  description: Schema.optional(DescriptionOrNull),
  externalId: Schema.optional(ExternalIdOrNull),
  metadata: Schema.optional(Metadata),
  policy: Schema.optional(PolicyOrNull),
  request: Schema.optional(RequestOrNull),
  filter: Schema.optional(FilterOrNull),
  signingSecret: Schema.optional(SigningSecret),
  signingSecretEncoding: Schema.optional(SigningSecretEncoding),
  revealSecret: withDefault(
    Schema.Boolean.annotations({
      description: "Whether the answer contains the signing secret; not beside `signingSecret`.",
      examples: [true]
    }),
    false
  ),
  enabled: withDefault(Enabled, true)
}).annotations({
  identifier: "CreateWebhookEndpoint",
  examples: [{ url: URL_OF_RECEIVER, eventTypes: ["invoice.*"], description: "Billing" }]
})

export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optional(Url),
  eventTypes: Schema.optional(EventTypes),
  description: Schema.optional(DescriptionOrNull),
  externalId: Schema.optional(ExternalIdOrNull),
  metadata: Schema.optional(Metadata),
  policy: Schema.optional(PolicyOrNull),
  request: Schema.optional(RequestOrNull),
  filter: Schema.optional(FilterOrNull),
  enabled: Schema.optional(Enabled)
}).annotations({
  identifier: "UpdateWebhookEndpoint",
  examples: [{ eventTypes: ["invoice.*", "customer.created"], enabled: true }]
})

export const RotatedSecret = Schema.Struct({
  endpointId: EndpointId,
  signingSecret: ShownSecret,
  previousSecretExpiresAt: Timestamp.annotations({
    description: "Until then deliveries are signed with the old secret too.",
    examples: [A_DAY_LATER]
  })
}).annotations({ identifier: "RotatedSecret" })
export type RotatedSecret = typeof RotatedSecret.Type
