/** Names for answers that several pages show. */
import type { Answer } from "./contract.ts"

export type DeliveryDetail = Answer<"getWebhookDelivery">
export type EndpointDetail = Answer<"getWebhookEndpoint">
