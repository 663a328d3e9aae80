/** The request that a receiver gets. No operation answers it; it is part of the OpenAPI document. Source: spec §2.4. */
import { Schema } from "effect"
import { exampleId, PAYLOAD } from "./Examples.ts"
import { Text } from "./Fields.ts"

export const DeliveryRequest = Schema.Struct({
  deliveryId: Text("Equal to `webhook-id`.", exampleId("delivery")),
  eventType: Text("The type that was published.", "invoice.paid"),
  payload: Schema.Unknown.annotations({
    description: "The payload, exactly as it was published.",
    jsonSchema: {},
    examples: [PAYLOAD]
  })
}).annotations({ identifier: "DeliveryRequest", description: "The body of the POST to a receiver." })
