# Written by packages/sdk/bin/generate.ts from openapi.json: run `npm run clients` instead of changing it.
from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Iterator, Literal, NamedTuple, TypedDict

if TYPE_CHECKING:
    import httpx
    from typing_extensions import NotRequired, TypeAlias

    # Sees each answer: its etag, its rate limits, its x-trace-id.
    OnAnswer: TypeAlias = Callable[[httpx.Response], None]


class Unset:
    """What is left out, where None would be sent as null."""


UNSET = Unset()


class Operation(NamedTuple):
    method: str
    path: str
    query: tuple[str, ...]
    headers: tuple[str, ...]
    # 0: none, 1: where one of its members is given, 2: always.
    body: int



# One customer of the platform: its endpoints, deliveries, tokens and members.
class Workspace(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Part of every path of the workspace.
    slug: str
    # For people.
    name: str
    # Its own limits; null is the installation's.
    limits: WorkspaceLimits
    # RFC 3339 in UTC with milliseconds.
    createdAt: str


# What is wrong with one member of the request; `path` is a JSON pointer.
class RequestIssue(TypedDict):
    # JSON pointer to what is wrong; empty for the whole.
    path: str
    # For people.
    message: str


# How one workspace is doing.
class FleetWorkspace(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Part of every path of the workspace.
    slug: str
    # For people.
    name: str
    # Deliveries that still have an attempt to come; may be 2 seconds old.
    waiting: int
    # Since the oldest of them was made; null if none waits.
    oldestWaitingSeconds: int | None
    # Its endpoints.
    endpoints: FleetWorkspaceEndpoints


# What holds for all endpoints of the workspace that say nothing else.
class WorkspaceSettings(TypedDict):
    # The delivery policy of its endpoints; null when all of it is the default.
    policy: DeliveryPolicy | None
    # Whom to tell what, by e-mail or Slack.
    alerts: list[AlertSetting]


# When to try again, how fast, and when to stop. What is left out is the workspace's, or the default.
class DeliveryPolicy(TypedDict):
    retries: NotRequired[Retries]
    # Each wait is drawn between itself and (1 + jitter) times itself.
    jitter: NotRequired[float]
    # Whether the next attempt is not before what `Retry-After` of a retryable answer says, at most 24 hours.
    honorRetryAfter: NotRequired[bool]
    # Seconds until the head of the answer has to be there.
    timeoutSeconds: NotRequired[int]
    # The most attempts in a time, first ones, retries and test sends together; null: no limit.
    rateLimit: NotRequired[RateLimit | None]
    disableAfter: NotRequired[DisableAfter]
    # `fail`: 410 is a 4xx like others. `disable`: it disables the endpoint at once.
    onGone: NotRequired[Literal["fail", "disable"]]


# When a delivery is tried again, and how often.
Retries: TypeAlias = "Retries2 | Retries3 | Retries4 | Retries5"


# In no window of `perSeconds` are more than `requests` attempts begun. What is beyond that waits, and is no failure.
class RateLimit(TypedDict):
    # Attempts.
    requests: int
    # Seconds.
    perSeconds: int


# When failures disable the endpoint.
DisableAfter: TypeAlias = "DisableAfter2 | DisableAfter3 | DisableAfter4"


# Whom to tell what.
AlertSetting: TypeAlias = "AlertSetting2 | AlertSetting3"


# Whom to tell what; Slack by `url`, or by the `fingerprint` of the stored one.
SentAlertSetting: TypeAlias = "SentAlertSetting2 | SentAlertSetting3 | SentAlertSetting4"


# A workspace at a glance.
class WorkspaceOverviewDto(TypedDict):
    # The workspace.
    workspace: WorkspaceOverviewDtoWorkspace
    # Webhook endpoints.
    endpoints: WorkspaceOverviewDtoEndpoints
    # Deliveries created in the last 24 hours, by their present status.
    deliveries: WorkspaceOverviewDtoDeliveries
    # The last 24 hours of the clock, oldest first; the last is the present, unfinished one.
    hours: list[HourStats]
    # What waits to be sent.
    queue: WorkspaceOverviewDtoQueue
    # Members of the workspace.
    members: int
    # Tokens that are neither revoked nor expired.
    apiTokens: int
    # Notifications nobody has marked as read.
    unreadNotifications: int


class HourStats(TypedDict):
    # When the hour begins, in UTC.
    hour: str
    # Deliveries created in this time that were answered 2xx.
    delivered: int
    # Those that failed so far and will be tried again.
    failed: int
    # Those that will not be tried again: refused, or the URL was bad.
    failedPermanent: int
    # Those that have spent their retries.
    deadLettered: int
    # Half of their last attempts took at most this long; null if there was none.
    p50Ms: int | None
    # 95 of 100 of their last attempts took at most so long; null when there was none.
    p95Ms: int | None


# An event type, `*` for all, or `prefix.*` for every deeper name.
EventTypePattern: TypeAlias = "str"


# What the request looks like. A secret that is left out is kept, unless the URL's origin or path changes.
class SentRequestProfile(TypedDict):
    # At most 20 headers, each name once, whatever its case; names and values that are no secrets have at most 8,192 characters together.
    headers: NotRequired[list[SentRequestProfileHeadersItem]]
    # How Posthorn shows who it is: in `authorization`, or by a certificate.
    authentication: NotRequired[SentRequestProfileAuthentication | SentRequestProfileAuthentication2 | SentRequestProfileAuthentication3 | SentRequestProfileAuthentication4]
    # `envelope`: delivery id, type and payload. `payload`: the payload alone. `standard`: `type`, `timestamp` and `data` of Standard Webhooks. `cloudevents`: CloudEvents 1.0, structured.
    body: NotRequired[Literal["envelope", "payload", "standard", "cloudevents"]]
    # 1 to 3 recipes, each of which is sent; left out, it is `standard_v1` alone.
    signatures: NotRequired[list[SignatureRecipe]]


# A signature that is sent.
SignatureRecipe: TypeAlias = "SignatureRecipe2 | SignatureRecipe3 | SignatureRecipe4"


# A new endpoint, with its signing secret if it was asked for.
class CreatedWebhookEndpoint(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Where deliveries are posted.
    url: str
    # For people.
    description: str | None
    # Exact event types, `prefix.*`, or `*`.
    eventTypes: list[str]
    # The platform's own name for it; null when it has none.
    externalId: str | None
    # The platform's own notes on it.
    metadata: dict[str, str]
    # Its own delivery policy; null when it leaves all to the workspace.
    policy: DeliveryPolicy | None
    # What its requests look like, with fingerprints in the place of secrets; null when they look as they always do.
    request: RequestProfile | None
    # Only events whose payload fits it are delivered, spec §6.3; null when all are.
    filter: dict[str, Any] | None
    # Whether deliveries are sent to it.
    enabled: bool
    # What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled.
    disabledReason: Literal["manual", "consecutive_failures", "failing_for", "gone"] | None
    # Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise.
    consecutiveFailures: int
    # `whsec_<base64>`, shown this once.
    signingSecret: NotRequired[str]


# What the request looks like, with fingerprints in the place of secrets.
class RequestProfile(TypedDict):
    # Headers of its own.
    headers: NotRequired[list[RequestProfileHeadersItem | RequestProfileHeadersItem2]]
    # How Posthorn shows who it is: in `authorization`, or by a certificate.
    authentication: NotRequired[RequestProfileAuthentication | RequestProfileAuthentication2 | RequestProfileAuthentication3 | RequestProfileAuthentication4]
    # `envelope`: delivery id, type and payload. `payload`: the payload alone. `standard`: `type`, `timestamp` and `data` of Standard Webhooks. `cloudevents`: CloudEvents 1.0, structured.
    body: NotRequired[Literal["envelope", "payload", "standard", "cloudevents"]]
    # 1 to 3 recipes, each of which is sent; left out, it is `standard_v1` alone.
    signatures: NotRequired[list[SignatureRecipe]]


# Where a workspace wants its events, and which.
class WebhookEndpoint(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Where deliveries are posted.
    url: str
    # For people.
    description: str | None
    # Exact event types, `prefix.*`, or `*`.
    eventTypes: list[str]
    # The platform's own name for it; null when it has none.
    externalId: str | None
    # The platform's own notes on it.
    metadata: dict[str, str]
    # Its own delivery policy; null when it leaves all to the workspace.
    policy: DeliveryPolicy | None
    # What its requests look like, with fingerprints in the place of secrets; null when they look as they always do.
    request: RequestProfile | None
    # Only events whose payload fits it are delivered, spec §6.3; null when all are.
    filter: dict[str, Any] | None
    # Whether deliveries are sent to it.
    enabled: bool
    # What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled.
    disabledReason: Literal["manual", "consecutive_failures", "failing_for", "gone"] | None
    # Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise.
    consecutiveFailures: int


# An endpoint with its times.
class WebhookEndpointDetail(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Where deliveries are posted.
    url: str
    # For people.
    description: str | None
    # Exact event types, `prefix.*`, or `*`.
    eventTypes: list[str]
    # The platform's own name for it; null when it has none.
    externalId: str | None
    # The platform's own notes on it.
    metadata: dict[str, str]
    # Its own delivery policy; null when it leaves all to the workspace.
    policy: DeliveryPolicy | None
    # What its requests look like, with fingerprints in the place of secrets; null when they look as they always do.
    request: RequestProfile | None
    # Only events whose payload fits it are delivered, spec §6.3; null when all are.
    filter: dict[str, Any] | None
    # Whether deliveries are sent to it.
    enabled: bool
    # What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled.
    disabledReason: Literal["manual", "consecutive_failures", "failing_for", "gone"] | None
    # Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise.
    consecutiveFailures: int
    effectivePolicy: EffectivePolicy
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # RFC 3339 in UTC with milliseconds.
    updatedAt: str
    # Until then deliveries are signed with the previous secret too; null when there is none.
    previousSecretExpiresAt: str | None
    # `whpk_<base64>`, which verifies its `standard_v1a` signatures; null without that recipe.
    publicKey: str | None
    # Events that matched while it was disabled: no delivery was made for them.
    missedEvents: WebhookEndpointDetailMissedEvents
    # Deliveries that were removed unsent: it had been disabled for as long as history is kept.
    expiredDeliveries: int


# The delivery policy that holds for an endpoint: every member, resolved.
class EffectivePolicy(TypedDict):
    retries: Retries
    # Each wait is drawn between itself and (1 + jitter) times itself.
    jitter: float
    # Whether the next attempt is not before what `Retry-After` of a retryable answer says, at most 24 hours.
    honorRetryAfter: bool
    # Seconds until the head of the answer has to be there.
    timeoutSeconds: float
    # The most attempts in a time, first ones, retries and test sends together; null: no limit.
    rateLimit: RateLimit | None
    disableAfter: DisableAfter
    # `fail`: 410 is a 4xx like others. `disable`: it disables the endpoint at once.
    onGone: Literal["fail", "disable"]
    # All waits of a delivery together, without jitter.
    givesUpAfterSeconds: float


# An endpoint's deliveries hour by hour.
class EndpointStats(TypedDict):
    # One entry for each hour, oldest first; the last is the present, unfinished one.
    hours: list[HourStats]
    totals: StatsTotals


# The same over all the hours.
class StatsTotals(TypedDict):
    # Deliveries created in this time that were answered 2xx.
    delivered: int
    # Those that failed so far and will be tried again.
    failed: int
    # Those that will not be tried again: refused, or the URL was bad.
    failedPermanent: int
    # Those that have spent their retries.
    deadLettered: int
    # Half of their last attempts took at most this long; null if there was none.
    p50Ms: int | None
    # 95 of 100 of their last attempts took at most so long; null when there was none.
    p95Ms: int | None


# What is wrong with an endpoint, and what to do.
class EndpointDiagnosis(TypedDict):
    # Id of the webhook endpoint.
    endpointId: str
    # `unstable` delivers and fails in turn; `unproven` has no attempt on record, or gets nothing that is published.
    health: Literal["healthy", "failing", "unstable", "disabled", "unproven"]
    # RFC 3339 in UTC with milliseconds.
    diagnosedAt: str
    # What the findings are based on.
    examined: EndpointDiagnosisExamined
    # In the order to act on them; at least one.
    findings: list[Finding]


class Finding(TypedDict):
    # What was found: one of a fixed list, see docs/mcp.md.
    code: Literal["healthy", "nothing_sent", "not_taken_up", "secret_unreadable", "nothing_matches", "misspelt_subscription", "filter_excludes_everything", "slow", "flapping", "some_event_types", "some_deliveries", "timestamp_off", "rejected", "not_found", "rate_limited", "rate_limited_backlog", "retry_after_ignored", "refused", "redirected", "server_error", "timing_out", "unreachable", "name_unresolved", "tls_failed", "not_http", "url_refused", "proxy_failed", "authentication_failing", "certificate_expiring", "disabled_by_failures", "disabled_by_hand", "stopped_deliveries", "missed_events"]
    # What is wrong, in one or two sentences.
    summary: str
    # When it began, as far as the evidence goes.
    since: str | None
    # Why the attempts fail; null when that is not what was found.
    reason: FailureReason | None
    # What the failure of the connection, or of TLS, was; null where there is no more to say. `incomplete_chain`: only the receiver's own certificate came, and no known authority signed that.
    failureDetail: FailureDetail | None
    # The status of the failed answers.
    httpStatus: int | None
    # The endpoint's failures in a row up to now.
    inARow: int
    # What was changed shortly before it began; null when nothing was.
    changedBefore: ChangeBefore | None
    # How sure this is; `because` says why.
    confidence: Literal["high", "medium", "low"]
    # The facts behind it.
    because: str
    # Deliveries that show it, newest first; at most 3.
    deliveryIds: list[str]
    # In the order to take them.
    nextSteps: list[NextStep]


FailureReason: TypeAlias = 'Literal["http_status", "request_timeout", "connection_failed", "dns_failed", "tls_failed", "invalid_response", "invalid_url", "proxy_failed", "auth_failed"]'


FailureDetail: TypeAlias = 'Literal["refused", "reset", "unreachable", "closed_early", "connect_timeout", "certificate_expired", "certificate_not_yet_valid", "wrong_host", "unknown_issuer", "incomplete_chain", "self_signed", "tls_version", "not_tls", "tls_other"]'


# The recorded change that preceded it and may explain it.
class ChangeBefore(TypedDict):
    # Id of the audit event.
    auditEventId: str
    # What was done.
    action: str
    # The members that changed.
    fields: list[str]
    # When it was changed.
    at: str
    # The transport it came through.
    via: str


class NextStep(TypedDict):
    # The operation's name, as in this document; null for a person's step.
    operation: str | None
    # The operation's MCP tool; null for a person's step.
    tool: str | None
    # What to give it: members of path, query and body in one object; null when it is work for a person.
    arguments: dict[str, Any] | None
    # Arguments to find out, ask for, or decide. A tool's step without any is safe to run unchanged: it removes nothing, rotates nothing, and sends nothing again that may already have had an effect.
    fillIn: list[str]
    # What it is good for.
    why: str


class RotatedSecret(TypedDict):
    # Id of the webhook endpoint.
    endpointId: str
    # `whsec_<base64>`, shown this once.
    signingSecret: str
    # Until then deliveries are signed with the old secret too.
    previousSecretExpiresAt: str


# Never a token, nor what else the token endpoint said.
class AuthenticationCheck(TypedDict):
    # Whether Posthorn can authenticate itself; true as well when there is nothing to try.
    ok: bool
    # How the endpoint's `request` authenticates; null when it does not.
    kind: Literal["basic", "bearer", "oauth2", "mtls"] | None
    # What is wrong: of what a token endpoint said, its status and its OAuth error code.
    reason: str | None
    # When the token just fetched, or the certificate, expires.
    expiresAt: str | None


# One event on its way to one endpoint.
class Delivery(TypedDict):
    # Also the `webhook-id` header; the same on every retry, new on a replay.
    id: str
    # Id of the webhook endpoint.
    endpointId: str
    # Null for a test send.
    eventId: str | None
    # Dotted words such as `invoice.paid`.
    eventType: str
    status: DeliveryStatus
    # Attempts recorded so far; at most 7.
    attempts: int
    # When it is tried next, at the earliest; null when it is not.
    nextAttemptAt: str | None
    # Any JSON value, carried exactly as it was written.
    payload: Any
    # The delivery this one repeats; kept when that one is gone.
    replayedFrom: str | None
    # The replay or resend of the same event to the same endpoint, made later, that was delivered; null if there is none, or this one did not fail.
    recoveredBy: str | None
    # Whether it is a test send, or a replay of one; then it carries `x-posthorn-test: true`.
    test: bool
    # The receiver's HTTP status; null when no usable answer came.
    lastHttpStatus: int | None
    # Why the last attempt failed; null when it did not.
    lastFailureReason: FailureReason | None
    # Milliseconds the last attempt took; null before the first.
    lastDurationMs: int | None
    # When the last attempt began; null before the first.
    lastAttemptAt: str | None
    # RFC 3339 in UTC with milliseconds.
    createdAt: str


# `failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries.
DeliveryStatus: TypeAlias = 'Literal["pending", "delivered", "failed", "failed_permanent", "dead_lettered"]'


# Why a signature is right or not. Never a secret, and never a signature that was not given.
class SignatureExplanation(TypedDict):
    # The verdict on the signature; the first that applies.
    verdict: Literal["right", "previous_secret", "body_changed", "timestamp_off", "header_missing", "wrong_secret"]
    # Why, and what to do.
    explanation: str


# Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters.
EventType: TypeAlias = "str"


# One HTTP request to the receiver. Never changed once recorded.
class Attempt(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Id of the delivery.
    deliveryId: str
    # 1 for the first attempt.
    ordinal: int
    # What came of it.
    status: Literal["delivered", "failed", "failed_permanent"]
    # When it began.
    at: str
    # Milliseconds until the answer's head, or the failure.
    durationMs: int
    # The receiver's HTTP status; null when no usable answer came.
    httpStatus: int | None
    # Why it failed; null when it did not.
    failureReason: FailureReason | None
    # What the failure of the connection, or of TLS, was; null where there is no more to say. `incomplete_chain`: only the receiver's own certificate came, and no known authority signed that.
    failureDetail: FailureDetail | None
    # Where it was sent.
    url: str
    # As sent; names in lower case.
    requestHeaders: dict[str, str]
    # Those of `content-type`, `location`, `retry-after`, `server` and `www-authenticate` that the answer had, each at most 256 bytes.
    responseHeaders: dict[str, str]
    # The first 2 KiB of the answer; null when it could not be read in time.
    responseBody: str | None
    # What carries it belongs to the same publish, replay, test send or call.
    traceId: str


# `failed` ones are still being retried, and may then arrive twice.
ReplayableStatus: TypeAlias = 'Literal["failed", "failed_permanent", "dead_lettered"]'


# A job that replays what an endpoint did not receive in a time range.
class Replay(TypedDict):
    # `rpl_…`
    id: str
    # The endpoint whose deliveries are replayed.
    endpointId: str
    # What the deliveries must have been at the start.
    statuses: list[ReplayableStatus]
    # Deliveries and events created then or later. RFC 3339.
    since: str
    # Those created before then; null for all up to the start of the job.
    until: str | None
    # A running job waits while its endpoint is disabled. Three jobs of a workspace run at a time; later ones are `queued`.
    state: Literal["queued", "running", "done", "cancelled"]
    # Deliveries and events that the job covers, counted at its start.
    matched: int
    # How many of them are events that the endpoint missed while it was disabled.
    missed: int
    # How many of them are events that the endpoint wants, and that it was neither sent nor missed.
    unsent: int
    leftOut: LeftOut
    # Those for which a new delivery was made so far, by this job or by somebody else meanwhile.
    replayed: int
    # Sources that could not be replayed, because they were gone; counted when the job is done.
    failed: int
    # When it was started.
    createdAt: str
    # When it was done or cancelled; null while it runs.
    finishedAt: str | None


# Deliveries in the range that are not in `matched`, counted at the start.
class LeftOut(TypedDict):
    # A replay or resend of them was delivered since.
    recovered: int
    # A replay or resend of them is pending or retrying.
    underWay: int
    # Failed test sends.
    tests: int


# What a replay job would cover.
class ReplayCount(TypedDict):
    # Deliveries and events that a job over the same range would cover.
    matched: int
    # How many of them are missed events.
    missed: int
    # How many of them are events that were neither sent nor missed.
    unsent: int
    leftOut: LeftOut


# Everything that became of an event.
class Trace(TypedDict):
    # As it was asked for.
    id: str
    # In order of time.
    items: list[TraceItem]
    # Whether there is more than the 1,000 items that are shown, the oldest ones.
    truncated: bool


# One item, with the members of its kind.
class TraceItem(TypedDict):
    # When it happened.
    at: str
    # `event`: it was published; `eventType`, `traceId`, `deliveries`, `missed`, `actor`. `delivery`: one was made; `endpointId`, `eventType`, `status` (the present one), `attempts`, `traceId`, `test`, and of a test send its `actor`, else null. `attempt`: the receiver was called; `deliveryId`, `ordinal`, `status`, `httpStatus`, `failureReason`, `durationMs`. `replay`: the delivery of this `id` was made by a replay; `replayedFrom` (null for a missed event), `replayId` (the job, or null). `audit`: somebody did something; `action`, `actor`, `target`.
    kind: Literal["event", "delivery", "attempt", "replay", "audit"]
    # Of the event, delivery, attempt or audit event.
    id: str


class PublishEvent(TypedDict):
    eventType: EventType
    # Any JSON value, carried exactly as it was written.
    payload: Any
    # Publishing again with the same key within 24 hours creates nothing and gives the first answer.
    idempotencyKey: NotRequired[str]
    # Exactly these get it, whatever they subscribe to; 1 to 100, each once. One that is disabled has missed it.
    endpointIds: NotRequired[list[str]]
    # False: one attempt. Replays of it follow the endpoint's policy.
    retry: NotRequired[bool]


class PublishedEvent(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Dotted words such as `invoice.paid`.
    eventType: str
    # One delivery for each enabled endpoint that matches, or is named.
    deliveryIds: list[str]
    # Whether the idempotency key had been used: then nothing was created.
    duplicate: bool


class PublishedEvents(TypedDict):
    # One answer per event, in the order they were sent.
    items: list[PublishedEvent]


# One thing that happened on the platform.
class Event(TypedDict):
    # `evt_…`; newer events have greater ids.
    id: str
    # As it was published.
    eventType: str
    # Any JSON value, carried exactly as it was written.
    payload: Any
    # Of the call that published it; its deliveries send it as `x-trace-id`.
    traceId: str
    # The endpoints that its publish named; null when it named none: then all that wanted it got it.
    endpointIds: list[str] | None
    # False: the publish asked for one attempt of each delivery.
    retry: bool
    # Who published it; of an event published in SQL the role of the database's session.
    actor: EventActor
    # When it was published.
    createdAt: str
    # When its payload was blanked; null unless it was.
    purgedAt: str | None
    # How many deliveries the publish made; replays are not counted.
    deliveries: int
    # How many endpoints wanted it, or were named, but were disabled at that moment: no delivery was made for them.
    missed: int


# One event type that is described or was published, and who wants it.
class EventTypeSummary(TypedDict):
    # The type itself.
    eventType: str
    # Whether the catalogue has it; else what it says is null, false and `off`.
    described: bool
    # What happened when it is sent, for people.
    description: str | None
    # The heading under which it is listed.
    group: str | None
    # Whether it is not to be used any more.
    deprecated: bool
    # What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused.
    validation: Literal["off", "report", "refuse"]
    # When an event of it was last published; null when none was.
    lastSeenAt: str | None
    # How many were published in the last 24 hours.
    lastDay: int
    # How many enabled endpoints match it now.
    endpoints: int


# What one endpoint has to do with an event.
class EventRoute(TypedDict):
    # Id of the webhook endpoint.
    endpointId: str
    # Why the endpoint got the event, or did not: the first that is true. `unfilterable`: the publish made a delivery, because the payload could not be judged. `sent`: the publish made a delivery. `not_chosen`: the publish named other endpoints. `about_itself`: `webhook.endpoint_disabled` is not sent to the endpoint that it is about. `missed`: the endpoint was disabled. `created_later`: it was not there yet when the publish looked. `changed_since`: as it is now it would want the event. `type`: none of its patterns fits the type. `filter`: its filter does not let the payload through; `because` says where.
    reason: Literal["unfilterable", "sent", "not_chosen", "about_itself", "missed", "created_later", "changed_since", "type", "filter"]
    # The latest delivery of the event to it, replays included; null without any.
    deliveryId: str | None
    # Only with `filter`, by the filter as it is now.
    because: UnmetCondition | None


# Why a filter does not let a payload through.
class UnmetCondition(TypedDict):
    # Where in the payload, as a JSON Pointer; of an array without an index.
    path: str
    # The first condition that does not hold there, as the filter has it.
    condition: Any


# What a filter would have let through.
class TriedFilter(TypedDict):
    # How many events were judged.
    examined: int
    # How many of them the filter lets through.
    matching: int
    # Each of them, newest first.
    events: list[TriedEvent]


class TriedEvent(TypedDict):
    # Null for the payload that was given.
    eventId: str | None
    # Whether the filter holds.
    matches: bool
    # Null when it holds.
    because: UnmetCondition | None


# What the catalogue says of an event type.
class DescribedEventType(TypedDict):
    # Its name.
    eventType: str
    # What happened when it is sent, for people.
    description: str | None
    # The heading under which it is listed.
    group: str | None
    # Whether it is not to be used any more.
    deprecated: bool
    # What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused.
    validation: Literal["off", "report", "refuse"]
    # JSON Schema 2020-12 of its payloads, as it was written; null without one.
    schema: Any
    # Payloads, the first for test sends.
    examples: list[Any]
    # The event type to use instead.
    replacedBy: str | None
    # Whether the operator alone sees it.
    hidden: bool
    # Payloads of the last 30 days that did not fit: to a workspace its own, to the operator those of all.
    deviations: DescribedEventTypeDeviations
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # RFC 3339 in UTC with milliseconds.
    updatedAt: str


class DraftedSchema(TypedDict):
    # Every event that was examined fits it.
    schema: Any
    # How many events it was drafted from.
    examined: int


class CheckedSchema(TypedDict):
    # How many of the newest events were tried, at most 200.
    examined: int
    # How many of them fit.
    fitting: int
    # Those that do not fit, newest first.
    deviating: list[CheckedSchemaDeviatingItem]
    # How it differs from the present schema.
    changes: list[CheckedSchemaChangesItem]


# OpenAPI 3.1 with `webhooks`, or AsyncAPI 3.0.
class EventTypeDocument(TypedDict):
    # What the document is about.
    info: EventTypeDocumentInfo


# Something the workspace should look at.
class Notification(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # `delivery_dead_lettered`: a delivery has spent its retries. `endpoint_disabled`: an endpoint failed too often in a row.
    kind: Literal["delivery_dead_lettered", "endpoint_disabled"]
    # What happened and what to do.
    message: str
    # Id of the webhook endpoint.
    endpointId: str | None
    # Id of the delivery.
    deliveryId: str | None
    # Null until somebody marks it as read.
    readAt: str | None
    # RFC 3339 in UTC with milliseconds.
    createdAt: str


# One message of an alert.
class ToldAlert(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # How it is sent.
    kind: Literal["email", "slack"]
    # What happened.
    on: Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]
    # The address, or the fingerprint of the Slack URL.
    to: str
    # `failed`: refused for good, tried as often as a delivery, or no longer wanted.
    state: Literal["pending", "sent", "failed"]
    # How often it was tried.
    attempts: int
    # Why the latest attempt failed.
    lastError: str | None
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # Null until it is sent.
    sentAt: str | None


# A person who may use the console.
class Member(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Compared without regard to upper and lower case.
    email: str
    # For people.
    name: str
    role: Role


# What a member may do in the console.
Role: TypeAlias = 'Literal["viewer", "developer", "admin"]'


# A permission, or a bundle: `read` (look, but not at attempts) or `admin` (everything).
Scope: TypeAlias = 'Literal["webhook:read", "webhook:list", "webhook:create", "webhook:update", "webhook:delete", "webhook:rotate_secret", "webhook:replay", "webhook:test", "event:publish", "member:list", "member:manage", "token:list", "token:create", "token:revoke", "audit:list", "notification:list", "notification:update", "workspace:read", "workspace:update", "console:link", "read", "admin"]'


class CreatedApiToken(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # For people.
    name: str
    # Permissions, and bundles of them.
    scopes: list[Scope]
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # When it ends; null when it does not.
    expiresAt: str | None
    # When it was last used, to the minute; null when it never was.
    lastUsedAt: str | None
    # When it was revoked; null when it was not.
    revokedAt: str | None
    # Who made it; null for tokens that are older than this member.
    createdBy: CreatedApiTokenCreatedBy | None
    # The token itself, shown only here. Only a hash of it is stored.
    token: str


class ApiToken(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # For people.
    name: str
    # Permissions, and bundles of them.
    scopes: list[Scope]
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # When it ends; null when it does not.
    expiresAt: str | None
    # When it was last used, to the minute; null when it never was.
    lastUsedAt: str | None
    # When it was revoked; null when it was not.
    revokedAt: str | None
    # Who made it; null for tokens that are older than this member.
    createdBy: ApiTokenCreatedBy | None


# One change, written together with it. Never altered.
class AuditEvent(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # What was done.
    action: str
    # Who did it, and through which transport.
    actor: AuditEventActor
    # What was changed; it may be gone by now.
    target: AuditEventTarget
    # The names of the changed fields, and facts; never a secret.
    changes: AuditEventChanges | None
    # What carries it belongs to the same publish, replay, test send or call.
    traceId: str
    # RFC 3339 in UTC with milliseconds.
    createdAt: str


# Who is calling, and what they may do.
class Caller(TypedDict):
    # Its kind.
    type: Literal["operator", "api_token", "member"]
    # The token's or the member's id; `operator` for the operator.
    id: str
    # For people.
    name: str
    # The caller's workspace; null for the operator, who may use all.
    workspace: CallerWorkspace | None
    # As they were given.
    scopes: list[Scope]
    # Everything the scopes allow, bundles taken apart.
    permissions: list[Literal["webhook:read", "webhook:list", "webhook:create", "webhook:update", "webhook:delete", "webhook:rotate_secret", "webhook:replay", "webhook:test", "event:publish", "member:list", "member:manage", "token:list", "token:create", "token:revoke", "audit:list", "notification:list", "notification:update", "workspace:read", "workspace:update", "console:link"]]
    # When the token ends; null when it does not.
    expiresAt: str | None


# How the pages look.
class ConsoleTheme(TypedDict):
    # The colour of buttons and links, in place of the installation's.
    accent: NotRequired[str]
    # Default: what the browser prefers.
    colorScheme: NotRequired[Literal["light", "dark", "system"]]
    # Of corners, in pixels.
    radius: NotRequired[int]


class ConsoleLink(TypedDict):
    # Opens the console once. Whoever opens it is signed in, so give it to nobody else.
    url: str
    # Until then it can be opened.
    expiresAt: str


# A browser that is signed in to the console.
class ConsoleSession(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # The member who is signed in; null when it is no member.
    memberId: str | None
    # The role whose rights it has; null if it has a token's rights, or scopes.
    role: Role | None
    # What opened it: a console link, or an API token.
    via: Literal["link", "token"]
    # Who made the link, or the token that signed in.
    madeBy: ConsoleSessionMadeBy
    # RFC 3339 in UTC with milliseconds.
    createdAt: str
    # When it last called, to the minute.
    lastSeenAt: str
    # When it ends at the latest.
    expiresAt: str


# Its own limits; null is the installation's.
class WorkspaceLimits(TypedDict):
    # Most endpoints.
    endpoints: int | None
    # Most API tokens that are neither revoked nor expired.
    tokens: int | None
    # Most deliveries that wait.
    waiting: int | None
    # Most bytes of payloads that are kept.
    bytes: int | None
    # Most calls that publish, within a minute.
    publishPerMinute: int | None


# Its endpoints.
class FleetWorkspaceEndpoints(TypedDict):
    # All of them.
    total: int
    # Those that are disabled, by people or for their failures.
    disabled: int
    # Those that are enabled and have failed at least 3 times in a row.
    failing: int


class Retries2(TypedDict):
    # 6 retries within about 10 minutes.
    kind: Literal["standard"]


class Retries3(TypedDict):
    # 9 retries within about 3 days.
    kind: Literal["patient"]


class Retries4(TypedDict):
    # A retry after each of these waits.
    kind: Literal["waits"]
    # Seconds before each retry: 1 to 20 whole numbers, each 1 to 604,800, together at most 2,592,000.
    seconds: list[int]


class Retries5(TypedDict):
    # No retry.
    kind: Literal["none"]


class DisableAfter2(TypedDict):
    # After so many failed attempts in a row.
    kind: Literal["failures"]
    # Failed attempts in a row.
    count: int


class DisableAfter3(TypedDict):
    # By the failed attempt that is recorded so long or longer after the first of the present streak, not before the fifth.
    kind: Literal["failing_for"]
    # Seconds since the first failure in a row.
    seconds: int


class DisableAfter4(TypedDict):
    # Not by failures.
    kind: Literal["never"]


class AlertSetting2(TypedDict):
    # By e-mail.
    kind: Literal["email"]
    # An address in plain letters; at most 254 characters.
    to: str
    # `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.
    on: list[Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]]


class AlertSetting3(TypedDict):
    # By Slack.
    kind: Literal["slack"]
    # 16 hex digits: equal for equal URLs of one workspace. Sent in place of `url`, it keeps the stored one.
    fingerprint: str
    # `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.
    on: list[Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]]


class SentAlertSetting2(TypedDict):
    # By e-mail.
    kind: Literal["email"]
    # An address in plain letters; at most 254 characters.
    to: str
    # `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.
    on: list[Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]]


class SentAlertSetting3(TypedDict):
    # By Slack.
    kind: Literal["slack"]
    # 16 hex digits: equal for equal URLs of one workspace. Sent in place of `url`, it keeps the stored one.
    fingerprint: str
    # `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.
    on: list[Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]]


class SentAlertSetting4(TypedDict):
    # By Slack.
    kind: Literal["slack"]
    # The address of an incoming webhook of Slack, under the rules for an endpoint's `url`. Never shown.
    url: str
    # `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end.
    on: list[Literal["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]]


# The workspace.
class WorkspaceOverviewDtoWorkspace(TypedDict):
    # Its id; newer ones are greater.
    id: str
    # Part of every path of the workspace.
    slug: str
    # For people.
    name: str


# Webhook endpoints.
class WorkspaceOverviewDtoEndpoints(TypedDict):
    # All endpoints.
    total: int
    # Those that receive.
    enabled: int
    # Those that do not.
    disabled: int
    # Up to 20 enabled ones whose filter let nothing through in 24 hours, of at least 50 events that they want by type.
    filteredOut: list[str]


# Deliveries created in the last 24 hours, by their present status.
class WorkspaceOverviewDtoDeliveries(TypedDict):
    # How many hours back `createdAt` may lie.
    windowHours: int
    # Not tried yet.
    pending: int
    # Answered 2xx.
    delivered: int
    # Failed so far; will be tried again.
    failed: int
    # Refused by the receiver, or the URL was bad.
    failedPermanent: int
    # Retries spent.
    deadLettered: int
    # `failedPermanent` and `deadLettered`, without those that were recovered.
    givenUp: int
    # Given up, and delivered by a later replay or resend.
    recovered: int
    # `delivered` divided by all that were tried; null when none was.
    successRate: float | None
    # Half of their last attempts took at most this long; null if there was none.
    p50Ms: int | None
    # 95 of 100 of their last attempts took at most so long; null when there was none.
    p95Ms: int | None


# What waits to be sent.
class WorkspaceOverviewDtoQueue(TypedDict):
    # Deliveries that still have an attempt to come, those of disabled endpoints included. Above 50,000 it may be some seconds old.
    waiting: int
    # Those of them whose endpoint is disabled: they wait until it is enabled.
    waitingAtDisabled: int
    # How long the oldest of them has waited; null if none waits.
    oldestWaitingSeconds: int | None


class SentRequestProfileHeadersItem(TypedDict):
    # 1 to 64 token characters; case means nothing.
    name: str
    # Left out of a secret one: as it is stored.
    value: NotRequired[str]
    # Written, and never shown.
    secret: NotRequired[Literal[True]]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: NotRequired[str]


class SentRequestProfileAuthentication(TypedDict):
    # By name and password.
    kind: Literal["basic"]
    # a string matching the pattern ^[\x20-\x39\x3b-\x7e]{1,256}$
    username: str
    # Left out: as it is stored.
    password: NotRequired[str]
    # Written, and never shown.
    secret: NotRequired[Literal[True]]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: NotRequired[str]


class SentRequestProfileAuthentication2(TypedDict):
    # By token.
    kind: Literal["bearer"]
    # Left out: as it is stored.
    token: NotRequired[str]
    # Written, and never shown.
    secret: NotRequired[Literal[True]]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: NotRequired[str]


class SentRequestProfileAuthentication3(TypedDict):
    # By a token that the token endpoint gives for client credentials (RFC 6749).
    kind: Literal["oauth2"]
    # The token endpoint, under the rules for an endpoint's `url`.
    tokenUrl: str
    # The client's id.
    clientId: str
    # Scopes to ask for, separated by spaces.
    scope: NotRequired[str]
    # For token endpoints that ask for it.
    audience: NotRequired[str]
    # Where id and secret are sent to the token endpoint. Left out, it is `header` (Basic).
    sendCredentialsIn: NotRequired[Literal["header", "body"]]
    # Left out: as it is stored.
    clientSecret: NotRequired[str]
    # Written, and never shown.
    secret: NotRequired[Literal[True]]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: NotRequired[str]


class SentRequestProfileAuthentication4(TypedDict):
    # By a client certificate, in the TLS handshake.
    kind: Literal["mtls"]
    # The certificate as PEM, and then those that lead to its authority: at most 5.
    certificate: str
    # As PEM: RSA up to 4,096 bits, P-256, P-384 or Ed25519. Left out: as it is stored.
    privateKey: NotRequired[str]
    # Written, and never shown.
    secret: NotRequired[Literal[True]]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: NotRequired[str]


class SignatureRecipe2(TypedDict):
    # HMAC-SHA256 of Standard Webhooks.
    scheme: Literal["standard_v1"]


class SignatureRecipe3(TypedDict):
    # Ed25519 of Standard Webhooks, by a key pair of its own, in the same header.
    scheme: Literal["standard_v1a"]


class SignatureRecipe4(TypedDict):
    # An HMAC in a header of its own.
    scheme: Literal["hmac"]
    # The header that holds the signature.
    header: str
    # The hash.
    algorithm: Literal["sha1", "sha256", "sha512"]
    # How the signature is written.
    encoding: Literal["hex", "base64"]
    # What is signed: `{body}` once, `{timestamp}` and `{id}` where they are wanted.
    content: str
    # The header's value: `{signature}` once, `{timestamp}` and `{id}` where they are wanted.
    format: str


class RequestProfileHeadersItem(TypedDict):
    # 1 to 64 token characters; case means nothing.
    name: str
    # 1 to 2,048 visible ASCII characters and spaces.
    value: str


class RequestProfileHeadersItem2(TypedDict):
    # 1 to 64 token characters; case means nothing.
    name: str
    # Written, and never shown.
    secret: Literal[True]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: str


class RequestProfileAuthentication(TypedDict):
    # By name and password.
    kind: Literal["basic"]
    # a string matching the pattern ^[\x20-\x39\x3b-\x7e]{1,256}$
    username: str
    # Written, and never shown.
    secret: Literal[True]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: str


class RequestProfileAuthentication2(TypedDict):
    # By token.
    kind: Literal["bearer"]
    # Written, and never shown.
    secret: Literal[True]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: str


class RequestProfileAuthentication3(TypedDict):
    # By a token that the token endpoint gives for client credentials (RFC 6749).
    kind: Literal["oauth2"]
    # The token endpoint, under the rules for an endpoint's `url`.
    tokenUrl: str
    # The client's id.
    clientId: str
    # Scopes to ask for, separated by spaces.
    scope: NotRequired[str]
    # For token endpoints that ask for it.
    audience: NotRequired[str]
    # Where id and secret are sent to the token endpoint. Left out, it is `header` (Basic).
    sendCredentialsIn: NotRequired[Literal["header", "body"]]
    # Written, and never shown.
    secret: Literal[True]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: str


class RequestProfileAuthentication4(TypedDict):
    # By a client certificate, in the TLS handshake.
    kind: Literal["mtls"]
    # The certificate as PEM, and then those that lead to its authority: at most 5.
    certificate: NotRequired[str]
    # Written, and never shown.
    secret: Literal[True]
    # 16 hex digits: equal for equal secrets of one endpoint.
    fingerprint: str


# Events that matched while it was disabled: no delivery was made for them.
class WebhookEndpointDetailMissedEvents(TypedDict):
    # How many events matched.
    count: int
    # When the present or latest disabled time began; null when it was never disabled.
    since: str | None


# What the findings are based on.
class EndpointDiagnosisExamined(TypedDict):
    # How many attempts were looked at; at most 100, newest first.
    attempts: int
    # The oldest of them.
    since: str | None


# Who published it; of an event published in SQL the role of the database's session.
class EventActor(TypedDict):
    # Its kind.
    type: Literal["api_token", "operator", "member", "system"]
    # Id of the token or the member; for others a word such as `operator`.
    id: str
    # The transport it came through.
    via: Literal["rest", "mcp", "console", "worker", "sql"]


# Payloads of the last 30 days that did not fit: to a workspace its own, to the operator those of all.
class DescribedEventTypeDeviations(TypedDict):
    # How many.
    count: int
    # When the first of them was published; null without any.
    since: str | None
    # The newest of them; null without any.
    lastEventId: str | None


class CheckedSchemaDeviatingItem(TypedDict):
    # The event.
    eventId: str
    # Slug of its workspace.
    workspace: str
    # What does not fit, at most 20.
    issues: list[RequestIssue]


class CheckedSchemaChangesItem(TypedDict):
    # Within the payload; `*` stands for any element or unnamed member.
    path: str
    # Described anew or no longer, or fewer or more values fit.
    change: Literal["added", "removed", "narrowed", "widened"]


# What the document is about.
class EventTypeDocumentInfo(TypedDict):
    # Always the same.
    title: str
    # Rises with each change of the catalogue.
    version: str
    # How payloads arrive.
    description: str


class CreatedApiTokenCreatedBy(TypedDict):
    # Its kind.
    type: Literal["operator", "api_token", "member"]
    # Id of the token or the member; `operator` for the operator.
    id: str


class ApiTokenCreatedBy(TypedDict):
    # Its kind.
    type: Literal["operator", "api_token", "member"]
    # Id of the token or the member; `operator` for the operator.
    id: str


# Who did it, and through which transport.
class AuditEventActor(TypedDict):
    # Its kind.
    type: Literal["api_token", "operator", "member", "system"]
    # Id of the token or the member; for others a word such as `operator`.
    id: str
    # The transport it came through.
    via: Literal["rest", "mcp", "console", "worker", "sql"]
    # The name that the token, the member or the operator had then; null if it had none.
    name: str | None
    # What the chain of tokens, links and sessions behind the actor began with; null where there is none.
    root: AuditEventActorRoot | None


class AuditEventActorRoot(TypedDict):
    # Its kind.
    type: Literal["operator", "api_token", "member"]
    # Id of the token; `operator` for the operator.
    id: str


# What was changed; it may be gone by now.
class AuditEventTarget(TypedDict):
    # Its kind.
    type: str
    # Its id.
    id: str


class AuditEventChanges(TypedDict):
    # The members that changed.
    fields: list[str]


class CallerWorkspace(TypedDict):
    # Part of every path of the workspace.
    slug: str
    # For people.
    name: str


# Who made the link, or the token that signed in.
class ConsoleSessionMadeBy(TypedDict):
    # Its kind.
    type: Literal["operator", "api_token", "member"]
    # Id of the token or the member; `operator` for the operator.
    id: str


# Null is the installation's; what is left out stays as it is.
class UpdateWorkspaceParamsLimits(TypedDict):
    # Most endpoints.
    endpoints: NotRequired[int | None]
    # Most API tokens that are neither revoked nor expired.
    tokens: NotRequired[int | None]
    # Most deliveries that wait.
    waiting: NotRequired[int | None]
    # Most bytes of payloads that are kept.
    bytes: NotRequired[int | None]
    # Most calls that publish, within a minute.
    publishPerMinute: NotRequired[int | None]


# `tag` of a PosthornError that Posthorn answered.
ErrorTag: TypeAlias = Literal[
    "ApiTokenNotFound",
    "ConsoleSessionNotFound",
    "EmailNotConfigured",
    "EventInDelivery",
    "EventNotFound",
    "EventPurged",
    "EventTypeNotFound",
    "ExternalIdTaken",
    "Forbidden",
    "HeadersTooLarge",
    "IdempotencyKeyInUse",
    "IdempotencyKeyReused",
    "InternalError",
    "InvalidPayload",
    "InvalidRequest",
    "InvalidSchema",
    "InvalidWebhookUrl",
    "LimitReached",
    "MemberEmailTaken",
    "MemberNotFound",
    "NotificationNotFound",
    "PayloadTooLarge",
    "PreconditionFailed",
    "QuotaExceeded",
    "RateLimited",
    "ReplayNotFound",
    "RequestTimeout",
    "ServiceUnavailable",
    "TraceNotFound",
    "Unauthorized",
    "UnsupportedMediaType",
    "WebhookDeliveryNotFound",
    "WebhookDeliveryNotReplayable",
    "WebhookEndpointDisabled",
    "WebhookEndpointNotFound",
    "WorkspaceNotFound",
    "WorkspaceSlugTaken",
]

OPERATIONS = {
    "listWorkspaces": Operation("GET", "/workspaces", ("limit", "cursor", ), (), 0),
    "createWorkspace": Operation("POST", "/workspaces", (), ("idempotencyKey", ), 2),
    "listFleet": Operation("GET", "/fleet", ("limit", "cursor", ), (), 0),
    "updateWorkspace": Operation("PATCH", "/workspaces/{workspace}", (), (), 2),
    "deleteWorkspace": Operation("DELETE", "/workspaces/{workspace}", (), (), 0),
    "getWorkspaceSettings": Operation("GET", "/workspaces/{workspace}/settings", (), (), 0),
    "updateWorkspaceSettings": Operation("PATCH", "/workspaces/{workspace}/settings", (), (), 2),
    "getOverview": Operation("GET", "/workspaces/{workspace}/overview", (), (), 0),
    "listWebhookEndpoints": Operation("GET", "/workspaces/{workspace}/webhooks", ("limit", "cursor", "externalId", "search", "state", "order", ), (), 0),
    "createWebhookEndpoint": Operation("POST", "/workspaces/{workspace}/webhooks", (), ("idempotencyKey", ), 2),
    "getWebhookEndpoint": Operation("GET", "/workspaces/{workspace}/webhooks/{endpointId}", (), (), 0),
    "updateWebhookEndpoint": Operation("PATCH", "/workspaces/{workspace}/webhooks/{endpointId}", (), ("ifMatch", ), 2),
    "deleteWebhookEndpoint": Operation("DELETE", "/workspaces/{workspace}/webhooks/{endpointId}", (), ("ifMatch", ), 0),
    "getEndpointStats": Operation("GET", "/workspaces/{workspace}/webhooks/{endpointId}/stats", ("hours", ), (), 0),
    "diagnoseWebhookEndpoint": Operation("GET", "/workspaces/{workspace}/webhooks/{endpointId}/diagnosis", (), (), 0),
    "rotateWebhookSecret": Operation("POST", "/workspaces/{workspace}/webhooks/{endpointId}/rotate-secret", (), ("idempotencyKey", ), 0),
    "checkAuthentication": Operation("POST", "/workspaces/{workspace}/webhooks/{endpointId}/check-authentication", (), (), 0),
    "sendTestEvent": Operation("POST", "/workspaces/{workspace}/webhooks/{endpointId}/test-event", (), ("idempotencyKey", ), 1),
    "explainSignature": Operation("POST", "/workspaces/{workspace}/webhooks/{endpointId}/explain-signature", (), (), 2),
    "listWebhookDeliveries": Operation("GET", "/workspaces/{workspace}/webhooks/{endpointId}/deliveries", ("limit", "cursor", "status", "eventType", "recovered", "payload", ), (), 0),
    "listWorkspaceDeliveries": Operation("GET", "/workspaces/{workspace}/webhooks/deliveries", ("limit", "cursor", "status", "eventType", "recovered", "payload", "endpointId", "eventId", "since", "until", ), (), 0),
    "getWebhookDelivery": Operation("GET", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}", (), (), 0),
    "listWebhookDeliveryAttempts": Operation("GET", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/attempts", ("limit", "cursor", ), (), 0),
    "replayWebhookDelivery": Operation("POST", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/replay", (), ("idempotencyKey", ), 0),
    "resendWebhookDelivery": Operation("POST", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/resend", (), ("idempotencyKey", ), 0),
    "startReplay": Operation("POST", "/workspaces/{workspace}/webhooks/{endpointId}/replays", (), ("idempotencyKey", ), 2),
    "listReplays": Operation("GET", "/workspaces/{workspace}/webhooks/replays", ("limit", "cursor", ), (), 0),
    "getReplay": Operation("GET", "/workspaces/{workspace}/webhooks/replays/{replayId}", (), (), 0),
    "cancelReplay": Operation("DELETE", "/workspaces/{workspace}/webhooks/replays/{replayId}", (), (), 0),
    "getTrace": Operation("GET", "/workspaces/{workspace}/trace/{traceId}", (), (), 0),
    "listEvents": Operation("GET", "/workspaces/{workspace}/events", ("limit", "cursor", "eventType", "since", "until", "idempotencyKey", "payloadPath", "payloadValue", "payload", ), (), 0),
    "publishEvent": Operation("POST", "/workspaces/{workspace}/events", (), (), 2),
    "publishEvents": Operation("POST", "/workspaces/{workspace}/events/batch", (), ("idempotencyKey", ), 2),
    "getEvent": Operation("GET", "/workspaces/{workspace}/events/{eventId}", (), (), 0),
    "listEventTypes": Operation("GET", "/workspaces/{workspace}/event-types", ("limit", "cursor", ), (), 0),
    "purgeEvent": Operation("POST", "/workspaces/{workspace}/events/{eventId}/purge", (), ("idempotencyKey", ), 0),
    "explainEventRouting": Operation("GET", "/workspaces/{workspace}/events/{eventId}/routing", ("limit", "cursor", "endpointId", ), (), 0),
    "tryFilter": Operation("POST", "/workspaces/{workspace}/webhooks/try-filter", (), (), 2),
    "getEventType": Operation("GET", "/event-types/{eventType}", (), (), 0),
    "putEventType": Operation("PUT", "/event-types/{eventType}", (), ("ifMatch", ), 2),
    "deleteEventType": Operation("DELETE", "/event-types/{eventType}", (), ("ifMatch", ), 0),
    "listCatalogue": Operation("GET", "/event-types", ("limit", "cursor", ), (), 0),
    "draftEventTypeSchema": Operation("GET", "/event-types/{eventType}/draft-schema", ("events", ), (), 0),
    "checkEventTypeSchema": Operation("POST", "/event-types/{eventType}/check-schema", (), (), 2),
    "getWorkspaceEventType": Operation("GET", "/workspaces/{workspace}/event-types/{eventType}", (), (), 0),
    "getEventTypeDocument": Operation("GET", "/workspaces/{workspace}/event-type-document", ("format", ), (), 0),
    "listNotifications": Operation("GET", "/workspaces/{workspace}/notifications", ("limit", "cursor", ), (), 0),
    "markNotificationRead": Operation("POST", "/workspaces/{workspace}/notifications/{notificationId}/read", (), ("idempotencyKey", ), 0),
    "listAlerts": Operation("GET", "/workspaces/{workspace}/alerts", ("limit", "cursor", ), (), 0),
    "listMembers": Operation("GET", "/workspaces/{workspace}/members", ("limit", "cursor", ), (), 0),
    "addMember": Operation("POST", "/workspaces/{workspace}/members", (), ("idempotencyKey", ), 2),
    "updateMember": Operation("PATCH", "/workspaces/{workspace}/members/{memberId}", (), (), 2),
    "removeMember": Operation("DELETE", "/workspaces/{workspace}/members/{memberId}", (), (), 0),
    "listApiTokens": Operation("GET", "/workspaces/{workspace}/api-tokens", ("limit", "cursor", ), (), 0),
    "createApiToken": Operation("POST", "/workspaces/{workspace}/api-tokens", (), ("idempotencyKey", ), 2),
    "revokeApiToken": Operation("DELETE", "/workspaces/{workspace}/api-tokens/{tokenId}", ("descendants", ), (), 0),
    "listAuditEvents": Operation("GET", "/workspaces/{workspace}/audit-events", ("limit", "cursor", "action", "actor", "target", "since", "until", ), (), 0),
    "listOperatorAuditEvents": Operation("GET", "/audit-events", ("limit", "cursor", "action", "actor", "target", "since", "until", ), (), 0),
    "getCaller": Operation("GET", "/caller", (), (), 0),
    "createConsoleLink": Operation("POST", "/workspaces/{workspace}/console-links", (), ("idempotencyKey", ), 2),
    "listConsoleSessions": Operation("GET", "/workspaces/{workspace}/console-sessions", ("limit", "cursor", ), (), 0),
    "endConsoleSession": Operation("DELETE", "/workspaces/{workspace}/console-sessions/{sessionId}", (), (), 0),
}


class Operations:
    def _call(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Any:
        raise NotImplementedError

    def _items(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Iterator[Any]:
        raise NotImplementedError

    def list_workspaces(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Workspace]:
        """List workspaces

        Forward on id, so in the order they were created.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWorkspaces"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    def create_workspace(
        self,
        *,
        idempotency_key: str | Unset = UNSET,
        slug: str,
        name: str,
        on_answer: OnAnswer | None = None,
    ) -> Workspace:
        """Create a workspace

        A workspace is one customer of the platform.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["createWorkspace"],
            {"idempotencyKey": idempotency_key, "slug": slug, "name": name},
            on_answer,
        )

    def list_fleet(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[FleetWorkspace]:
        """List workspaces by what waits

        Those with the most waiting deliveries first, then by id.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listFleet"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    def update_workspace(
        self,
        *,
        workspace: str | Unset = UNSET,
        name: str | Unset = UNSET,
        limits: UpdateWorkspaceParamsLimits | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Workspace:
        """Rename a workspace, or limit it

        In force everywhere within a second. What is there already stays, also above a new limit. Its slug never changes.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["updateWorkspace"],
            {"workspace": workspace, "name": name, "limits": limits},
            on_answer,
        )

    def delete_workspace(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Delete a workspace

        Removes everything in it: endpoints, deliveries, attempts, tokens, members and the audit log.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["deleteWorkspace"],
            {"workspace": workspace},
            on_answer,
        )

    def get_workspace_settings(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceSettings:
        """Get the workspace's settings

        An endpoint's `effectivePolicy` shows what they come to there.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getWorkspaceSettings"],
            {"workspace": workspace},
            on_answer,
        )

    def update_workspace_settings(
        self,
        *,
        workspace: str | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        alerts: list[SentAlertSetting] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceSettings:
        """Update the workspace's settings

        `policy` and `alerts` are replaced whole. A policy holds for attempts begun or recorded from now on; times that are set stay. A Slack alert's `url` is never shown: send back its `fingerprint`.

        Needs the permission `workspace:update`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["updateWorkspaceSettings"],
            {"workspace": workspace, "policy": policy, "alerts": alerts},
            on_answer,
        )

    def get_overview(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceOverviewDto:
        """See a workspace at a glance

        Endpoints, the last 24 hours of deliveries, the queue, and what is unread.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getOverview"],
            {"workspace": workspace},
            on_answer,
        )

    def list_webhook_endpoints(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        external_id: str | Unset = UNSET,
        search: str | Unset = UNSET,
        state: Literal["enabled", "disabled", "failing"] | Unset = UNSET,
        order: Literal["id", "recent"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[WebhookEndpoint]:
        """List webhook endpoints

        In the order they were created.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookEndpoints"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "externalId": external_id, "search": search, "state": state, "order": order},
            on_answer,
        )

    def create_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        url: str,
        event_types: list[EventTypePattern],
        description: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        metadata: dict[str, str] | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        request: SentRequestProfile | None | Unset = UNSET,
        filter: dict[str, Any] | None | Unset = UNSET,
        signing_secret: str | Unset = UNSET,
        signing_secret_encoding: Literal["text"] | Unset = UNSET,
        reveal_secret: bool | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> CreatedWebhookEndpoint:
        """Create a webhook endpoint

        Events that match are delivered from now on.

        Needs the permission `webhook:create`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["createWebhookEndpoint"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "url": url, "eventTypes": event_types, "description": description, "externalId": external_id, "metadata": metadata, "policy": policy, "request": request, "filter": filter, "signingSecret": signing_secret, "signingSecretEncoding": signing_secret_encoding, "revealSecret": reveal_secret, "enabled": enabled},
            on_answer,
        )

    def get_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> WebhookEndpointDetail:
        """Get a webhook endpoint

        With its times, and what it missed while it was disabled. Never with its secret.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    def update_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        if_match: str | Unset = UNSET,
        url: str | Unset = UNSET,
        event_types: list[EventTypePattern] | Unset = UNSET,
        description: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        metadata: dict[str, str] | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        request: SentRequestProfile | None | Unset = UNSET,
        filter: dict[str, Any] | None | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WebhookEndpointDetail:
        """Update a webhook endpoint

        Changes only the members that are sent. Disabling stops delivery and keeps history; enabling sets the failure streak to 0 and lets waiting deliveries go on.

        Needs the permission `webhook:update`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["updateWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id, "ifMatch": if_match, "url": url, "eventTypes": event_types, "description": description, "externalId": external_id, "metadata": metadata, "policy": policy, "request": request, "filter": filter, "enabled": enabled},
            on_answer,
        )

    def delete_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        if_match: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Delete a webhook endpoint

        Also deletes its deliveries and attempts, of a long history some minutes later; none of them is sent any more. To stop delivery and keep history, disable it instead.

        Needs the permission `webhook:delete`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["deleteWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id, "ifMatch": if_match},
            on_answer,
        )

    def get_endpoint_stats(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        hours: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> EndpointStats:
        """See an endpoint's deliveries hour by hour

        Counts deliveries by the hour they were created in and the status they have now, and how long their last attempts took.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getEndpointStats"],
            {"workspace": workspace, "endpointId": endpoint_id, "hours": hours},
            on_answer,
        )

    def diagnose_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> EndpointDiagnosis:
        """Diagnose an endpoint

        Says why an endpoint does not get its webhooks: what is wrong, since when, how many in a row, what was changed before, how sure that is, and the next steps. From recorded evidence alone; sends nothing to the receiver.

        Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
        """
        return self._call(
            OPERATIONS["diagnoseWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    def rotate_webhook_secret(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> RotatedSecret:
        """Rotate the signing secret

        Only this answer contains the new secret. For 24 hours deliveries are signed with the new and the old one; an even older one stops at once.

        Needs the permission `webhook:rotate_secret`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["rotateWebhookSecret"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def check_authentication(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> AuthenticationCheck:
        """Check an endpoint's authentication

        Fetches a token, or looks at the certificate. The endpoint is not asked, and nothing is stored.

        Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
        """
        return self._call(
            OPERATIONS["checkAuthentication"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    def send_test_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        event_type: str | Unset = UNSET,
        payload: Any | Unset = UNSET,
        wait_seconds: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send a test event

        Queues a synthetic `webhook.test_event`, or what you give, for this endpoint alone, whatever it subscribes to. With `waitSeconds` the answer shows what came of the first attempt.

        Needs the permission `webhook:test`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["sendTestEvent"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key, "eventType": event_type, "payload": payload, "waitSeconds": wait_seconds},
            on_answer,
        )

    def explain_signature(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        headers: dict[str, str],
        body: str,
        on_answer: OnAnswer | None = None,
    ) -> SignatureExplanation:
        """Explain a signature

        Says why a receiver refuses a delivery: whether the signature fits, was made with the previous secret, is for another body, or is old. Nothing is stored.

        Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
        """
        return self._call(
            OPERATIONS["explainSignature"],
            {"workspace": workspace, "endpointId": endpoint_id, "headers": headers, "body": body},
            on_answer,
        )

    def list_webhook_deliveries(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        status: Literal["pending", "delivered", "failed", "failed_permanent", "dead_lettered"] | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        recovered: bool | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Delivery]:
        """List an endpoint's deliveries

        Newest first.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookDeliveries"],
            {"workspace": workspace, "endpointId": endpoint_id, "limit": limit, "cursor": cursor, "status": status, "eventType": event_type, "recovered": recovered, "payload": payload},
            on_answer,
        )

    def list_workspace_deliveries(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        status: Literal["pending", "delivered", "failed", "failed_permanent", "dead_lettered"] | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        recovered: bool | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        endpoint_id: str | Unset = UNSET,
        event_id: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Delivery]:
        """List a workspace's deliveries

        Newest first, over all endpoints.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWorkspaceDeliveries"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "status": status, "eventType": event_type, "recovered": recovered, "payload": payload, "endpointId": endpoint_id, "eventId": event_id, "since": since, "until": until},
            on_answer,
        )

    def get_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Get a delivery

        Its status, its payload, and the result of the last attempt.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id},
            on_answer,
        )

    def list_webhook_delivery_attempts(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Attempt]:
        """List a delivery's attempts

        By ordinal. Shows the request headers as sent and the first 2 KiB of each answer.

        Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookDeliveryAttempts"],
            {"workspace": workspace, "deliveryId": delivery_id, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def replay_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send a delivery that failed again

        Makes a new pending delivery with the same event type and payload, under a new id. Only for failed, failed_permanent and dead_lettered ones; the endpoint must be enabled. The source stays as it is: a failed one keeps being retried as well, so its message may arrive by both.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["replayWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def resend_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send an ended delivery again, a delivered one too

        Like a replay, but for deliveries that have ended: delivered, failed_permanent and dead_lettered ones. The receiver gets what it has had already, under a new id.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["resendWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def start_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        statuses: list[ReplayableStatus] | Unset = UNSET,
        since: str,
        until: str | None | Unset = UNSET,
        include_missed: bool | Unset = UNSET,
        include_unsent: bool | Unset = UNSET,
        include_recovered: bool | Unset = UNSET,
        include_tests: bool | Unset = UNSET,
        dry_run: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> ReplayCount | Replay:
        """Replay all that failed in a time

        Starts a job that makes a new delivery for each source, with its audit event. It goes only as fast as the endpoint takes it. With `dryRun` it only counts (200). What was recovered meanwhile, or is under way again, is left out, so a second job finds only what failed anew.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["startReplay"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key, "statuses": statuses, "since": since, "until": until, "includeMissed": include_missed, "includeUnsent": include_unsent, "includeRecovered": include_recovered, "includeTests": include_tests, "dryRun": dry_run},
            on_answer,
        )

    def list_replays(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Replay]:
        """List replay jobs

        Newest first, with their progress.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listReplays"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def get_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        replay_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Replay:
        """Get a replay job

        With its progress: `replayed` of `matched`.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getReplay"],
            {"workspace": workspace, "replayId": replay_id},
            on_answer,
        )

    def cancel_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        replay_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Replay:
        """Cancel a replay job

        No further deliveries are made; those made so far stay and are sent. A job that has ended is not changed.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["cancelReplay"],
            {"workspace": workspace, "replayId": replay_id},
            on_answer,
        )

    def get_trace(
        self,
        *,
        workspace: str | Unset = UNSET,
        trace_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Trace:
        """Follow an id

        The publish, its deliveries with their attempts, replays, and what the audit log says of them, in order of time: everything of the same event, whichever of its ids is given.

        Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getTrace"],
            {"workspace": workspace, "traceId": trace_id},
            on_answer,
        )

    def list_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        payload_path: str | Unset = UNSET,
        payload_value: str | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Event]:
        """List events

        What was published, newest first, Posthorn's own events too; test sends are no events. Usually kept for 30 days.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listEvents"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "eventType": event_type, "since": since, "until": until, "idempotencyKey": idempotency_key, "payloadPath": payload_path, "payloadValue": payload_value, "payload": payload},
            on_answer,
        )

    def publish_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        event_type: EventType,
        payload: Any,
        endpoint_ids: list[str] | Unset = UNSET,
        retry: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> PublishedEvent:
        """Publish an event

        Queues one delivery for each enabled endpoint whose subscriptions match, or that `endpointIds` names. Once this is answered, the event is durable. The payload reaches receivers exactly as written here.

        Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
        """
        return self._call(
            OPERATIONS["publishEvent"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "eventType": event_type, "payload": payload, "endpointIds": endpoint_ids, "retry": retry},
            on_answer,
        )

    def publish_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        events: list[PublishEvent],
        on_answer: OnAnswer | None = None,
    ) -> PublishedEvents:
        """Publish several events

        All or nothing: one event that is refused refuses the whole batch. The answers come in the order of the events.

        Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
        """
        return self._call(
            OPERATIONS["publishEvents"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "events": events},
            on_answer,
        )

    def get_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Event:
        """Get an event

        With its payload, and how many deliveries it became. List deliveries with its `eventId` to see them.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getEvent"],
            {"workspace": workspace, "eventId": event_id},
            on_answer,
        )

    def list_event_types(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[EventTypeSummary]:
        """List event types

        Every event type that is described, or was published in the last 30 days, by name. Compare with an endpoint's `eventTypes` when nothing arrives.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listEventTypes"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def purge_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Event:
        """Purge an event

        Blanks its payload, and the bodies and headers that receivers answered, of replays too. Ids, times, statuses and signatures stay. Deliveries of it must have ended; they cannot be replayed any more.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["purgeEvent"],
            {"workspace": workspace, "eventId": event_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def explain_event_routing(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        endpoint_id: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[EventRoute]:
        """Explain who got an event

        For every endpoint that there is now, by its id: why it got the event, or why not.

        Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
        """
        return self._items(
            OPERATIONS["explainEventRouting"],
            {"workspace": workspace, "eventId": event_id, "limit": limit, "cursor": cursor, "endpointId": endpoint_id},
            on_answer,
        )

    def try_filter(
        self,
        *,
        workspace: str | Unset = UNSET,
        filter: Any,
        event_types: list[EventTypePattern] | Unset = UNSET,
        payload: Any | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> TriedFilter:
        """Try a filter on real events

        Judges the newest 200 events that `eventTypes` want (default all), or one payload. Fewer when payloads are so large that it would take too long. Changes nothing.

        Needs the permission `webhook:list`. Counts in the rate limit `filter_try`.
        """
        return self._call(
            OPERATIONS["tryFilter"],
            {"workspace": workspace, "filter": filter, "eventTypes": event_types, "payload": payload},
            on_answer,
        )

    def get_event_type(
        self,
        *,
        event_type: str,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Get an event type of the catalogue

        With the deviations of all workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getEventType"],
            {"eventType": event_type},
            on_answer,
        )

    def put_event_type(
        self,
        *,
        event_type: str,
        if_match: str | Unset = UNSET,
        description: str | None | Unset = UNSET,
        group: str | None | Unset = UNSET,
        schema: Any | Unset = UNSET,
        examples: list[Any] | Unset = UNSET,
        validation: Literal["off", "report", "refuse"] | Unset = UNSET,
        deprecated: bool | Unset = UNSET,
        replaced_by: EventType | None | Unset = UNSET,
        hidden: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Describe an event type

        Replaces what the catalogue says of it; what is left out is reset to its default. 201 the first time. In force everywhere within a second; events that are there already are not judged again.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["putEventType"],
            {"eventType": event_type, "ifMatch": if_match, "description": description, "group": group, "schema": schema, "examples": examples, "validation": validation, "deprecated": deprecated, "replacedBy": replaced_by, "hidden": hidden},
            on_answer,
        )

    def delete_event_type(
        self,
        *,
        event_type: str,
        if_match: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Remove an event type from the catalogue

        Its events stay, and it can still be published; its payloads are not judged any more.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["deleteEventType"],
            {"eventType": event_type, "ifMatch": if_match},
            on_answer,
        )

    def list_catalogue(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[DescribedEventType]:
        """List the catalogue

        By name, hidden ones too, with the deviations of all workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listCatalogue"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    def draft_event_type_schema(
        self,
        *,
        event_type: str,
        events: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> DraftedSchema:
        """Draft a schema from real events

        From the newest events of all workspaces: the types of each member, and which were always there. The type need not be described.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["draftEventTypeSchema"],
            {"eventType": event_type, "events": events},
            on_answer,
        )

    def check_event_type_schema(
        self,
        *,
        event_type: str,
        schema: Any,
        on_answer: OnAnswer | None = None,
    ) -> CheckedSchema:
        """Try a schema on real events

        Judges the newest 200 events of all workspaces by it, and compares it with the present one. Changes nothing.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["checkEventTypeSchema"],
            {"eventType": event_type, "schema": schema},
            on_answer,
        )

    def get_workspace_event_type(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_type: str,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Get an event type

        What its payloads look like, with the workspace's own deviations.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getWorkspaceEventType"],
            {"workspace": workspace, "eventType": event_type},
            on_answer,
        )

    def get_event_type_document(
        self,
        *,
        workspace: str | Unset = UNSET,
        format: Literal["openapi", "asyncapi"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> EventTypeDocument:
        """Get the catalogue as a document

        Every described event type, for generators of code and documentation; hidden ones are left out. At most a second old.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getEventTypeDocument"],
            {"workspace": workspace, "format": format},
            on_answer,
        )

    def list_notifications(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Notification]:
        """List notifications

        Newest first, read and unread alike.

        Needs the permission `notification:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listNotifications"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def mark_notification_read(
        self,
        *,
        workspace: str | Unset = UNSET,
        notification_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Notification:
        """Mark a notification as read

        Marks it as read for everybody in the workspace. Marking it again keeps the first time.

        Needs the permission `notification:update`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["markNotificationRead"],
            {"workspace": workspace, "notificationId": notification_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def list_alerts(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[ToldAlert]:
        """List what was told by e-mail and Slack

        Newest first. What is told to whom is set in the workspace's settings.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listAlerts"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def list_members(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[Member]:
        """List members

        Forward on id, so in the order they were added.

        Needs the permission `member:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listMembers"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def add_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        email: str,
        name: str,
        role: Role,
        on_answer: OnAnswer | None = None,
    ) -> Member:
        """Add a member

        Nothing is mailed to them: create a console link to let them in.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["addMember"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "email": email, "name": name, "role": role},
            on_answer,
        )

    def update_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        member_id: str,
        email: str | Unset = UNSET,
        name: str | Unset = UNSET,
        role: Role | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Member:
        """Update a member

        Changes only the members that are sent. A new role takes effect at the member's next request.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["updateMember"],
            {"workspace": workspace, "memberId": member_id, "email": email, "name": name, "role": role},
            on_answer,
        )

    def remove_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        member_id: str,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Remove a member

        They can no longer use the console; what they did stays in the audit log.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["removeMember"],
            {"workspace": workspace, "memberId": member_id},
            on_answer,
        )

    def list_api_tokens(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[ApiToken]:
        """List API tokens

        Newest first, revoked and expired ones included. Never with the token itself.

        Needs the permission `token:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listApiTokens"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def create_api_token(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        name: str,
        scopes: list[Scope],
        expires_at: str | None | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> CreatedApiToken:
        """Create an API token

        Only this answer contains the token. Scopes that grant more than the caller may do are refused. It expires with the token that made it at the latest.

        Needs the permission `token:create`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["createApiToken"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "name": name, "scopes": scopes, "expiresAt": expires_at},
            on_answer,
        )

    def revoke_api_token(
        self,
        *,
        workspace: str | Unset = UNSET,
        token_id: str,
        descendants: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Revoke an API token

        Takes effect everywhere within a second, permanently. Revoking it again changes nothing. A leaked token may have made others: `descendants=true` revokes those too, even if the token itself is already revoked.

        Needs the permission `token:revoke`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["revokeApiToken"],
            {"workspace": workspace, "tokenId": token_id, "descendants": descendants},
            on_answer,
        )

    def list_audit_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        action: Literal["workspace.created", "workspace.updated", "workspace.deleted", "workspace.settings_updated", "event.purged", "event_type.created", "event_type.updated", "event_type.deleted", "webhook.endpoint_created", "webhook.endpoint_updated", "webhook.endpoint_deleted", "webhook.endpoint_auto_disabled", "webhook.secret_rotated", "webhook.delivery_replayed", "webhook.delivery_resent", "webhook.replay_started", "webhook.replay_cancelled", "api_token.created", "api_token.revoked", "member.added", "member.updated", "member.removed", "console.link_created", "console.session_opened", "console.session_ended"] | Unset = UNSET,
        actor: str | Unset = UNSET,
        target: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[AuditEvent]:
        """List audit events

        Newest first. Publishes and test sends are not in it: their deliveries are their record.

        Needs the permission `audit:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listAuditEvents"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "action": action, "actor": actor, "target": target, "since": since, "until": until},
            on_answer,
        )

    def list_operator_audit_events(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        action: Literal["workspace.created", "workspace.updated", "workspace.deleted", "workspace.settings_updated", "event.purged", "event_type.created", "event_type.updated", "event_type.deleted", "webhook.endpoint_created", "webhook.endpoint_updated", "webhook.endpoint_deleted", "webhook.endpoint_auto_disabled", "webhook.secret_rotated", "webhook.delivery_replayed", "webhook.delivery_resent", "webhook.replay_started", "webhook.replay_cancelled", "api_token.created", "api_token.revoked", "member.added", "member.updated", "member.removed", "console.link_created", "console.session_opened", "console.session_ended"] | Unset = UNSET,
        actor: str | Unset = UNSET,
        target: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[AuditEvent]:
        """List what the operator did to workspaces

        Newest first: workspaces created and deleted. It outlives the workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listOperatorAuditEvents"],
            {"limit": limit, "cursor": cursor, "action": action, "actor": actor, "target": target, "since": since, "until": until},
            on_answer,
        )

    def get_caller(
        self,
        *,
        on_answer: OnAnswer | None = None,
    ) -> Caller:
        """Say who is calling

        Which workspace this token opens, what it may do, and until when. Start here with a token you know nothing about.

        Any valid token may ask. Counts in the rate limit `rest_read`.
        """
        return self._call(
            OPERATIONS["getCaller"],
            {},
            on_answer,
        )

    def create_console_link(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        member_id: str | Unset = UNSET,
        role: Role | Unset = UNSET,
        scopes: list[Scope] | Unset = UNSET,
        expires_in_seconds: int | Unset = UNSET,
        embed_in: list[str] | Unset = UNSET,
        pages: list[Literal["overview", "endpoints", "deliveries", "events", "event-types", "notifications", "audit-log", "members", "api-tokens", "connect"]] | Unset = UNSET,
        endpoint_ids: list[str] | Unset = UNSET,
        theme: ConsoleTheme | Unset = UNSET,
        to: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> ConsoleLink:
        """Create a console link

        A link that signs one browser in to the console, once, or one frame of another page (`embedIn`). One that grants more than the caller may do is refused.

        Needs the permission `console:link`. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["createConsoleLink"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "memberId": member_id, "role": role, "scopes": scopes, "expiresInSeconds": expires_in_seconds, "embedIn": embed_in, "pages": pages, "endpointIds": endpoint_ids, "theme": theme, "to": to},
            on_answer,
        )

    def list_console_sessions(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Iterator[ConsoleSession]:
        """List console sessions

        Who is signed in to the console now, newest first. Never with a secret.

        Needs the permission `member:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listConsoleSessions"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def end_console_session(
        self,
        *,
        workspace: str | Unset = UNSET,
        session_id: str,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """End a console session

        Also ends what was made in it: links, sessions and tokens. Callers may end their own sessions; those who manage members, any.

        Any valid token may ask. Counts in the rate limit `rest_write`.
        """
        return self._call(
            OPERATIONS["endConsoleSession"],
            {"workspace": workspace, "sessionId": session_id},
            on_answer,
        )


class AsyncOperations:
    async def _call(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> Any:
        raise NotImplementedError

    def _items(self, operation: Operation, params: dict[str, Any], on_answer: OnAnswer | None) -> AsyncIterator[Any]:
        raise NotImplementedError

    def list_workspaces(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Workspace]:
        """List workspaces

        Forward on id, so in the order they were created.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWorkspaces"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    async def create_workspace(
        self,
        *,
        idempotency_key: str | Unset = UNSET,
        slug: str,
        name: str,
        on_answer: OnAnswer | None = None,
    ) -> Workspace:
        """Create a workspace

        A workspace is one customer of the platform.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["createWorkspace"],
            {"idempotencyKey": idempotency_key, "slug": slug, "name": name},
            on_answer,
        )

    def list_fleet(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[FleetWorkspace]:
        """List workspaces by what waits

        Those with the most waiting deliveries first, then by id.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listFleet"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    async def update_workspace(
        self,
        *,
        workspace: str | Unset = UNSET,
        name: str | Unset = UNSET,
        limits: UpdateWorkspaceParamsLimits | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Workspace:
        """Rename a workspace, or limit it

        In force everywhere within a second. What is there already stays, also above a new limit. Its slug never changes.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["updateWorkspace"],
            {"workspace": workspace, "name": name, "limits": limits},
            on_answer,
        )

    async def delete_workspace(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Delete a workspace

        Removes everything in it: endpoints, deliveries, attempts, tokens, members and the audit log.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["deleteWorkspace"],
            {"workspace": workspace},
            on_answer,
        )

    async def get_workspace_settings(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceSettings:
        """Get the workspace's settings

        An endpoint's `effectivePolicy` shows what they come to there.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getWorkspaceSettings"],
            {"workspace": workspace},
            on_answer,
        )

    async def update_workspace_settings(
        self,
        *,
        workspace: str | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        alerts: list[SentAlertSetting] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceSettings:
        """Update the workspace's settings

        `policy` and `alerts` are replaced whole. A policy holds for attempts begun or recorded from now on; times that are set stay. A Slack alert's `url` is never shown: send back its `fingerprint`.

        Needs the permission `workspace:update`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["updateWorkspaceSettings"],
            {"workspace": workspace, "policy": policy, "alerts": alerts},
            on_answer,
        )

    async def get_overview(
        self,
        *,
        workspace: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WorkspaceOverviewDto:
        """See a workspace at a glance

        Endpoints, the last 24 hours of deliveries, the queue, and what is unread.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getOverview"],
            {"workspace": workspace},
            on_answer,
        )

    def list_webhook_endpoints(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        external_id: str | Unset = UNSET,
        search: str | Unset = UNSET,
        state: Literal["enabled", "disabled", "failing"] | Unset = UNSET,
        order: Literal["id", "recent"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[WebhookEndpoint]:
        """List webhook endpoints

        In the order they were created.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookEndpoints"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "externalId": external_id, "search": search, "state": state, "order": order},
            on_answer,
        )

    async def create_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        url: str,
        event_types: list[EventTypePattern],
        description: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        metadata: dict[str, str] | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        request: SentRequestProfile | None | Unset = UNSET,
        filter: dict[str, Any] | None | Unset = UNSET,
        signing_secret: str | Unset = UNSET,
        signing_secret_encoding: Literal["text"] | Unset = UNSET,
        reveal_secret: bool | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> CreatedWebhookEndpoint:
        """Create a webhook endpoint

        Events that match are delivered from now on.

        Needs the permission `webhook:create`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["createWebhookEndpoint"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "url": url, "eventTypes": event_types, "description": description, "externalId": external_id, "metadata": metadata, "policy": policy, "request": request, "filter": filter, "signingSecret": signing_secret, "signingSecretEncoding": signing_secret_encoding, "revealSecret": reveal_secret, "enabled": enabled},
            on_answer,
        )

    async def get_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> WebhookEndpointDetail:
        """Get a webhook endpoint

        With its times, and what it missed while it was disabled. Never with its secret.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    async def update_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        if_match: str | Unset = UNSET,
        url: str | Unset = UNSET,
        event_types: list[EventTypePattern] | Unset = UNSET,
        description: str | None | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        metadata: dict[str, str] | Unset = UNSET,
        policy: DeliveryPolicy | None | Unset = UNSET,
        request: SentRequestProfile | None | Unset = UNSET,
        filter: dict[str, Any] | None | Unset = UNSET,
        enabled: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> WebhookEndpointDetail:
        """Update a webhook endpoint

        Changes only the members that are sent. Disabling stops delivery and keeps history; enabling sets the failure streak to 0 and lets waiting deliveries go on.

        Needs the permission `webhook:update`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["updateWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id, "ifMatch": if_match, "url": url, "eventTypes": event_types, "description": description, "externalId": external_id, "metadata": metadata, "policy": policy, "request": request, "filter": filter, "enabled": enabled},
            on_answer,
        )

    async def delete_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        if_match: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Delete a webhook endpoint

        Also deletes its deliveries and attempts, of a long history some minutes later; none of them is sent any more. To stop delivery and keep history, disable it instead.

        Needs the permission `webhook:delete`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["deleteWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id, "ifMatch": if_match},
            on_answer,
        )

    async def get_endpoint_stats(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        hours: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> EndpointStats:
        """See an endpoint's deliveries hour by hour

        Counts deliveries by the hour they were created in and the status they have now, and how long their last attempts took.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getEndpointStats"],
            {"workspace": workspace, "endpointId": endpoint_id, "hours": hours},
            on_answer,
        )

    async def diagnose_webhook_endpoint(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> EndpointDiagnosis:
        """Diagnose an endpoint

        Says why an endpoint does not get its webhooks: what is wrong, since when, how many in a row, what was changed before, how sure that is, and the next steps. From recorded evidence alone; sends nothing to the receiver.

        Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
        """
        return await self._call(
            OPERATIONS["diagnoseWebhookEndpoint"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    async def rotate_webhook_secret(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> RotatedSecret:
        """Rotate the signing secret

        Only this answer contains the new secret. For 24 hours deliveries are signed with the new and the old one; an even older one stops at once.

        Needs the permission `webhook:rotate_secret`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["rotateWebhookSecret"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    async def check_authentication(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        on_answer: OnAnswer | None = None,
    ) -> AuthenticationCheck:
        """Check an endpoint's authentication

        Fetches a token, or looks at the certificate. The endpoint is not asked, and nothing is stored.

        Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
        """
        return await self._call(
            OPERATIONS["checkAuthentication"],
            {"workspace": workspace, "endpointId": endpoint_id},
            on_answer,
        )

    async def send_test_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        event_type: str | Unset = UNSET,
        payload: Any | Unset = UNSET,
        wait_seconds: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send a test event

        Queues a synthetic `webhook.test_event`, or what you give, for this endpoint alone, whatever it subscribes to. With `waitSeconds` the answer shows what came of the first attempt.

        Needs the permission `webhook:test`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["sendTestEvent"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key, "eventType": event_type, "payload": payload, "waitSeconds": wait_seconds},
            on_answer,
        )

    async def explain_signature(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        headers: dict[str, str],
        body: str,
        on_answer: OnAnswer | None = None,
    ) -> SignatureExplanation:
        """Explain a signature

        Says why a receiver refuses a delivery: whether the signature fits, was made with the previous secret, is for another body, or is old. Nothing is stored.

        Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
        """
        return await self._call(
            OPERATIONS["explainSignature"],
            {"workspace": workspace, "endpointId": endpoint_id, "headers": headers, "body": body},
            on_answer,
        )

    def list_webhook_deliveries(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        status: Literal["pending", "delivered", "failed", "failed_permanent", "dead_lettered"] | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        recovered: bool | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Delivery]:
        """List an endpoint's deliveries

        Newest first.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookDeliveries"],
            {"workspace": workspace, "endpointId": endpoint_id, "limit": limit, "cursor": cursor, "status": status, "eventType": event_type, "recovered": recovered, "payload": payload},
            on_answer,
        )

    def list_workspace_deliveries(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        status: Literal["pending", "delivered", "failed", "failed_permanent", "dead_lettered"] | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        recovered: bool | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        endpoint_id: str | Unset = UNSET,
        event_id: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Delivery]:
        """List a workspace's deliveries

        Newest first, over all endpoints.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWorkspaceDeliveries"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "status": status, "eventType": event_type, "recovered": recovered, "payload": payload, "endpointId": endpoint_id, "eventId": event_id, "since": since, "until": until},
            on_answer,
        )

    async def get_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Get a delivery

        Its status, its payload, and the result of the last attempt.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id},
            on_answer,
        )

    def list_webhook_delivery_attempts(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Attempt]:
        """List a delivery's attempts

        By ordinal. Shows the request headers as sent and the first 2 KiB of each answer.

        Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listWebhookDeliveryAttempts"],
            {"workspace": workspace, "deliveryId": delivery_id, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def replay_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send a delivery that failed again

        Makes a new pending delivery with the same event type and payload, under a new id. Only for failed, failed_permanent and dead_lettered ones; the endpoint must be enabled. The source stays as it is: a failed one keeps being retried as well, so its message may arrive by both.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["replayWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    async def resend_webhook_delivery(
        self,
        *,
        workspace: str | Unset = UNSET,
        delivery_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Delivery:
        """Send an ended delivery again, a delivered one too

        Like a replay, but for deliveries that have ended: delivered, failed_permanent and dead_lettered ones. The receiver gets what it has had already, under a new id.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["resendWebhookDelivery"],
            {"workspace": workspace, "deliveryId": delivery_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    async def start_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        endpoint_id: str,
        idempotency_key: str | Unset = UNSET,
        statuses: list[ReplayableStatus] | Unset = UNSET,
        since: str,
        until: str | None | Unset = UNSET,
        include_missed: bool | Unset = UNSET,
        include_unsent: bool | Unset = UNSET,
        include_recovered: bool | Unset = UNSET,
        include_tests: bool | Unset = UNSET,
        dry_run: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> ReplayCount | Replay:
        """Replay all that failed in a time

        Starts a job that makes a new delivery for each source, with its audit event. It goes only as fast as the endpoint takes it. With `dryRun` it only counts (200). What was recovered meanwhile, or is under way again, is left out, so a second job finds only what failed anew.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["startReplay"],
            {"workspace": workspace, "endpointId": endpoint_id, "idempotencyKey": idempotency_key, "statuses": statuses, "since": since, "until": until, "includeMissed": include_missed, "includeUnsent": include_unsent, "includeRecovered": include_recovered, "includeTests": include_tests, "dryRun": dry_run},
            on_answer,
        )

    def list_replays(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Replay]:
        """List replay jobs

        Newest first, with their progress.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listReplays"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def get_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        replay_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Replay:
        """Get a replay job

        With its progress: `replayed` of `matched`.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getReplay"],
            {"workspace": workspace, "replayId": replay_id},
            on_answer,
        )

    async def cancel_replay(
        self,
        *,
        workspace: str | Unset = UNSET,
        replay_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Replay:
        """Cancel a replay job

        No further deliveries are made; those made so far stay and are sent. A job that has ended is not changed.

        Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["cancelReplay"],
            {"workspace": workspace, "replayId": replay_id},
            on_answer,
        )

    async def get_trace(
        self,
        *,
        workspace: str | Unset = UNSET,
        trace_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Trace:
        """Follow an id

        The publish, its deliveries with their attempts, replays, and what the audit log says of them, in order of time: everything of the same event, whichever of its ids is given.

        Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getTrace"],
            {"workspace": workspace, "traceId": trace_id},
            on_answer,
        )

    def list_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        event_type: EventType | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        payload_path: str | Unset = UNSET,
        payload_value: str | Unset = UNSET,
        payload: Literal["include", "omit"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Event]:
        """List events

        What was published, newest first, Posthorn's own events too; test sends are no events. Usually kept for 30 days.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listEvents"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "eventType": event_type, "since": since, "until": until, "idempotencyKey": idempotency_key, "payloadPath": payload_path, "payloadValue": payload_value, "payload": payload},
            on_answer,
        )

    async def publish_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        event_type: EventType,
        payload: Any,
        endpoint_ids: list[str] | Unset = UNSET,
        retry: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> PublishedEvent:
        """Publish an event

        Queues one delivery for each enabled endpoint whose subscriptions match, or that `endpointIds` names. Once this is answered, the event is durable. The payload reaches receivers exactly as written here.

        Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
        """
        return await self._call(
            OPERATIONS["publishEvent"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "eventType": event_type, "payload": payload, "endpointIds": endpoint_ids, "retry": retry},
            on_answer,
        )

    async def publish_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        events: list[PublishEvent],
        on_answer: OnAnswer | None = None,
    ) -> PublishedEvents:
        """Publish several events

        All or nothing: one event that is refused refuses the whole batch. The answers come in the order of the events.

        Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
        """
        return await self._call(
            OPERATIONS["publishEvents"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "events": events},
            on_answer,
        )

    async def get_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        on_answer: OnAnswer | None = None,
    ) -> Event:
        """Get an event

        With its payload, and how many deliveries it became. List deliveries with its `eventId` to see them.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getEvent"],
            {"workspace": workspace, "eventId": event_id},
            on_answer,
        )

    def list_event_types(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[EventTypeSummary]:
        """List event types

        Every event type that is described, or was published in the last 30 days, by name. Compare with an endpoint's `eventTypes` when nothing arrives.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listEventTypes"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def purge_event(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Event:
        """Purge an event

        Blanks its payload, and the bodies and headers that receivers answered, of replays too. Ids, times, statuses and signatures stay. Deliveries of it must have ended; they cannot be replayed any more.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["purgeEvent"],
            {"workspace": workspace, "eventId": event_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def explain_event_routing(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_id: str,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        endpoint_id: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[EventRoute]:
        """Explain who got an event

        For every endpoint that there is now, by its id: why it got the event, or why not.

        Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
        """
        return self._items(
            OPERATIONS["explainEventRouting"],
            {"workspace": workspace, "eventId": event_id, "limit": limit, "cursor": cursor, "endpointId": endpoint_id},
            on_answer,
        )

    async def try_filter(
        self,
        *,
        workspace: str | Unset = UNSET,
        filter: Any,
        event_types: list[EventTypePattern] | Unset = UNSET,
        payload: Any | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> TriedFilter:
        """Try a filter on real events

        Judges the newest 200 events that `eventTypes` want (default all), or one payload. Fewer when payloads are so large that it would take too long. Changes nothing.

        Needs the permission `webhook:list`. Counts in the rate limit `filter_try`.
        """
        return await self._call(
            OPERATIONS["tryFilter"],
            {"workspace": workspace, "filter": filter, "eventTypes": event_types, "payload": payload},
            on_answer,
        )

    async def get_event_type(
        self,
        *,
        event_type: str,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Get an event type of the catalogue

        With the deviations of all workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getEventType"],
            {"eventType": event_type},
            on_answer,
        )

    async def put_event_type(
        self,
        *,
        event_type: str,
        if_match: str | Unset = UNSET,
        description: str | None | Unset = UNSET,
        group: str | None | Unset = UNSET,
        schema: Any | Unset = UNSET,
        examples: list[Any] | Unset = UNSET,
        validation: Literal["off", "report", "refuse"] | Unset = UNSET,
        deprecated: bool | Unset = UNSET,
        replaced_by: EventType | None | Unset = UNSET,
        hidden: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Describe an event type

        Replaces what the catalogue says of it; what is left out is reset to its default. 201 the first time. In force everywhere within a second; events that are there already are not judged again.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["putEventType"],
            {"eventType": event_type, "ifMatch": if_match, "description": description, "group": group, "schema": schema, "examples": examples, "validation": validation, "deprecated": deprecated, "replacedBy": replaced_by, "hidden": hidden},
            on_answer,
        )

    async def delete_event_type(
        self,
        *,
        event_type: str,
        if_match: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Remove an event type from the catalogue

        Its events stay, and it can still be published; its payloads are not judged any more.

        Needs the operator's token. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["deleteEventType"],
            {"eventType": event_type, "ifMatch": if_match},
            on_answer,
        )

    def list_catalogue(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[DescribedEventType]:
        """List the catalogue

        By name, hidden ones too, with the deviations of all workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listCatalogue"],
            {"limit": limit, "cursor": cursor},
            on_answer,
        )

    async def draft_event_type_schema(
        self,
        *,
        event_type: str,
        events: int | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> DraftedSchema:
        """Draft a schema from real events

        From the newest events of all workspaces: the types of each member, and which were always there. The type need not be described.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["draftEventTypeSchema"],
            {"eventType": event_type, "events": events},
            on_answer,
        )

    async def check_event_type_schema(
        self,
        *,
        event_type: str,
        schema: Any,
        on_answer: OnAnswer | None = None,
    ) -> CheckedSchema:
        """Try a schema on real events

        Judges the newest 200 events of all workspaces by it, and compares it with the present one. Changes nothing.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["checkEventTypeSchema"],
            {"eventType": event_type, "schema": schema},
            on_answer,
        )

    async def get_workspace_event_type(
        self,
        *,
        workspace: str | Unset = UNSET,
        event_type: str,
        on_answer: OnAnswer | None = None,
    ) -> DescribedEventType:
        """Get an event type

        What its payloads look like, with the workspace's own deviations.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getWorkspaceEventType"],
            {"workspace": workspace, "eventType": event_type},
            on_answer,
        )

    async def get_event_type_document(
        self,
        *,
        workspace: str | Unset = UNSET,
        format: Literal["openapi", "asyncapi"] | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> EventTypeDocument:
        """Get the catalogue as a document

        Every described event type, for generators of code and documentation; hidden ones are left out. At most a second old.

        Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getEventTypeDocument"],
            {"workspace": workspace, "format": format},
            on_answer,
        )

    def list_notifications(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Notification]:
        """List notifications

        Newest first, read and unread alike.

        Needs the permission `notification:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listNotifications"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def mark_notification_read(
        self,
        *,
        workspace: str | Unset = UNSET,
        notification_id: str,
        idempotency_key: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Notification:
        """Mark a notification as read

        Marks it as read for everybody in the workspace. Marking it again keeps the first time.

        Needs the permission `notification:update`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["markNotificationRead"],
            {"workspace": workspace, "notificationId": notification_id, "idempotencyKey": idempotency_key},
            on_answer,
        )

    def list_alerts(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[ToldAlert]:
        """List what was told by e-mail and Slack

        Newest first. What is told to whom is set in the workspace's settings.

        Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listAlerts"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    def list_members(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[Member]:
        """List members

        Forward on id, so in the order they were added.

        Needs the permission `member:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listMembers"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def add_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        email: str,
        name: str,
        role: Role,
        on_answer: OnAnswer | None = None,
    ) -> Member:
        """Add a member

        Nothing is mailed to them: create a console link to let them in.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["addMember"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "email": email, "name": name, "role": role},
            on_answer,
        )

    async def update_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        member_id: str,
        email: str | Unset = UNSET,
        name: str | Unset = UNSET,
        role: Role | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> Member:
        """Update a member

        Changes only the members that are sent. A new role takes effect at the member's next request.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["updateMember"],
            {"workspace": workspace, "memberId": member_id, "email": email, "name": name, "role": role},
            on_answer,
        )

    async def remove_member(
        self,
        *,
        workspace: str | Unset = UNSET,
        member_id: str,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Remove a member

        They can no longer use the console; what they did stays in the audit log.

        Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["removeMember"],
            {"workspace": workspace, "memberId": member_id},
            on_answer,
        )

    def list_api_tokens(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[ApiToken]:
        """List API tokens

        Newest first, revoked and expired ones included. Never with the token itself.

        Needs the permission `token:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listApiTokens"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def create_api_token(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        name: str,
        scopes: list[Scope],
        expires_at: str | None | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> CreatedApiToken:
        """Create an API token

        Only this answer contains the token. Scopes that grant more than the caller may do are refused. It expires with the token that made it at the latest.

        Needs the permission `token:create`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["createApiToken"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "name": name, "scopes": scopes, "expiresAt": expires_at},
            on_answer,
        )

    async def revoke_api_token(
        self,
        *,
        workspace: str | Unset = UNSET,
        token_id: str,
        descendants: bool | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """Revoke an API token

        Takes effect everywhere within a second, permanently. Revoking it again changes nothing. A leaked token may have made others: `descendants=true` revokes those too, even if the token itself is already revoked.

        Needs the permission `token:revoke`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["revokeApiToken"],
            {"workspace": workspace, "tokenId": token_id, "descendants": descendants},
            on_answer,
        )

    def list_audit_events(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        action: Literal["workspace.created", "workspace.updated", "workspace.deleted", "workspace.settings_updated", "event.purged", "event_type.created", "event_type.updated", "event_type.deleted", "webhook.endpoint_created", "webhook.endpoint_updated", "webhook.endpoint_deleted", "webhook.endpoint_auto_disabled", "webhook.secret_rotated", "webhook.delivery_replayed", "webhook.delivery_resent", "webhook.replay_started", "webhook.replay_cancelled", "api_token.created", "api_token.revoked", "member.added", "member.updated", "member.removed", "console.link_created", "console.session_opened", "console.session_ended"] | Unset = UNSET,
        actor: str | Unset = UNSET,
        target: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[AuditEvent]:
        """List audit events

        Newest first. Publishes and test sends are not in it: their deliveries are their record.

        Needs the permission `audit:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listAuditEvents"],
            {"workspace": workspace, "limit": limit, "cursor": cursor, "action": action, "actor": actor, "target": target, "since": since, "until": until},
            on_answer,
        )

    def list_operator_audit_events(
        self,
        *,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        action: Literal["workspace.created", "workspace.updated", "workspace.deleted", "workspace.settings_updated", "event.purged", "event_type.created", "event_type.updated", "event_type.deleted", "webhook.endpoint_created", "webhook.endpoint_updated", "webhook.endpoint_deleted", "webhook.endpoint_auto_disabled", "webhook.secret_rotated", "webhook.delivery_replayed", "webhook.delivery_resent", "webhook.replay_started", "webhook.replay_cancelled", "api_token.created", "api_token.revoked", "member.added", "member.updated", "member.removed", "console.link_created", "console.session_opened", "console.session_ended"] | Unset = UNSET,
        actor: str | Unset = UNSET,
        target: str | Unset = UNSET,
        since: str | Unset = UNSET,
        until: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[AuditEvent]:
        """List what the operator did to workspaces

        Newest first: workspaces created and deleted. It outlives the workspaces.

        Needs the operator's token. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listOperatorAuditEvents"],
            {"limit": limit, "cursor": cursor, "action": action, "actor": actor, "target": target, "since": since, "until": until},
            on_answer,
        )

    async def get_caller(
        self,
        *,
        on_answer: OnAnswer | None = None,
    ) -> Caller:
        """Say who is calling

        Which workspace this token opens, what it may do, and until when. Start here with a token you know nothing about.

        Any valid token may ask. Counts in the rate limit `rest_read`.
        """
        return await self._call(
            OPERATIONS["getCaller"],
            {},
            on_answer,
        )

    async def create_console_link(
        self,
        *,
        workspace: str | Unset = UNSET,
        idempotency_key: str | Unset = UNSET,
        member_id: str | Unset = UNSET,
        role: Role | Unset = UNSET,
        scopes: list[Scope] | Unset = UNSET,
        expires_in_seconds: int | Unset = UNSET,
        embed_in: list[str] | Unset = UNSET,
        pages: list[Literal["overview", "endpoints", "deliveries", "events", "event-types", "notifications", "audit-log", "members", "api-tokens", "connect"]] | Unset = UNSET,
        endpoint_ids: list[str] | Unset = UNSET,
        theme: ConsoleTheme | Unset = UNSET,
        to: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> ConsoleLink:
        """Create a console link

        A link that signs one browser in to the console, once, or one frame of another page (`embedIn`). One that grants more than the caller may do is refused.

        Needs the permission `console:link`. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["createConsoleLink"],
            {"workspace": workspace, "idempotencyKey": idempotency_key, "memberId": member_id, "role": role, "scopes": scopes, "expiresInSeconds": expires_in_seconds, "embedIn": embed_in, "pages": pages, "endpointIds": endpoint_ids, "theme": theme, "to": to},
            on_answer,
        )

    def list_console_sessions(
        self,
        *,
        workspace: str | Unset = UNSET,
        limit: int | Unset = UNSET,
        cursor: str | Unset = UNSET,
        on_answer: OnAnswer | None = None,
    ) -> AsyncIterator[ConsoleSession]:
        """List console sessions

        Who is signed in to the console now, newest first. Never with a secret.

        Needs the permission `member:list`. Counts in the rate limit `rest_read`.
        """
        return self._items(
            OPERATIONS["listConsoleSessions"],
            {"workspace": workspace, "limit": limit, "cursor": cursor},
            on_answer,
        )

    async def end_console_session(
        self,
        *,
        workspace: str | Unset = UNSET,
        session_id: str,
        on_answer: OnAnswer | None = None,
    ) -> None:
        """End a console session

        Also ends what was made in it: links, sessions and tokens. Callers may end their own sessions; those who manage members, any.

        Any valid token may ask. Counts in the rate limit `rest_write`.
        """
        return await self._call(
            OPERATIONS["endConsoleSession"],
            {"workspace": workspace, "sessionId": session_id},
            on_answer,
        )
