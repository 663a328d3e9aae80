/**
 * The body of the POST to a receiver, as text: in each of the four shapes the payload goes out exactly as it was published.
 * Nothing needs escaping: ids, event types, slugs and times have no quotes. Source: spec §2.4, §2.9.
 */
import type { DeliveryId } from "./Ids.ts"
import type { BodyShape } from "./RequestProfile.ts"

export interface BodyContent {
  readonly deliveryId: DeliveryId
  readonly eventType: string
  /** JSON text. */
  readonly payload: string
  /** When the event was published; of a test send, when the test was sent. */
  readonly createdAt: string
  /** The workspace's slug. */
  readonly slug: string
}

/** The body of an endpoint whose request has no other shape. */
export const requestBody = (deliveryId: DeliveryId, eventType: string, payload: string): string =>
  `{"deliveryId":"${deliveryId}","eventType":"${eventType}","payload":${payload}}`

export const shapedBody = (shape: BodyShape, content: BodyContent): string => {
  const { createdAt, deliveryId, eventType, payload, slug } = content
  switch (shape) {
    case "envelope":
      return requestBody(deliveryId, eventType, payload)
    case "payload":
      return payload
    case "standard":
      return `{"type":"${eventType}","timestamp":"${createdAt}","data":${payload}}`
    case "cloudevents":
      return `{"specversion":"1.0","id":"${deliveryId}","source":"/workspaces/${slug}","type":"${eventType}","time":"${createdAt}","datacontenttype":"application/json","data":${payload}}`
  }
}

export const contentTypeOf = (shape: BodyShape): string =>
  shape === "cloudevents" ? "application/cloudevents+json" : "application/json"
