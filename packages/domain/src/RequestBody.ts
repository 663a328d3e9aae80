/** The body of the POST to a receiver, as text: the payload goes out exactly as it was published. Source: spec §2.4. */

export const requestBody = (deliveryId: string, eventType: string, payload: string): string =>
  `{"deliveryId":"${deliveryId}","eventType":"${eventType}","payload":${payload}}`
