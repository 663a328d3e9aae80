/**
 * Entity tags of endpoints and event types: a strong tag over the members that a PATCH or PUT may change. Counters are not
 * included, so that a failing attempt does not cause somebody's change to be refused. Source: spec §4.3.
 */
import { createHash } from "node:crypto"
import type { WebhookEndpoint } from "@posthorn/api-contract/EndpointShapes"
import type { EventType } from "@posthorn/api-contract/EventTypes"
import { stringify } from "@posthorn/domain/JsonText"

export type TaggedSettings = Pick<
  WebhookEndpoint,
  | "url"
  | "eventTypes"
  | "description"
  | "externalId"
  | "metadata"
  | "policy"
  | "request"
  | "filter"
  | "enabled"
>

export type TaggedEventType = Pick<
  EventType,
  "description" | "group" | "schema" | "examples" | "validation" | "deprecated" | "replacedBy" | "hidden"
>

type Tagged = TaggedSettings | TaggedEventType

const TAG_LENGTH = 22

const settingsOf = (tagged: Tagged): ReadonlyArray<unknown> => {
  if ("eventTypes" in tagged) {
    const { description, enabled, eventTypes, externalId, filter, metadata, policy, request, url } = tagged
    return [url, eventTypes, description, enabled, externalId, metadata, policy, request, filter]
  }
  const { deprecated, description, examples, group, hidden, replacedBy, schema, validation } = tagged
  return [description, group, schema, examples, validation, deprecated, replacedBy, hidden]
}

export const entityTagOf = (tagged: Tagged): string =>
  `"${createHash("sha256")
    .update(stringify(settingsOf(tagged)))
    .digest("base64url")
    .slice(0, TAG_LENGTH)}"`

const TAGS = /(W\/)?("[\x21\x23-\x7e\x80-\uffff]*")/g

/** Whether what is there matches the `If-Match` header: `*`, or one of its strong tags. */
export const matching = (ifMatch: string | undefined) =>
  ifMatch === undefined
    ? undefined
    : (present: Tagged): boolean =>
        ifMatch.trim() === "*" ||
        [...ifMatch.matchAll(TAGS)].some(
          ([, weak, tag]) => weak === undefined && tag === entityTagOf(present)
        )
