/** The body of a delivery's requests, in the shape that its endpoint has now: attempts do not store it. */
import { shapedBody } from "@posthorn/domain/RequestBody"
import type { BodyShape } from "@posthorn/domain/RequestProfile"
import { useOperation } from "../../api/queries.ts"
import type { DeliveryDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"

export const useSentBody = (
  { createdAt, eventId, eventType, id }: DeliveryDetail,
  payload: string,
  shape: BodyShape = "envelope"
): string => {
  const { may, slug } = useSession()
  const hasTime = shape === "standard" || shape === "cloudevents"
  const event = useOperation(
    "getEvent",
    { path: { eventId: eventId ?? "" } },
    { enabled: hasTime && eventId !== null && may("getEvent") }
  )
  return shapedBody(shape, {
    deliveryId: id as Parameters<typeof shapedBody>[1]["deliveryId"],
    eventType,
    payload,
    createdAt: event.data?.createdAt ?? createdAt,
    slug
  })
}
