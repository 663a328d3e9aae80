/** The body of the POST to a receiver, as text: the payload goes out exactly as it was published. Source: spec §2.4. */
import type { DeliveryId } from "./Ids.ts"

export const requestBody = (deliveryId: DeliveryId, eventType: string, payload: string): string =>
  `{"deliveryId":"${deliveryId}","eventType":"${eventType}","payload":${payload}}`
