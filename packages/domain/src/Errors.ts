/**
 * Every refusal, declared once. Fields are facts, each with an example, from which the refusal's example is built; `message`
 * says what happened and what to do.
 *
 * Status and title of each: `@posthorn/api-contract/Problem`. A receiver's failure is not an error but data
 * (`Verdict.ts`); a failing database is a defect, not a refusal. Source: spec §7 and §7.1.
 */
import { Schema } from "effect"
import { describeReason } from "./WebhookUrl.ts"

const fact = (description: string, example: string) =>
  Schema.String.annotations({ description, examples: [example] })

const count = (description: string, example: number) =>
  Schema.Int.annotations({ description, examples: [example] })

/** A refusal without facts. */
const plain =
  <Self>() =>
  <Tag extends string>(tag: Tag, message: string) => {
    const Plain = Schema.TaggedError<Self>()(tag, {}) as Schema.TaggedErrorClass<
      Self,
      Tag,
      { readonly _tag: Schema.tag<Tag> }
    >
    Object.defineProperty(Plain.prototype, "message", { get: () => message })
    return Plain
  }

/** An endpoint is created or updated with a URL that fails validation. */
export class InvalidWebhookUrl extends Schema.TaggedError<InvalidWebhookUrl>()("InvalidWebhookUrl", {
  reason: fact("The rule that the URL breaks.", "not_https")
}) {
  override get message() {
    return describeReason(this.reason)
  }
}

export const Issue = Schema.Struct({
  path: Schema.String.annotations({ description: "JSON pointer to what is wrong; empty for the whole." }),
  message: Schema.String.annotations({ description: "For people." })
}).annotations({
  // Not `Issue`: the platform's own error has a component of that name.
  identifier: "RequestIssue",
  description: "What is wrong with one member of the request; `path` is a JSON pointer."
})
export type Issue = typeof Issue.Type

const issues = (example: Issue) =>
  Schema.Array(Issue).annotations({ description: "The faults that were found.", examples: [[example]] })

const summaryOf = (whole: string, [first, ...others]: ReadonlyArray<Issue>) => {
  if (first === undefined) return `${whole} is not valid.`
  const more = others.length === 0 ? "" : ` (and ${others.length} more: see issues)`
  return `${first.path === "" ? whole : first.path}: ${first.message}${more}`
}

/** A request does not have the shape that its operation requires. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", {
  issues: issues({ path: "/eventTypes", message: "is missing" })
}) {
  override get message() {
    return summaryOf("The request", this.issues)
  }
}

/** A schema in the catalogue that would not be judged as it reads. */
export class InvalidSchema extends Schema.TaggedError<InvalidSchema>()("InvalidSchema", {
  issues: issues({ path: "/properties/total/minimun", message: "is no keyword of JSON Schema 2020-12" })
}) {
  override get message() {
    return summaryOf("The schema", this.issues)
  }
}

/** A payload does not fit the schema of its event type, which refuses such payloads. */
export class InvalidPayload extends Schema.TaggedError<InvalidPayload>()("InvalidPayload", {
  issues: issues({ path: "/total", message: "must be integer" })
}) {
  override get message() {
    return summaryOf("The payload", this.issues)
  }
}

export const invalid = (path: string, message: string) => new InvalidRequest({ issues: [{ path, message }] })

/** No bearer token, or one that is malformed, unknown, revoked or expired. */
export class Unauthorized extends plain<Unauthorized>()(
  "Unauthorized",
  "This needs a valid API token: send it as `Authorization: Bearer <token>`."
) {}

/** The token is valid, but lacks the operation's permission. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", {
  permission: fact("The permission that is missing.", "webhook:create")
}) {
  override get message() {
    return this.permission === "operator"
      ? "Only the operator's token may do this."
      : `This token lacks the permission ${this.permission}: use one that holds it.`
  }
}

/** A page of another origin calls, or the server is addressed by a name that is not its own. */
export class ForeignOrigin extends plain<ForeignOrigin>()(
  "ForeignOrigin",
  "Pages of another origin may not call this: leave out the Origin header, and address this server by its own name."
) {}

/** There is no such workspace, or the token belongs to another one. */
export class WorkspaceNotFound extends plain<WorkspaceNotFound>()(
  "WorkspaceNotFound",
  "No workspace of this name is open to this token: check the slug."
) {}

export class WebhookEndpointNotFound extends plain<WebhookEndpointNotFound>()(
  "WebhookEndpointNotFound",
  "This workspace has no webhook endpoint with this id."
) {}

export class WebhookDeliveryNotFound extends plain<WebhookDeliveryNotFound>()(
  "WebhookDeliveryNotFound",
  "This workspace has no delivery with this id; old ones are removed, usually after 30 days."
) {}

export class EventNotFound extends plain<EventNotFound>()(
  "EventNotFound",
  "This workspace has no event with this id; old ones are removed, usually after 30 days."
) {}

export class EventTypeNotFound extends plain<EventTypeNotFound>()(
  "EventTypeNotFound",
  "The catalogue has no event type of this name: list the event types to see which there are."
) {}

export class ApiTokenNotFound extends plain<ApiTokenNotFound>()(
  "ApiTokenNotFound",
  "This workspace has no API token with this id."
) {}

export class ConsoleSessionNotFound extends plain<ConsoleSessionNotFound>()(
  "ConsoleSessionNotFound",
  "This workspace has no console session with this id."
) {}

export class MemberNotFound extends plain<MemberNotFound>()(
  "MemberNotFound",
  "This workspace has no member with this id."
) {}

export class NotificationNotFound extends plain<NotificationNotFound>()(
  "NotificationNotFound",
  "This workspace has no notification with this id."
) {}

export class ReplayNotFound extends plain<ReplayNotFound>()(
  "ReplayNotFound",
  "There is no such replay job in this workspace. List the replays to see their ids."
) {}

export class TraceNotFound extends plain<TraceNotFound>()(
  "TraceNotFound",
  "Nothing in this workspace carries this id. Give a trace id (32 hex digits, sent as x-trace-id), a delivery's id (whd_…, sent as webhook-id) or an event's id (evt_…)."
) {}

export class RouteNotFound extends plain<RouteNotFound>()(
  "RouteNotFound",
  "No operation has this path: /reference lists every operation."
) {}

/** A client looks for an authorisation server. */
export class NoAuthorizationServer extends RouteNotFound {
  override get message() {
    return "There is no OAuth here. Calls carry an API token, `Authorization: Bearer <token>`: whoever runs the workspace makes one, and the client is configured with it."
  }
}

export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", {
  allow: fact("The methods that the path answers.", "GET, HEAD")
}) {
  override get message() {
    return `This path allows only ${this.allow}.`
  }
}

/** An operation that would send something through a disabled endpoint. */
export class WebhookEndpointDisabled extends Schema.TaggedError<WebhookEndpointDisabled>()(
  "WebhookEndpointDisabled",
  {
    endpointId: fact("Id of the webhook endpoint.", "whe_64401b2c93f5e0b7d1c4a98e62f03")
  }
) {
  override get message() {
    return `Endpoint ${this.endpointId} is disabled: update it with enabled true, once its cause is gone, before sending through it.`
  }
}

/** The endpoint or event type does not, or no longer, match `If-Match`. */
export class PreconditionFailed extends plain<PreconditionFailed>()(
  "PreconditionFailed",
  "It was changed since you read it, or If-Match holds no strong tag of it: read it again, and send its ETag."
) {}

/** A replay of a delivery that has not failed, or a resend of one that has not ended. */
export class WebhookDeliveryNotReplayable extends Schema.TaggedError<WebhookDeliveryNotReplayable>()(
  "WebhookDeliveryNotReplayable",
  {
    deliveryId: fact("Id of the delivery.", "whd_64401b2c93f5e0b7d1c4a98e62f03"),
    deliveryStatus: fact("Why it cannot be sent again: its status.", "delivered")
  }
) {
  override get message() {
    return `Delivery ${this.deliveryId} is ${this.deliveryStatus}: failed, failed_permanent and dead_lettered ones can be replayed; delivered, failed_permanent and dead_lettered ones can be resent.`
  }
}

/** A replay of a delivery whose event was purged. */
export class EventPurged extends Schema.TaggedError<EventPurged>()("EventPurged", {
  eventId: fact("Id of the event.", "evt_64401b2c93f5e0b7d1c4a98e62f03")
}) {
  override get message() {
    return `The payload of event ${this.eventId} was purged, so it cannot be sent again.`
  }
}

/** A purge of an event that is still being delivered. */
export class EventInDelivery extends Schema.TaggedError<EventInDelivery>()("EventInDelivery", {
  eventId: fact("Id of the event.", "evt_64401b2c93f5e0b7d1c4a98e62f03")
}) {
  override get message() {
    return `Event ${this.eventId} has deliveries that are pending or failed: purge it once they have ended. Those of a disabled endpoint end with the endpoint.`
  }
}

/** The key was used within 24 hours for another event or call, or its answer contained a secret and is not repeated. */
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("IdempotencyKeyReused", {
  path: Schema.optional(
    fact("Of an event in a batch: the JSON pointer to its key.", "/events/1/idempotencyKey")
  )
}) {
  override get message() {
    return this.path === undefined
      ? "This idempotency key was used within 24 hours for something else, or its answer held a secret and is not given again: use a new key for a new call."
      : `The idempotency key at ${this.path} was used within 24 hours for another event, so nothing was published: use a new key for a new event.`
  }
}

/** The first call with the key is still running. */
export class IdempotencyKeyInUse extends plain<IdempotencyKeyInUse>()(
  "IdempotencyKeyInUse",
  "A call with this idempotency key is still running: repeat this one in a moment, and it gives that one's answer."
) {}

/** There are as many of these as the installation, or the workspace itself, allows. */
export class LimitReached extends Schema.TaggedError<LimitReached>()("LimitReached", {
  limit: count("How many there may be.", 500),
  of: Schema.Literal("endpoints", "tokens", "event_types").annotations({
    description: "`endpoints`, `tokens` or `event_types`.",
    examples: ["endpoints"]
  })
}) {
  override get message() {
    if (this.of === "event_types")
      return `The catalogue has ${this.limit} event types, which is the most: delete one that is not needed.`
    return this.of === "endpoints"
      ? `This workspace has ${this.limit} endpoints, which is the most: delete one that is not needed, disabled ones included.`
      : `This workspace has ${this.limit} valid API tokens, which is the most: revoke one that is not needed.`
  }
}

/** The workspace has used up a quota: nothing was published. */
export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("QuotaExceeded", {
  quota: Schema.Literal("waiting", "bytes").annotations({
    description: "`waiting`, deliveries that wait, or `bytes`, payloads that are kept.",
    examples: ["waiting"]
  })
}) {
  override get message() {
    return this.quota === "waiting"
      ? "This workspace has reached its limit of waiting deliveries: publish again once some are made, or disable and delete an endpoint that does not answer."
      : "This workspace has reached its limit of stored payload bytes: publish again once old history is removed."
  }
}

/** Another workspace has this slug. */
export class WorkspaceSlugTaken extends plain<WorkspaceSlugTaken>()(
  "WorkspaceSlugTaken",
  "Another workspace has this slug: choose another."
) {}

/** The workspace has a member with this address; upper and lower case do not matter. */
export class MemberEmailTaken extends plain<MemberEmailTaken>()(
  "MemberEmailTaken",
  "A member of this workspace has this email address already: update that member, or use another address."
) {}

/** An alert by e-mail is set up where nothing sends e-mail. */
export class EmailNotConfigured extends plain<EmailNotConfigured>()(
  "EmailNotConfigured",
  "This installation sends no e-mail: ask its operator to set SMTP_URL and SMTP_FROM, or use Slack."
) {}

/** Another endpoint of the workspace has this external id. */
export class ExternalIdTaken extends plain<ExternalIdTaken>()(
  "ExternalIdTaken",
  "An endpoint of this workspace has this externalId already: update that endpoint, or use another name."
) {}

/** The headers or the body did not arrive in time. */
export class RequestTimeout extends plain<RequestTimeout>()(
  "RequestTimeout",
  "The request did not arrive in time: send the headers within 10 seconds, and the body within 30 more."
) {}

/** Most bytes of a request's body, and of a payload that is published in SQL. */
export const BODY_LIMIT = 1_048_576

const limitBytes = (example: number) => count("How many bytes are accepted.", example)

const retryAfterSeconds = (example: number) => count("Try again after so many seconds.", example)

/** The request line and headers are too large. */
export class HeadersTooLarge extends Schema.TaggedError<HeadersTooLarge>()("HeadersTooLarge", {
  limitBytes: limitBytes(16_384)
}) {
  override get message() {
    return `Request line and headers may have at most ${this.limitBytes} bytes together.`
  }
}

/** The body is too large. */
export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", {
  limitBytes: limitBytes(BODY_LIMIT)
}) {
  override get message() {
    return `The request body may have at most ${this.limitBytes} bytes.`
  }
}

/** The body is not JSON in UTF-8, or is compressed. */
export class UnsupportedMediaType extends plain<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  "Send the body as plain JSON in UTF-8, with `content-type: application/json` and no content-encoding."
) {}

/** A rate-limit bucket of the caller is empty. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  bucket: fact("The rate limit that is used up.", "rest_read"),
  retryAfterSeconds: retryAfterSeconds(12)
}) {
  override get message() {
    return `Too many calls in the bucket ${this.bucket}: try again in ${this.retryAfterSeconds} s.`
  }
}

/** A defect in Posthorn; the log has its cause under the trace id. */
export class InternalError extends plain<InternalError>()(
  "InternalError",
  "Something went wrong on our side. Quote the trace id when you ask about it."
) {}

/** The database is unavailable or saturated, or another transaction holds a lock that this call needs. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()("ServiceUnavailable", {
  retryAfterSeconds: retryAfterSeconds(2)
}) {
  protected get why() {
    return "The service cannot answer just now (its database is away or busy)"
  }
  override get message() {
    return `${this.why}: try again in ${this.retryAfterSeconds} s.`
  }
}

/** An open transaction holds a lock that this call needs; `what` names it, without a full stop. */
class Held extends ServiceUnavailable {
  private readonly what: string

  constructor(what: string) {
    super({ retryAfterSeconds: 2 })
    this.what = what
  }

  protected override get why() {
    return this.what
  }
}

export const held = (what: string): ServiceUnavailable => new Held(what)

/** This process is stopping. */
export class Stopping extends ServiceUnavailable {
  protected override get why() {
    return "This server is stopping"
  }
}

export type PublicError =
  | ApiTokenNotFound
  | ConsoleSessionNotFound
  | EmailNotConfigured
  | EventNotFound
  | EventInDelivery
  | EventPurged
  | EventTypeNotFound
  | ExternalIdTaken
  | Forbidden
  | ForeignOrigin
  | HeadersTooLarge
  | IdempotencyKeyInUse
  | IdempotencyKeyReused
  | InternalError
  | InvalidPayload
  | InvalidRequest
  | InvalidSchema
  | InvalidWebhookUrl
  | LimitReached
  | MemberEmailTaken
  | MemberNotFound
  | MethodNotAllowed
  | NotificationNotFound
  | PayloadTooLarge
  | PreconditionFailed
  | QuotaExceeded
  | RateLimited
  | ReplayNotFound
  | RequestTimeout
  | RouteNotFound
  | ServiceUnavailable
  | TraceNotFound
  | Unauthorized
  | UnsupportedMediaType
  | WebhookDeliveryNotFound
  | WebhookDeliveryNotReplayable
  | WebhookEndpointDisabled
  | WebhookEndpointNotFound
  | WorkspaceNotFound
  | WorkspaceSlugTaken
