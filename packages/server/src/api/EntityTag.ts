/**
 * Entity tags of endpoints: a strong tag over the members that a PATCH may change. Counters are not included, so that a failing
 * attempt does not cause somebody's change to be refused. Source: spec §4.3.
 */
import { createHash } from "node:crypto"
import type { WebhookEndpoint } from "@posthorn/api-contract/EndpointShapes"

export type TaggedSettings = Pick<
  WebhookEndpoint,
  "url" | "eventTypes" | "description" | "externalId" | "metadata" | "policy" | "request" | "enabled"
>

const TAG_LENGTH = 22

export const entityTagOf = ({
  description,
  enabled,
  eventTypes,
  externalId,
  metadata,
  policy,
  request,
  url
}: TaggedSettings): string => {
  const text = JSON.stringify([url, eventTypes, description, enabled, externalId, metadata, policy, request])
  return `"${createHash("sha256").update(text).digest("base64url").slice(0, TAG_LENGTH)}"`
}

const TAGS = /(W\/)?("[\x21\x23-\x7e\x80-\uffff]*")/g

/** Whether the endpoint matches the `If-Match` header: `*`, or one of its strong tags. */
export const matching = (ifMatch: string | undefined) =>
  ifMatch === undefined
    ? undefined
    : (present: TaggedSettings): boolean =>
        ifMatch.trim() === "*" ||
        [...ifMatch.matchAll(TAGS)].some(
          ([, weak, tag]) => weak === undefined && tag === entityTagOf(present)
        )
