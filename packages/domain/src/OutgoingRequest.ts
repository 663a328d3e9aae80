/**
 * What goes out for one attempt: (profile, delivery, time) → headers and body, whatever the profile says. Dispatch, evidence and
 * previews all call it, each with its own signers. The profile's own headers are in RequestSecrets.ts.
 *
 * Pure. Source: spec §2.4, §2.9 and §4.1.
 */
import { type BodyContent, contentTypeOf, shapedBody } from "./RequestBody.ts"
import {
  type HmacSignature,
  type RequestProfile,
  shapeOf,
  signaturesOf,
  standardSchemesOf
} from "./RequestProfile.ts"
import { type Headers, spelt } from "./RequestSecrets.ts"

export interface DeliveryContent extends BodyContent {
  readonly traceId: string
  readonly isTest: boolean
}

export interface ToSign {
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: string
  readonly body: string
}

export interface Signers {
  /** The value of `webhook-signature`. */
  readonly standard: (signed: ToSign) => string
  /** The value of the recipe's header. */
  readonly hmac: (recipe: HmacSignature, signed: ToSign) => string
}

export interface OutgoingRequest {
  readonly headers: Headers
  readonly body: string
}

/** How requests of a profile are made: the same for all of them. */
export interface RequestPlan {
  readonly shape: ReturnType<typeof shapeOf>
  /** Null where it is that of every other request. */
  readonly contentType: string | null
  /** What `webhook-signature` holds, in this order; none: it is not sent. */
  readonly schemes: ReturnType<typeof standardSchemesOf>
  readonly hmacs: ReadonlyArray<HmacSignature>
}

export const planOf = (profile: RequestProfile): RequestPlan => {
  const shape = shapeOf(profile)
  return {
    shape,
    contentType: shape === "cloudevents" ? contentTypeOf(shape) : null,
    schemes: standardSchemesOf(profile),
    hmacs: signaturesOf(profile).filter((recipe) => recipe.scheme === "hmac")
  }
}

export const outgoing = (
  { contentType, hmacs, schemes, shape }: RequestPlan,
  content: DeliveryContent,
  timestamp: string,
  { hmac, standard }: Signers
): OutgoingRequest => {
  const body = shapedBody(shape, content)
  const signed = { id: content.deliveryId, timestamp, body }
  const headers: Record<string, string> = contentType === null ? {} : { "content-type": contentType }
  headers["webhook-id"] = content.deliveryId
  headers["webhook-timestamp"] = timestamp
  if (schemes.length > 0) headers["webhook-signature"] = standard(signed)
  for (const recipe of hmacs) headers[spelt(recipe.header)] = hmac(recipe, signed)
  headers["x-trace-id"] = content.traceId
  if (content.isTest) headers["x-posthorn-test"] = "true"
  return { headers, body }
}
