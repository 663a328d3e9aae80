// Written by bin/generate.ts from openapi.json: run `npm run clients` instead of changing it.

import type { CallOptions, Listed } from "./Call.ts"

/** One customer of the platform: its endpoints, deliveries, tokens and members. */
export interface Workspace {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Part of every path of the workspace. */
  readonly slug: string
  /** For people. */
  readonly name: string
  /** Its own limits; null is the installation's. */
  readonly limits: WorkspaceLimits
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
}

/** What is wrong with one member of the request; `path` is a JSON pointer. */
export interface RequestIssue {
  /** JSON pointer to what is wrong; empty for the whole. */
  readonly path: string
  /** For people. */
  readonly message: string
}

/** How one workspace is doing. */
export interface FleetWorkspace {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Part of every path of the workspace. */
  readonly slug: string
  /** For people. */
  readonly name: string
  /** Deliveries that still have an attempt to come; may be 2 seconds old. */
  readonly waiting: number
  /** Since the oldest of them was made; null if none waits. */
  readonly oldestWaitingSeconds: number | null
  /** Its endpoints. */
  readonly endpoints: FleetWorkspaceEndpoints
}

/** What holds for all endpoints of the workspace that say nothing else. */
export interface WorkspaceSettings {
  /** The delivery policy of its endpoints; null when all of it is the default. */
  readonly policy: DeliveryPolicy | null
  /** Whom to tell what, by e-mail or Slack. */
  readonly alerts: ReadonlyArray<AlertSetting>
}

/** When to try again, how fast, and when to stop. What is left out is the workspace's, or the default. */
export interface DeliveryPolicy {
  readonly retries?: Retries
  /** Each wait is drawn between itself and (1 + jitter) times itself. */
  readonly jitter?: number
  /** Whether the next attempt is not before what `Retry-After` of a retryable answer says, at most 24 hours. */
  readonly honorRetryAfter?: boolean
  /** Seconds until the head of the answer has to be there. */
  readonly timeoutSeconds?: number
  /** The most attempts in a time, first ones, retries and test sends together; null: no limit. */
  readonly rateLimit?: RateLimit | null
  readonly disableAfter?: DisableAfter
  /** `fail`: 410 is a 4xx like others. `disable`: it disables the endpoint at once. */
  readonly onGone?: "fail" | "disable"
}

/** When a delivery is tried again, and how often. */
export type Retries = Retries2 | Retries3 | Retries4 | Retries5

/** In no window of `perSeconds` are more than `requests` attempts begun. What is beyond that waits, and is no failure. */
export interface RateLimit {
  /** Attempts. */
  readonly requests: number
  /** Seconds. */
  readonly perSeconds: number
}

/** When failures disable the endpoint. */
export type DisableAfter = DisableAfter2 | DisableAfter3 | DisableAfter4

/** Whom to tell what. */
export type AlertSetting = AlertSetting2 | AlertSetting3

/** Whom to tell what; Slack by `url`, or by the `fingerprint` of the stored one. */
export type SentAlertSetting = SentAlertSetting2 | SentAlertSetting3 | SentAlertSetting4

/** A workspace at a glance. */
export interface WorkspaceOverviewDto {
  /** The workspace. */
  readonly workspace: WorkspaceOverviewDtoWorkspace
  /** Webhook endpoints. */
  readonly endpoints: WorkspaceOverviewDtoEndpoints
  /** Deliveries created in the last 24 hours, by their present status. */
  readonly deliveries: WorkspaceOverviewDtoDeliveries
  /** The last 24 hours of the clock, oldest first; the last is the present, unfinished one. */
  readonly hours: ReadonlyArray<HourStats>
  /** What waits to be sent. */
  readonly queue: WorkspaceOverviewDtoQueue
  /** Members of the workspace. */
  readonly members: number
  /** Tokens that are neither revoked nor expired. */
  readonly apiTokens: number
  /** Notifications nobody has marked as read. */
  readonly unreadNotifications: number
}

export interface HourStats {
  /** When the hour begins, in UTC. */
  readonly hour: string
  /** Deliveries created in this time that were answered 2xx. */
  readonly delivered: number
  /** Those that failed so far and will be tried again. */
  readonly failed: number
  /** Those that will not be tried again: refused, or the URL was bad. */
  readonly failedPermanent: number
  /** Those that have spent their retries. */
  readonly deadLettered: number
  /** Half of their last attempts took at most this long; null if there was none. */
  readonly p50Ms: number | null
  /** 95 of 100 of their last attempts took at most so long; null when there was none. */
  readonly p95Ms: number | null
}

/** An event type, `*` for all, or `prefix.*` for every deeper name. */
export type EventTypePattern = string

/** What the request looks like. A secret that is left out is kept, unless the URL's origin or path changes. */
export interface SentRequestProfile {
  /** At most 20 headers, each name once, whatever its case; names and values that are no secrets have at most 8,192 characters together. */
  readonly headers?: ReadonlyArray<SentRequestProfileHeadersItem>
  /** How Posthorn shows who it is: in `authorization`, or by a certificate. */
  readonly authentication?: SentRequestProfileAuthentication | SentRequestProfileAuthentication2 | SentRequestProfileAuthentication3 | SentRequestProfileAuthentication4
  /** `envelope`: delivery id, type and payload. `payload`: the payload alone. `standard`: `type`, `timestamp` and `data` of Standard Webhooks. `cloudevents`: CloudEvents 1.0, structured. */
  readonly body?: "envelope" | "payload" | "standard" | "cloudevents"
  /** 1 to 3 recipes, each of which is sent; left out, it is `standard_v1` alone. */
  readonly signatures?: ReadonlyArray<SignatureRecipe>
}

/** A signature that is sent. */
export type SignatureRecipe = SignatureRecipe2 | SignatureRecipe3 | SignatureRecipe4

/** A new endpoint, with its signing secret if it was asked for. */
export interface CreatedWebhookEndpoint {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Where deliveries are posted. */
  readonly url: string
  /** For people. */
  readonly description: string | null
  /** Exact event types, `prefix.*`, or `*`. */
  readonly eventTypes: ReadonlyArray<string>
  /** The platform's own name for it; null when it has none. */
  readonly externalId: string | null
  /** The platform's own notes on it. */
  readonly metadata: { readonly [name: string]: string }
  /** Its own delivery policy; null when it leaves all to the workspace. */
  readonly policy: DeliveryPolicy | null
  /** What its requests look like, with fingerprints in the place of secrets; null when they look as they always do. */
  readonly request: RequestProfile | null
  /** Only events whose payload fits it are delivered, spec §6.3; null when all are. */
  readonly filter: { readonly [name: string]: unknown } | null
  /** Whether deliveries are sent to it. */
  readonly enabled: boolean
  /** What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled. */
  readonly disabledReason: "manual" | "consecutive_failures" | "failing_for" | "gone" | null
  /** Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise. */
  readonly consecutiveFailures: number
  /** `whsec_<base64>`, shown this once. */
  readonly signingSecret?: string
}

/** What the request looks like, with fingerprints in the place of secrets. */
export interface RequestProfile {
  /** Headers of its own. */
  readonly headers?: ReadonlyArray<RequestProfileHeadersItem | RequestProfileHeadersItem2>
  /** How Posthorn shows who it is: in `authorization`, or by a certificate. */
  readonly authentication?: RequestProfileAuthentication | RequestProfileAuthentication2 | RequestProfileAuthentication3 | RequestProfileAuthentication4
  /** `envelope`: delivery id, type and payload. `payload`: the payload alone. `standard`: `type`, `timestamp` and `data` of Standard Webhooks. `cloudevents`: CloudEvents 1.0, structured. */
  readonly body?: "envelope" | "payload" | "standard" | "cloudevents"
  /** 1 to 3 recipes, each of which is sent; left out, it is `standard_v1` alone. */
  readonly signatures?: ReadonlyArray<SignatureRecipe>
}

/** Where a workspace wants its events, and which. */
export interface WebhookEndpoint {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Where deliveries are posted. */
  readonly url: string
  /** For people. */
  readonly description: string | null
  /** Exact event types, `prefix.*`, or `*`. */
  readonly eventTypes: ReadonlyArray<string>
  /** The platform's own name for it; null when it has none. */
  readonly externalId: string | null
  /** The platform's own notes on it. */
  readonly metadata: { readonly [name: string]: string }
  /** Its own delivery policy; null when it leaves all to the workspace. */
  readonly policy: DeliveryPolicy | null
  /** What its requests look like, with fingerprints in the place of secrets; null when they look as they always do. */
  readonly request: RequestProfile | null
  /** Only events whose payload fits it are delivered, spec §6.3; null when all are. */
  readonly filter: { readonly [name: string]: unknown } | null
  /** Whether deliveries are sent to it. */
  readonly enabled: boolean
  /** What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled. */
  readonly disabledReason: "manual" | "consecutive_failures" | "failing_for" | "gone" | null
  /** Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise. */
  readonly consecutiveFailures: number
}

/** An endpoint with its times. */
export interface WebhookEndpointDetail {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Where deliveries are posted. */
  readonly url: string
  /** For people. */
  readonly description: string | null
  /** Exact event types, `prefix.*`, or `*`. */
  readonly eventTypes: ReadonlyArray<string>
  /** The platform's own name for it; null when it has none. */
  readonly externalId: string | null
  /** The platform's own notes on it. */
  readonly metadata: { readonly [name: string]: string }
  /** Its own delivery policy; null when it leaves all to the workspace. */
  readonly policy: DeliveryPolicy | null
  /** What its requests look like, with fingerprints in the place of secrets; null when they look as they always do. */
  readonly request: RequestProfile | null
  /** Only events whose payload fits it are delivered, spec §6.3; null when all are. */
  readonly filter: { readonly [name: string]: unknown } | null
  /** Whether deliveries are sent to it. */
  readonly enabled: boolean
  /** What disabled it: somebody by hand, its failures in a row, failing for so long, or a 410 answer; null while it is enabled. */
  readonly disabledReason: "manual" | "consecutive_failures" | "failing_for" | "gone" | null
  /** Failed attempts in a row; at 20 the endpoint is disabled, unless its policy says otherwise. */
  readonly consecutiveFailures: number
  readonly effectivePolicy: EffectivePolicy
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** RFC 3339 in UTC with milliseconds. */
  readonly updatedAt: string
  /** Until then deliveries are signed with the previous secret too; null when there is none. */
  readonly previousSecretExpiresAt: string | null
  /** `whpk_<base64>`, which verifies its `standard_v1a` signatures; null without that recipe. */
  readonly publicKey: string | null
  /** Events that matched while it was disabled: no delivery was made for them. */
  readonly missedEvents: WebhookEndpointDetailMissedEvents
  /** Deliveries that were removed unsent: it had been disabled for as long as history is kept. */
  readonly expiredDeliveries: number
}

/** The delivery policy that holds for an endpoint: every member, resolved. */
export interface EffectivePolicy {
  readonly retries: Retries
  /** Each wait is drawn between itself and (1 + jitter) times itself. */
  readonly jitter: number
  /** Whether the next attempt is not before what `Retry-After` of a retryable answer says, at most 24 hours. */
  readonly honorRetryAfter: boolean
  /** Seconds until the head of the answer has to be there. */
  readonly timeoutSeconds: number
  /** The most attempts in a time, first ones, retries and test sends together; null: no limit. */
  readonly rateLimit: RateLimit | null
  readonly disableAfter: DisableAfter
  /** `fail`: 410 is a 4xx like others. `disable`: it disables the endpoint at once. */
  readonly onGone: "fail" | "disable"
  /** All waits of a delivery together, without jitter. */
  readonly givesUpAfterSeconds: number
}

/** An endpoint's deliveries hour by hour. */
export interface EndpointStats {
  /** One entry for each hour, oldest first; the last is the present, unfinished one. */
  readonly hours: ReadonlyArray<HourStats>
  readonly totals: StatsTotals
}

/** The same over all the hours. */
export interface StatsTotals {
  /** Deliveries created in this time that were answered 2xx. */
  readonly delivered: number
  /** Those that failed so far and will be tried again. */
  readonly failed: number
  /** Those that will not be tried again: refused, or the URL was bad. */
  readonly failedPermanent: number
  /** Those that have spent their retries. */
  readonly deadLettered: number
  /** Half of their last attempts took at most this long; null if there was none. */
  readonly p50Ms: number | null
  /** 95 of 100 of their last attempts took at most so long; null when there was none. */
  readonly p95Ms: number | null
}

/** What is wrong with an endpoint, and what to do. */
export interface EndpointDiagnosis {
  /** Id of the webhook endpoint. */
  readonly endpointId: string
  /** `unstable` delivers and fails in turn; `unproven` has no attempt on record, or gets nothing that is published. */
  readonly health: "healthy" | "failing" | "unstable" | "disabled" | "unproven"
  /** RFC 3339 in UTC with milliseconds. */
  readonly diagnosedAt: string
  /** What the findings are based on. */
  readonly examined: EndpointDiagnosisExamined
  /** In the order to act on them; at least one. */
  readonly findings: ReadonlyArray<Finding>
}

export interface Finding {
  /** What was found: one of a fixed list, see docs/mcp.md. */
  readonly code: "healthy" | "nothing_sent" | "not_taken_up" | "secret_unreadable" | "nothing_matches" | "misspelt_subscription" | "filter_excludes_everything" | "slow" | "flapping" | "some_event_types" | "some_deliveries" | "timestamp_off" | "rejected" | "not_found" | "rate_limited" | "rate_limited_backlog" | "retry_after_ignored" | "refused" | "redirected" | "server_error" | "timing_out" | "unreachable" | "name_unresolved" | "tls_failed" | "not_http" | "url_refused" | "proxy_failed" | "authentication_failing" | "certificate_expiring" | "disabled_by_failures" | "disabled_by_hand" | "stopped_deliveries" | "missed_events"
  /** What is wrong, in one or two sentences. */
  readonly summary: string
  /** When it began, as far as the evidence goes. */
  readonly since: string | null
  /** Why the attempts fail; null when that is not what was found. */
  readonly reason: FailureReason | null
  /** What the failure of the connection, or of TLS, was; null where there is no more to say. `incomplete_chain`: only the receiver's own certificate came, and no known authority signed that. */
  readonly failureDetail: FailureDetail | null
  /** The status of the failed answers. */
  readonly httpStatus: number | null
  /** The endpoint's failures in a row up to now. */
  readonly inARow: number
  /** What was changed shortly before it began; null when nothing was. */
  readonly changedBefore: ChangeBefore | null
  /** How sure this is; `because` says why. */
  readonly confidence: "high" | "medium" | "low"
  /** The facts behind it. */
  readonly because: string
  /** Deliveries that show it, newest first; at most 3. */
  readonly deliveryIds: ReadonlyArray<string>
  /** In the order to take them. */
  readonly nextSteps: ReadonlyArray<NextStep>
}

export type FailureReason = "http_status" | "request_timeout" | "connection_failed" | "dns_failed" | "tls_failed" | "invalid_response" | "invalid_url" | "proxy_failed" | "auth_failed"

export type FailureDetail = "refused" | "reset" | "unreachable" | "closed_early" | "connect_timeout" | "certificate_expired" | "certificate_not_yet_valid" | "wrong_host" | "unknown_issuer" | "incomplete_chain" | "self_signed" | "tls_version" | "not_tls" | "tls_other"

/** The recorded change that preceded it and may explain it. */
export interface ChangeBefore {
  /** Id of the audit event. */
  readonly auditEventId: string
  /** What was done. */
  readonly action: string
  /** The members that changed. */
  readonly fields: ReadonlyArray<string>
  /** When it was changed. */
  readonly at: string
  /** The transport it came through. */
  readonly via: string
}

export interface NextStep {
  /** The operation's name, as in this document; null for a person's step. */
  readonly operation: string | null
  /** The operation's MCP tool; null for a person's step. */
  readonly tool: string | null
  /** What to give it: members of path, query and body in one object; null when it is work for a person. */
  readonly arguments: { readonly [name: string]: unknown } | null
  /** Arguments to find out, ask for, or decide. A tool's step without any is safe to run unchanged: it removes nothing, rotates nothing, and sends nothing again that may already have had an effect. */
  readonly fillIn: ReadonlyArray<string>
  /** What it is good for. */
  readonly why: string
}

export interface RotatedSecret {
  /** Id of the webhook endpoint. */
  readonly endpointId: string
  /** `whsec_<base64>`, shown this once. */
  readonly signingSecret: string
  /** Until then deliveries are signed with the old secret too. */
  readonly previousSecretExpiresAt: string
}

/** Never a token, nor what else the token endpoint said. */
export interface AuthenticationCheck {
  /** Whether Posthorn can authenticate itself; true as well when there is nothing to try. */
  readonly ok: boolean
  /** How the endpoint's `request` authenticates; null when it does not. */
  readonly kind: "basic" | "bearer" | "oauth2" | "mtls" | null
  /** What is wrong: of what a token endpoint said, its status and its OAuth error code. */
  readonly reason: string | null
  /** When the token just fetched, or the certificate, expires. */
  readonly expiresAt: string | null
}

/** One event on its way to one endpoint. */
export interface Delivery {
  /** Also the `webhook-id` header; the same on every retry, new on a replay. */
  readonly id: string
  /** Id of the webhook endpoint. */
  readonly endpointId: string
  /** Null for a test send. */
  readonly eventId: string | null
  /** Dotted words such as `invoice.paid`. */
  readonly eventType: string
  readonly status: DeliveryStatus
  /** Attempts recorded so far; at most 7. */
  readonly attempts: number
  /** When it is tried next, at the earliest; null when it is not. */
  readonly nextAttemptAt: string | null
  /** Any JSON value, carried exactly as it was written. */
  readonly payload: unknown
  /** The delivery this one repeats; kept when that one is gone. */
  readonly replayedFrom: string | null
  /** The replay or resend of the same event to the same endpoint, made later, that was delivered; null if there is none, or this one did not fail. */
  readonly recoveredBy: string | null
  /** Whether it is a test send, or a replay of one; then it carries `x-posthorn-test: true`. */
  readonly test: boolean
  /** The receiver's HTTP status; null when no usable answer came. */
  readonly lastHttpStatus: number | null
  /** Why the last attempt failed; null when it did not. */
  readonly lastFailureReason: FailureReason | null
  /** Milliseconds the last attempt took; null before the first. */
  readonly lastDurationMs: number | null
  /** When the last attempt began; null before the first. */
  readonly lastAttemptAt: string | null
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
}

/** `failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries. */
export type DeliveryStatus = "pending" | "delivered" | "failed" | "failed_permanent" | "dead_lettered"

/** Why a signature is right or not. Never a secret, and never a signature that was not given. */
export interface SignatureExplanation {
  /** The verdict on the signature; the first that applies. */
  readonly verdict: "right" | "previous_secret" | "body_changed" | "timestamp_off" | "header_missing" | "wrong_secret"
  /** Why, and what to do. */
  readonly explanation: string
}

/** Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters. */
export type EventType = string

/** One HTTP request to the receiver. Never changed once recorded. */
export interface Attempt {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Id of the delivery. */
  readonly deliveryId: string
  /** 1 for the first attempt. */
  readonly ordinal: number
  /** What came of it. */
  readonly status: "delivered" | "failed" | "failed_permanent"
  /** When it began. */
  readonly at: string
  /** Milliseconds until the answer's head, or the failure. */
  readonly durationMs: number
  /** The receiver's HTTP status; null when no usable answer came. */
  readonly httpStatus: number | null
  /** Why it failed; null when it did not. */
  readonly failureReason: FailureReason | null
  /** What the failure of the connection, or of TLS, was; null where there is no more to say. `incomplete_chain`: only the receiver's own certificate came, and no known authority signed that. */
  readonly failureDetail: FailureDetail | null
  /** Where it was sent. */
  readonly url: string
  /** As sent; names in lower case. */
  readonly requestHeaders: { readonly [name: string]: string }
  /** Those of `content-type`, `location`, `retry-after`, `server` and `www-authenticate` that the answer had, each at most 256 bytes. */
  readonly responseHeaders: { readonly [name: string]: string }
  /** The first 2 KiB of the answer; null when it could not be read in time. */
  readonly responseBody: string | null
  /** What carries it belongs to the same publish, replay, test send or call. */
  readonly traceId: string
}

/** `failed` ones are still being retried, and may then arrive twice. */
export type ReplayableStatus = "failed" | "failed_permanent" | "dead_lettered"

/** A job that replays what an endpoint did not receive in a time range. */
export interface Replay {
  /** `rpl_…` */
  readonly id: string
  /** The endpoint whose deliveries are replayed. */
  readonly endpointId: string
  /** What the deliveries must have been at the start. */
  readonly statuses: ReadonlyArray<ReplayableStatus>
  /** Deliveries and events created then or later. RFC 3339. */
  readonly since: string
  /** Those created before then; null for all up to the start of the job. */
  readonly until: string | null
  /** A running job waits while its endpoint is disabled. Three jobs of a workspace run at a time; later ones are `queued`. */
  readonly state: "queued" | "running" | "done" | "cancelled"
  /** Deliveries and events that the job covers, counted at its start. */
  readonly matched: number
  /** How many of them are events that the endpoint missed while it was disabled. */
  readonly missed: number
  /** How many of them are events that the endpoint wants, and that it was neither sent nor missed. */
  readonly unsent: number
  readonly leftOut: LeftOut
  /** Those for which a new delivery was made so far, by this job or by somebody else meanwhile. */
  readonly replayed: number
  /** Sources that could not be replayed, because they were gone; counted when the job is done. */
  readonly failed: number
  /** When it was started. */
  readonly createdAt: string
  /** When it was done or cancelled; null while it runs. */
  readonly finishedAt: string | null
}

/** Deliveries in the range that are not in `matched`, counted at the start. */
export interface LeftOut {
  /** A replay or resend of them was delivered since. */
  readonly recovered: number
  /** A replay or resend of them is pending or retrying. */
  readonly underWay: number
  /** Failed test sends. */
  readonly tests: number
}

/** What a replay job would cover. */
export interface ReplayCount {
  /** Deliveries and events that a job over the same range would cover. */
  readonly matched: number
  /** How many of them are missed events. */
  readonly missed: number
  /** How many of them are events that were neither sent nor missed. */
  readonly unsent: number
  readonly leftOut: LeftOut
}

/** Everything that became of an event. */
export interface Trace {
  /** As it was asked for. */
  readonly id: string
  /** In order of time. */
  readonly items: ReadonlyArray<TraceItem>
  /** Whether there is more than the 1,000 items that are shown, the oldest ones. */
  readonly truncated: boolean
}

/** One item, with the members of its kind. */
export interface TraceItem {
  /** When it happened. */
  readonly at: string
  /** `event`: it was published; `eventType`, `traceId`, `deliveries`, `missed`, `actor`. `delivery`: one was made; `endpointId`, `eventType`, `status` (the present one), `attempts`, `traceId`, `test`, and of a test send its `actor`, else null. `attempt`: the receiver was called; `deliveryId`, `ordinal`, `status`, `httpStatus`, `failureReason`, `durationMs`. `replay`: the delivery of this `id` was made by a replay; `replayedFrom` (null for a missed event), `replayId` (the job, or null). `audit`: somebody did something; `action`, `actor`, `target`. */
  readonly kind: "event" | "delivery" | "attempt" | "replay" | "audit"
  /** Of the event, delivery, attempt or audit event. */
  readonly id: string
}

export interface PublishEvent {
  readonly eventType: EventType
  /** Any JSON value, carried exactly as it was written. */
  readonly payload: unknown
  /** Publishing again with the same key within 24 hours creates nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Exactly these get it, whatever they subscribe to; 1 to 100, each once. One that is disabled has missed it. */
  readonly endpointIds?: ReadonlyArray<string>
  /** False: one attempt. Replays of it follow the endpoint's policy. */
  readonly retry?: boolean
}

export interface PublishedEvent {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Dotted words such as `invoice.paid`. */
  readonly eventType: string
  /** One delivery for each enabled endpoint that matches, or is named. */
  readonly deliveryIds: ReadonlyArray<string>
  /** Whether the idempotency key had been used: then nothing was created. */
  readonly duplicate: boolean
}

export interface PublishedEvents {
  /** One answer per event, in the order they were sent. */
  readonly items: ReadonlyArray<PublishedEvent>
}

/** One thing that happened on the platform. */
export interface Event {
  /** `evt_…`; newer events have greater ids. */
  readonly id: string
  /** As it was published. */
  readonly eventType: string
  /** Any JSON value, carried exactly as it was written. */
  readonly payload: unknown
  /** Of the call that published it; its deliveries send it as `x-trace-id`. */
  readonly traceId: string
  /** The endpoints that its publish named; null when it named none: then all that wanted it got it. */
  readonly endpointIds: ReadonlyArray<string> | null
  /** False: the publish asked for one attempt of each delivery. */
  readonly retry: boolean
  /** Who published it; of an event published in SQL the role of the database's session. */
  readonly actor: EventActor
  /** When it was published. */
  readonly createdAt: string
  /** When its payload was blanked; null unless it was. */
  readonly purgedAt: string | null
  /** How many deliveries the publish made; replays are not counted. */
  readonly deliveries: number
  /** How many endpoints wanted it, or were named, but were disabled at that moment: no delivery was made for them. */
  readonly missed: number
}

/** One event type that is described or was published, and who wants it. */
export interface EventTypeSummary {
  /** The type itself. */
  readonly eventType: string
  /** Whether the catalogue has it; else what it says is null, false and `off`. */
  readonly described: boolean
  /** What happened when it is sent, for people. */
  readonly description: string | null
  /** The heading under which it is listed. */
  readonly group: string | null
  /** Whether it is not to be used any more. */
  readonly deprecated: boolean
  /** What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused. */
  readonly validation: "off" | "report" | "refuse"
  /** When an event of it was last published; null when none was. */
  readonly lastSeenAt: string | null
  /** How many were published in the last 24 hours. */
  readonly lastDay: number
  /** How many enabled endpoints match it now. */
  readonly endpoints: number
}

/** What one endpoint has to do with an event. */
export interface EventRoute {
  /** Id of the webhook endpoint. */
  readonly endpointId: string
  /** Why the endpoint got the event, or did not: the first that is true. `unfilterable`: the publish made a delivery, because the payload could not be judged. `sent`: the publish made a delivery. `not_chosen`: the publish named other endpoints. `about_itself`: `webhook.endpoint_disabled` is not sent to the endpoint that it is about. `missed`: the endpoint was disabled. `created_later`: it was not there yet when the publish looked. `changed_since`: as it is now it would want the event. `type`: none of its patterns fits the type. `filter`: its filter does not let the payload through; `because` says where. */
  readonly reason: "unfilterable" | "sent" | "not_chosen" | "about_itself" | "missed" | "created_later" | "changed_since" | "type" | "filter"
  /** The latest delivery of the event to it, replays included; null without any. */
  readonly deliveryId: string | null
  /** Only with `filter`, by the filter as it is now. */
  readonly because: UnmetCondition | null
}

/** Why a filter does not let a payload through. */
export interface UnmetCondition {
  /** Where in the payload, as a JSON Pointer; of an array without an index. */
  readonly path: string
  /** The first condition that does not hold there, as the filter has it. */
  readonly condition: unknown
}

/** What a filter would have let through. */
export interface TriedFilter {
  /** How many events were judged. */
  readonly examined: number
  /** How many of them the filter lets through. */
  readonly matching: number
  /** Each of them, newest first. */
  readonly events: ReadonlyArray<TriedEvent>
}

export interface TriedEvent {
  /** Null for the payload that was given. */
  readonly eventId: string | null
  /** Whether the filter holds. */
  readonly matches: boolean
  /** Null when it holds. */
  readonly because: UnmetCondition | null
}

/** What the catalogue says of an event type. */
export interface DescribedEventType {
  /** Its name. */
  readonly eventType: string
  /** What happened when it is sent, for people. */
  readonly description: string | null
  /** The heading under which it is listed. */
  readonly group: string | null
  /** Whether it is not to be used any more. */
  readonly deprecated: boolean
  /** What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused. */
  readonly validation: "off" | "report" | "refuse"
  /** JSON Schema 2020-12 of its payloads, as it was written; null without one. */
  readonly schema: unknown
  /** Payloads, the first for test sends. */
  readonly examples: ReadonlyArray<unknown>
  /** The event type to use instead. */
  readonly replacedBy: string | null
  /** Whether the operator alone sees it. */
  readonly hidden: boolean
  /** Payloads of the last 30 days that did not fit: to a workspace its own, to the operator those of all. */
  readonly deviations: DescribedEventTypeDeviations
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** RFC 3339 in UTC with milliseconds. */
  readonly updatedAt: string
}

export interface DraftedSchema {
  /** Every event that was examined fits it. */
  readonly schema: unknown
  /** How many events it was drafted from. */
  readonly examined: number
}

export interface CheckedSchema {
  /** How many of the newest events were tried, at most 200. */
  readonly examined: number
  /** How many of them fit. */
  readonly fitting: number
  /** Those that do not fit, newest first. */
  readonly deviating: ReadonlyArray<CheckedSchemaDeviatingItem>
  /** How it differs from the present schema. */
  readonly changes: ReadonlyArray<CheckedSchemaChangesItem>
}

/** OpenAPI 3.1 with `webhooks`, or AsyncAPI 3.0. */
export interface EventTypeDocument {
  /** What the document is about. */
  readonly info: EventTypeDocumentInfo
}

/** Something the workspace should look at. */
export interface Notification {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** `delivery_dead_lettered`: a delivery has spent its retries. `endpoint_disabled`: an endpoint failed too often in a row. */
  readonly kind: "delivery_dead_lettered" | "endpoint_disabled"
  /** What happened and what to do. */
  readonly message: string
  /** Id of the webhook endpoint. */
  readonly endpointId: string | null
  /** Id of the delivery. */
  readonly deliveryId: string | null
  /** Null until somebody marks it as read. */
  readonly readAt: string | null
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
}

/** One message of an alert. */
export interface ToldAlert {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** How it is sent. */
  readonly kind: "email" | "slack"
  /** What happened. */
  readonly on: "endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered"
  /** The address, or the fingerprint of the Slack URL. */
  readonly to: string
  /** `failed`: refused for good, tried as often as a delivery, or no longer wanted. */
  readonly state: "pending" | "sent" | "failed"
  /** How often it was tried. */
  readonly attempts: number
  /** Why the latest attempt failed. */
  readonly lastError: string | null
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** Null until it is sent. */
  readonly sentAt: string | null
}

/** A person who may use the console. */
export interface Member {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Compared without regard to upper and lower case. */
  readonly email: string
  /** For people. */
  readonly name: string
  readonly role: Role
}

/** What a member may do in the console. */
export type Role = "viewer" | "developer" | "admin"

/** A permission, or a bundle: `read` (look, but not at attempts) or `admin` (everything). */
export type Scope = "webhook:read" | "webhook:list" | "webhook:create" | "webhook:update" | "webhook:delete" | "webhook:rotate_secret" | "webhook:replay" | "webhook:test" | "event:publish" | "member:list" | "member:manage" | "token:list" | "token:create" | "token:revoke" | "audit:list" | "notification:list" | "notification:update" | "workspace:read" | "workspace:update" | "console:link" | "read" | "admin"

export interface CreatedApiToken {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Permissions, and bundles of them. */
  readonly scopes: ReadonlyArray<Scope>
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** When it ends; null when it does not. */
  readonly expiresAt: string | null
  /** When it was last used, to the minute; null when it never was. */
  readonly lastUsedAt: string | null
  /** When it was revoked; null when it was not. */
  readonly revokedAt: string | null
  /** Who made it; null for tokens that are older than this member. */
  readonly createdBy: CreatedApiTokenCreatedBy | null
  /** The token itself, shown only here. Only a hash of it is stored. */
  readonly token: string
}

export interface ApiToken {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Permissions, and bundles of them. */
  readonly scopes: ReadonlyArray<Scope>
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** When it ends; null when it does not. */
  readonly expiresAt: string | null
  /** When it was last used, to the minute; null when it never was. */
  readonly lastUsedAt: string | null
  /** When it was revoked; null when it was not. */
  readonly revokedAt: string | null
  /** Who made it; null for tokens that are older than this member. */
  readonly createdBy: ApiTokenCreatedBy | null
}

/** One change, written together with it. Never altered. */
export interface AuditEvent {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** What was done. */
  readonly action: string
  /** Who did it, and through which transport. */
  readonly actor: AuditEventActor
  /** What was changed; it may be gone by now. */
  readonly target: AuditEventTarget
  /** The names of the changed fields, and facts; never a secret. */
  readonly changes: AuditEventChanges | null
  /** What carries it belongs to the same publish, replay, test send or call. */
  readonly traceId: string
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
}

/** Who is calling, and what they may do. */
export interface Caller {
  /** Its kind. */
  readonly type: "operator" | "api_token" | "member"
  /** The token's or the member's id; `operator` for the operator. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** The caller's workspace; null for the operator, who may use all. */
  readonly workspace: CallerWorkspace | null
  /** As they were given. */
  readonly scopes: ReadonlyArray<Scope>
  /** Everything the scopes allow, bundles taken apart. */
  readonly permissions: ReadonlyArray<"webhook:read" | "webhook:list" | "webhook:create" | "webhook:update" | "webhook:delete" | "webhook:rotate_secret" | "webhook:replay" | "webhook:test" | "event:publish" | "member:list" | "member:manage" | "token:list" | "token:create" | "token:revoke" | "audit:list" | "notification:list" | "notification:update" | "workspace:read" | "workspace:update" | "console:link">
  /** When the token ends; null when it does not. */
  readonly expiresAt: string | null
}

/** How the pages look. */
export interface ConsoleTheme {
  /** The colour of buttons and links, in place of the installation's. */
  readonly accent?: string
  /** Default: what the browser prefers. */
  readonly colorScheme?: "light" | "dark" | "system"
  /** Of corners, in pixels. */
  readonly radius?: number
}

export interface ConsoleLink {
  /** Opens the console once. Whoever opens it is signed in, so give it to nobody else. */
  readonly url: string
  /** Until then it can be opened. */
  readonly expiresAt: string
}

/** A browser that is signed in to the console. */
export interface ConsoleSession {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** The member who is signed in; null when it is no member. */
  readonly memberId: string | null
  /** The role whose rights it has; null if it has a token's rights, or scopes. */
  readonly role: Role | null
  /** What opened it: a console link, or an API token. */
  readonly via: "link" | "token"
  /** Who made the link, or the token that signed in. */
  readonly madeBy: ConsoleSessionMadeBy
  /** RFC 3339 in UTC with milliseconds. */
  readonly createdAt: string
  /** When it last called, to the minute. */
  readonly lastSeenAt: string
  /** When it ends at the latest. */
  readonly expiresAt: string
}

/** Its own limits; null is the installation's. */
export interface WorkspaceLimits {
  /** Most endpoints. */
  readonly endpoints: number | null
  /** Most API tokens that are neither revoked nor expired. */
  readonly tokens: number | null
  /** Most deliveries that wait. */
  readonly waiting: number | null
  /** Most bytes of payloads that are kept. */
  readonly bytes: number | null
  /** Most calls that publish, within a minute. */
  readonly publishPerMinute: number | null
}

/** Its endpoints. */
export interface FleetWorkspaceEndpoints {
  /** All of them. */
  readonly total: number
  /** Those that are disabled, by people or for their failures. */
  readonly disabled: number
  /** Those that are enabled and have failed at least 3 times in a row. */
  readonly failing: number
}

export interface Retries2 {
  /** 6 retries within about 10 minutes. */
  readonly kind: "standard"
}

export interface Retries3 {
  /** 9 retries within about 3 days. */
  readonly kind: "patient"
}

export interface Retries4 {
  /** A retry after each of these waits. */
  readonly kind: "waits"
  /** Seconds before each retry: 1 to 20 whole numbers, each 1 to 604,800, together at most 2,592,000. */
  readonly seconds: ReadonlyArray<number>
}

export interface Retries5 {
  /** No retry. */
  readonly kind: "none"
}

export interface DisableAfter2 {
  /** After so many failed attempts in a row. */
  readonly kind: "failures"
  /** Failed attempts in a row. */
  readonly count: number
}

export interface DisableAfter3 {
  /** By the failed attempt that is recorded so long or longer after the first of the present streak, not before the fifth. */
  readonly kind: "failing_for"
  /** Seconds since the first failure in a row. */
  readonly seconds: number
}

export interface DisableAfter4 {
  /** Not by failures. */
  readonly kind: "never"
}

export interface AlertSetting2 {
  /** By e-mail. */
  readonly kind: "email"
  /** An address in plain letters; at most 254 characters. */
  readonly to: string
  /** `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end. */
  readonly on: ReadonlyArray<"endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered">
}

export interface AlertSetting3 {
  /** By Slack. */
  readonly kind: "slack"
  /** 16 hex digits: equal for equal URLs of one workspace. Sent in place of `url`, it keeps the stored one. */
  readonly fingerprint: string
  /** `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end. */
  readonly on: ReadonlyArray<"endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered">
}

export interface SentAlertSetting2 {
  /** By e-mail. */
  readonly kind: "email"
  /** An address in plain letters; at most 254 characters. */
  readonly to: string
  /** `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end. */
  readonly on: ReadonlyArray<"endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered">
}

export interface SentAlertSetting3 {
  /** By Slack. */
  readonly kind: "slack"
  /** 16 hex digits: equal for equal URLs of one workspace. Sent in place of `url`, it keeps the stored one. */
  readonly fingerprint: string
  /** `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end. */
  readonly on: ReadonlyArray<"endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered">
}

export interface SentAlertSetting4 {
  /** By Slack. */
  readonly kind: "slack"
  /** The address of an incoming webhook of Slack, under the rules for an endpoint's `url`. Never shown. */
  readonly url: string
  /** `endpoint.failing`: half of what disables it has failed. `endpoint.disabled`: by its failures or by hand. `delivery.dead_lettered`: given up; the first at once, what follows within the hour together at its end. */
  readonly on: ReadonlyArray<"endpoint.failing" | "endpoint.disabled" | "delivery.dead_lettered">
}

/** The workspace. */
export interface WorkspaceOverviewDtoWorkspace {
  /** Its id; newer ones are greater. */
  readonly id: string
  /** Part of every path of the workspace. */
  readonly slug: string
  /** For people. */
  readonly name: string
}

/** Webhook endpoints. */
export interface WorkspaceOverviewDtoEndpoints {
  /** All endpoints. */
  readonly total: number
  /** Those that receive. */
  readonly enabled: number
  /** Those that do not. */
  readonly disabled: number
  /** Up to 20 enabled ones whose filter let nothing through in 24 hours, of at least 50 events that they want by type. */
  readonly filteredOut: ReadonlyArray<string>
}

/** Deliveries created in the last 24 hours, by their present status. */
export interface WorkspaceOverviewDtoDeliveries {
  /** How many hours back `createdAt` may lie. */
  readonly windowHours: number
  /** Not tried yet. */
  readonly pending: number
  /** Answered 2xx. */
  readonly delivered: number
  /** Failed so far; will be tried again. */
  readonly failed: number
  /** Refused by the receiver, or the URL was bad. */
  readonly failedPermanent: number
  /** Retries spent. */
  readonly deadLettered: number
  /** `failedPermanent` and `deadLettered`, without those that were recovered. */
  readonly givenUp: number
  /** Given up, and delivered by a later replay or resend. */
  readonly recovered: number
  /** `delivered` divided by all that were tried; null when none was. */
  readonly successRate: number | null
  /** Half of their last attempts took at most this long; null if there was none. */
  readonly p50Ms: number | null
  /** 95 of 100 of their last attempts took at most so long; null when there was none. */
  readonly p95Ms: number | null
}

/** What waits to be sent. */
export interface WorkspaceOverviewDtoQueue {
  /** Deliveries that still have an attempt to come, those of disabled endpoints included. Above 50,000 it may be some seconds old. */
  readonly waiting: number
  /** Those of them whose endpoint is disabled: they wait until it is enabled. */
  readonly waitingAtDisabled: number
  /** How long the oldest of them has waited; null if none waits. */
  readonly oldestWaitingSeconds: number | null
}

export interface SentRequestProfileHeadersItem {
  /** 1 to 64 token characters; case means nothing. */
  readonly name: string
  /** Left out of a secret one: as it is stored. */
  readonly value?: string
  /** Written, and never shown. */
  readonly secret?: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint?: string
}

export interface SentRequestProfileAuthentication {
  /** By name and password. */
  readonly kind: "basic"
  /** a string matching the pattern ^[\x20-\x39\x3b-\x7e]{1,256}$ */
  readonly username: string
  /** Left out: as it is stored. */
  readonly password?: string
  /** Written, and never shown. */
  readonly secret?: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint?: string
}

export interface SentRequestProfileAuthentication2 {
  /** By token. */
  readonly kind: "bearer"
  /** Left out: as it is stored. */
  readonly token?: string
  /** Written, and never shown. */
  readonly secret?: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint?: string
}

export interface SentRequestProfileAuthentication3 {
  /** By a token that the token endpoint gives for client credentials (RFC 6749). */
  readonly kind: "oauth2"
  /** The token endpoint, under the rules for an endpoint's `url`. */
  readonly tokenUrl: string
  /** The client's id. */
  readonly clientId: string
  /** Scopes to ask for, separated by spaces. */
  readonly scope?: string
  /** For token endpoints that ask for it. */
  readonly audience?: string
  /** Where id and secret are sent to the token endpoint. Left out, it is `header` (Basic). */
  readonly sendCredentialsIn?: "header" | "body"
  /** Left out: as it is stored. */
  readonly clientSecret?: string
  /** Written, and never shown. */
  readonly secret?: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint?: string
}

export interface SentRequestProfileAuthentication4 {
  /** By a client certificate, in the TLS handshake. */
  readonly kind: "mtls"
  /** The certificate as PEM, and then those that lead to its authority: at most 5. */
  readonly certificate: string
  /** As PEM: RSA up to 4,096 bits, P-256, P-384 or Ed25519. Left out: as it is stored. */
  readonly privateKey?: string
  /** Written, and never shown. */
  readonly secret?: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint?: string
}

export interface SignatureRecipe2 {
  /** HMAC-SHA256 of Standard Webhooks. */
  readonly scheme: "standard_v1"
}

export interface SignatureRecipe3 {
  /** Ed25519 of Standard Webhooks, by a key pair of its own, in the same header. */
  readonly scheme: "standard_v1a"
}

export interface SignatureRecipe4 {
  /** An HMAC in a header of its own. */
  readonly scheme: "hmac"
  /** The header that holds the signature. */
  readonly header: string
  /** The hash. */
  readonly algorithm: "sha1" | "sha256" | "sha512"
  /** How the signature is written. */
  readonly encoding: "hex" | "base64"
  /** What is signed: `{body}` once, `{timestamp}` and `{id}` where they are wanted. */
  readonly content: string
  /** The header's value: `{signature}` once, `{timestamp}` and `{id}` where they are wanted. */
  readonly format: string
}

export interface RequestProfileHeadersItem {
  /** 1 to 64 token characters; case means nothing. */
  readonly name: string
  /** 1 to 2,048 visible ASCII characters and spaces. */
  readonly value: string
}

export interface RequestProfileHeadersItem2 {
  /** 1 to 64 token characters; case means nothing. */
  readonly name: string
  /** Written, and never shown. */
  readonly secret: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint: string
}

export interface RequestProfileAuthentication {
  /** By name and password. */
  readonly kind: "basic"
  /** a string matching the pattern ^[\x20-\x39\x3b-\x7e]{1,256}$ */
  readonly username: string
  /** Written, and never shown. */
  readonly secret: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint: string
}

export interface RequestProfileAuthentication2 {
  /** By token. */
  readonly kind: "bearer"
  /** Written, and never shown. */
  readonly secret: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint: string
}

export interface RequestProfileAuthentication3 {
  /** By a token that the token endpoint gives for client credentials (RFC 6749). */
  readonly kind: "oauth2"
  /** The token endpoint, under the rules for an endpoint's `url`. */
  readonly tokenUrl: string
  /** The client's id. */
  readonly clientId: string
  /** Scopes to ask for, separated by spaces. */
  readonly scope?: string
  /** For token endpoints that ask for it. */
  readonly audience?: string
  /** Where id and secret are sent to the token endpoint. Left out, it is `header` (Basic). */
  readonly sendCredentialsIn?: "header" | "body"
  /** Written, and never shown. */
  readonly secret: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint: string
}

export interface RequestProfileAuthentication4 {
  /** By a client certificate, in the TLS handshake. */
  readonly kind: "mtls"
  /** The certificate as PEM, and then those that lead to its authority: at most 5. */
  readonly certificate?: string
  /** Written, and never shown. */
  readonly secret: true
  /** 16 hex digits: equal for equal secrets of one endpoint. */
  readonly fingerprint: string
}

/** Events that matched while it was disabled: no delivery was made for them. */
export interface WebhookEndpointDetailMissedEvents {
  /** How many events matched. */
  readonly count: number
  /** When the present or latest disabled time began; null when it was never disabled. */
  readonly since: string | null
}

/** What the findings are based on. */
export interface EndpointDiagnosisExamined {
  /** How many attempts were looked at; at most 100, newest first. */
  readonly attempts: number
  /** The oldest of them. */
  readonly since: string | null
}

/** Who published it; of an event published in SQL the role of the database's session. */
export interface EventActor {
  /** Its kind. */
  readonly type: "api_token" | "operator" | "member" | "system"
  /** Id of the token or the member; for others a word such as `operator`. */
  readonly id: string
  /** The transport it came through. */
  readonly via: "rest" | "mcp" | "console" | "worker" | "sql"
}

/** Payloads of the last 30 days that did not fit: to a workspace its own, to the operator those of all. */
export interface DescribedEventTypeDeviations {
  /** How many. */
  readonly count: number
  /** When the first of them was published; null without any. */
  readonly since: string | null
  /** The newest of them; null without any. */
  readonly lastEventId: string | null
}

export interface CheckedSchemaDeviatingItem {
  /** The event. */
  readonly eventId: string
  /** Slug of its workspace. */
  readonly workspace: string
  /** What does not fit, at most 20. */
  readonly issues: ReadonlyArray<RequestIssue>
}

export interface CheckedSchemaChangesItem {
  /** Within the payload; `*` stands for any element or unnamed member. */
  readonly path: string
  /** Described anew or no longer, or fewer or more values fit. */
  readonly change: "added" | "removed" | "narrowed" | "widened"
}

/** What the document is about. */
export interface EventTypeDocumentInfo {
  /** Always the same. */
  readonly title: string
  /** Rises with each change of the catalogue. */
  readonly version: string
  /** How payloads arrive. */
  readonly description: string
}

export interface CreatedApiTokenCreatedBy {
  /** Its kind. */
  readonly type: "operator" | "api_token" | "member"
  /** Id of the token or the member; `operator` for the operator. */
  readonly id: string
}

export interface ApiTokenCreatedBy {
  /** Its kind. */
  readonly type: "operator" | "api_token" | "member"
  /** Id of the token or the member; `operator` for the operator. */
  readonly id: string
}

/** Who did it, and through which transport. */
export interface AuditEventActor {
  /** Its kind. */
  readonly type: "api_token" | "operator" | "member" | "system"
  /** Id of the token or the member; for others a word such as `operator`. */
  readonly id: string
  /** The transport it came through. */
  readonly via: "rest" | "mcp" | "console" | "worker" | "sql"
  /** The name that the token, the member or the operator had then; null if it had none. */
  readonly name: string | null
  /** What the chain of tokens, links and sessions behind the actor began with; null where there is none. */
  readonly root: AuditEventActorRoot | null
}

export interface AuditEventActorRoot {
  /** Its kind. */
  readonly type: "operator" | "api_token" | "member"
  /** Id of the token; `operator` for the operator. */
  readonly id: string
}

/** What was changed; it may be gone by now. */
export interface AuditEventTarget {
  /** Its kind. */
  readonly type: string
  /** Its id. */
  readonly id: string
}

export interface AuditEventChanges {
  /** The members that changed. */
  readonly fields: ReadonlyArray<string>
}

export interface CallerWorkspace {
  /** Part of every path of the workspace. */
  readonly slug: string
  /** For people. */
  readonly name: string
}

/** Who made the link, or the token that signed in. */
export interface ConsoleSessionMadeBy {
  /** Its kind. */
  readonly type: "operator" | "api_token" | "member"
  /** Id of the token or the member; `operator` for the operator. */
  readonly id: string
}

/** Null is the installation's; what is left out stays as it is. */
export interface UpdateWorkspaceParamsLimits {
  /** Most endpoints. */
  readonly endpoints?: number | null
  /** Most API tokens that are neither revoked nor expired. */
  readonly tokens?: number | null
  /** Most deliveries that wait. */
  readonly waiting?: number | null
  /** Most bytes of payloads that are kept. */
  readonly bytes?: number | null
  /** Most calls that publish, within a minute. */
  readonly publishPerMinute?: number | null
}

export interface ListWorkspacesParams {
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface CreateWorkspaceParams {
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Lower-case letters, digits and inner hyphens; at most 48 characters; part of every path. */
  readonly slug: string
  /** For people. */
  readonly name: string
}

export interface ListFleetParams {
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface UpdateWorkspaceParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** For people. */
  readonly name?: string
  /** Null is the installation's; what is left out stays as it is. */
  readonly limits?: UpdateWorkspaceParamsLimits
}

export interface DeleteWorkspaceParams {
  /** The workspace's slug. */
  readonly workspace?: string
}

export interface GetWorkspaceSettingsParams {
  /** The workspace's slug. */
  readonly workspace?: string
}

export interface UpdateWorkspaceSettingsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** When to try again, how fast, and when to stop; replaced whole. What it leaves out is the workspace's, or the default. */
  readonly policy?: DeliveryPolicy | null
  /** Whom to tell what, at most 10; replaced whole. */
  readonly alerts?: ReadonlyArray<SentAlertSetting>
}

export interface GetOverviewParams {
  /** The workspace's slug. */
  readonly workspace?: string
}

export interface ListWebhookEndpointsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** Only the endpoint with this external id. */
  readonly externalId?: string
  /** In URL, description or external id; in any case. */
  readonly search?: string
  /** `failing`: enabled, with failures in a row. */
  readonly state?: "enabled" | "disabled" | "failing"
  /** `recent`: newest first. */
  readonly order?: "id" | "recent"
}

export interface CreateWebhookEndpointParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** A public https URL without credentials; at most 2,048 characters. */
  readonly url: string
  /** Exact event types, `prefix.*`, or `*`; 1 to 100 of them. */
  readonly eventTypes: ReadonlyArray<EventTypePattern>
  /** For people; at most 500 characters. */
  readonly description?: string | null
  /** The platform's own name for it, unique in the workspace: 1 to 128 letters, digits and `_ . : -`. */
  readonly externalId?: string | null
  /** What the platform notes of it: at most 20 members, names of 1 to 64 characters, values of at most 500; replaced whole. */
  readonly metadata?: { readonly [name: string]: string }
  /** When to try again, how fast, and when to stop; replaced whole. What it leaves out is the workspace's, or the default. */
  readonly policy?: DeliveryPolicy | null
  /** What its requests look like: headers, authentication, body, signatures; replaced whole. A secret that is left out is kept. */
  readonly request?: SentRequestProfile | null
  /** Which payloads it wants: names with scalars, filters or operators ($eq $neq $gt $gte $lt $lte $in $nin $startsWith $endsWith $exist $not); $and, $or; null for all. */
  readonly filter?: { readonly [name: string]: unknown } | null
  /** The secret of the sender that it had before, so that its receiver needs no change: `whsec_` and the base64 of 24 to 64 bytes, or another text of 16 to 256 visible ASCII characters, whose bytes are the key. Never shown. Left out, Posthorn makes one. */
  readonly signingSecret?: string
  /** `text`: the bytes of the whole text are the key, also when it begins with `whsec_`. */
  readonly signingSecretEncoding?: "text"
  /** Whether the answer contains the signing secret; not beside `signingSecret`. */
  readonly revealSecret?: boolean
  /** Whether deliveries are sent to it. */
  readonly enabled?: boolean
}

export interface GetWebhookEndpointParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
}

export interface UpdateWebhookEndpointParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** The `ETag` you have read. When it was changed since, nothing is done and the answer is 412. `*` matches any. */
  readonly ifMatch?: string
  /** A public https URL without credentials; at most 2,048 characters. */
  readonly url?: string
  /** Exact event types, `prefix.*`, or `*`; 1 to 100 of them. */
  readonly eventTypes?: ReadonlyArray<EventTypePattern>
  /** For people; at most 500 characters. */
  readonly description?: string | null
  /** The platform's own name for it, unique in the workspace: 1 to 128 letters, digits and `_ . : -`. */
  readonly externalId?: string | null
  /** What the platform notes of it: at most 20 members, names of 1 to 64 characters, values of at most 500; replaced whole. */
  readonly metadata?: { readonly [name: string]: string }
  /** When to try again, how fast, and when to stop; replaced whole. What it leaves out is the workspace's, or the default. */
  readonly policy?: DeliveryPolicy | null
  /** What its requests look like: headers, authentication, body, signatures; replaced whole. A secret that is left out is kept. */
  readonly request?: SentRequestProfile | null
  /** Which payloads it wants: names with scalars, filters or operators ($eq $neq $gt $gte $lt $lte $in $nin $startsWith $endsWith $exist $not); $and, $or; null for all. */
  readonly filter?: { readonly [name: string]: unknown } | null
  /** Whether deliveries are sent to it. */
  readonly enabled?: boolean
}

export interface DeleteWebhookEndpointParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** The `ETag` you have read. When it was changed since, nothing is done and the answer is 412. `*` matches any. */
  readonly ifMatch?: string
}

export interface GetEndpointStatsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** How many hours; out of range is clamped into 1 to 720. */
  readonly hours?: number
}

export interface DiagnoseWebhookEndpointParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
}

export interface RotateWebhookSecretParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
}

export interface CheckAuthenticationParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
}

export interface SendTestEventParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Default: `webhook.test_event`. Another one needs the permission `event:publish` as well. */
  readonly eventType?: string
  /** Default: its type's first example, or a test message. */
  readonly payload?: unknown
  /** Answer when the first attempt is recorded, or after so many seconds. Default 0: at once. */
  readonly waitSeconds?: number
}

export interface ExplainSignatureParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** The request's headers as your receiver got them, by name in any case; at least the three that begin with `webhook-`, and those that hold `hmac` signatures. Of each scheme the first 8 entries of `webhook-signature` are tried. */
  readonly headers: { readonly [name: string]: string }
  /** The raw body as your receiver got it, to the letter. */
  readonly body: string
}

export interface ListWebhookDeliveriesParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** `failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries. */
  readonly status?: "pending" | "delivered" | "failed" | "failed_permanent" | "dead_lettered"
  /** Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters. */
  readonly eventType?: EventType
  /** Only deliveries that failed and were recovered by a later replay or resend; `false`: only others. */
  readonly recovered?: boolean
  /** `omit` leaves payloads out of the list: they are then null. REST includes them, a tool omits them when nothing is said. */
  readonly payload?: "include" | "omit"
}

export interface ListWorkspaceDeliveriesParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** `failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries. */
  readonly status?: "pending" | "delivered" | "failed" | "failed_permanent" | "dead_lettered"
  /** Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters. */
  readonly eventType?: EventType
  /** Only deliveries that failed and were recovered by a later replay or resend; `false`: only others. */
  readonly recovered?: boolean
  /** `omit` leaves payloads out of the list: they are then null. REST includes them, a tool omits them when nothing is said. */
  readonly payload?: "include" | "omit"
  /** Id of the endpoint. */
  readonly endpointId?: string
  /** Id of the event. */
  readonly eventId?: string
  /** Only deliveries created at this time or later. */
  readonly since?: string
  /** Only deliveries created before then. */
  readonly until?: string
}

export interface GetWebhookDeliveryParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the delivery. */
  readonly deliveryId: string
}

export interface ListWebhookDeliveryAttemptsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the delivery. */
  readonly deliveryId: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface ReplayWebhookDeliveryParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the delivery. */
  readonly deliveryId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
}

export interface ResendWebhookDeliveryParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the delivery. */
  readonly deliveryId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
}

export interface StartReplayParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the endpoint. */
  readonly endpointId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Which deliveries: of these statuses. */
  readonly statuses?: ReadonlyArray<ReplayableStatus>
  /** Deliveries, and events, created then or later. */
  readonly since: string
  /** Those created before then; null or left out: all up to now. */
  readonly until?: string | null
  /** Whether events that the endpoint missed while it was disabled are sent too, each once. */
  readonly includeMissed?: boolean
  /** Whether events from before the endpoint was made or changed are sent too, if it wants them now. */
  readonly includeUnsent?: boolean
  /** Whether deliveries that a later replay or resend recovered are sent again too. */
  readonly includeRecovered?: boolean
  /** Whether failed test sends are sent again too. */
  readonly includeTests?: boolean
  /** Only count; nothing is started, and the endpoint may be disabled. */
  readonly dryRun?: boolean
}

export interface ListReplaysParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface GetReplayParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the replay. */
  readonly replayId: string
}

export interface CancelReplayParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the replay. */
  readonly replayId: string
}

export interface GetTraceParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** A trace id (`x-trace-id`), a delivery's id (`webhook-id`) or an event's id. */
  readonly traceId: string
}

export interface ListEventsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** Dotted words such as `invoice.paid`; letters, digits and underscores; at most 128 characters. */
  readonly eventType?: EventType
  /** Only events published then or later. */
  readonly since?: string
  /** Only events published before then. */
  readonly until?: string
  /** Only the event that was published under this key, within the last 24 hours. */
  readonly idempotencyKey?: string
  /** With `payloadValue`: only events with this value at this JSON Pointer of their payload. */
  readonly payloadPath?: string
  /** A number, true, false or null as JSON spells it, anything else as text; `"4711"` in quotes is text. */
  readonly payloadValue?: string
  /** `omit` leaves payloads out of the list: they are then null. REST includes them, a tool omits them when nothing is said. */
  readonly payload?: "include" | "omit"
}

export interface PublishEventParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Publishing again with the same key within 24 hours creates nothing and gives the first answer. */
  readonly idempotencyKey?: string
  readonly eventType: EventType
  /** Any JSON value, carried exactly as it was written. */
  readonly payload: unknown
  /** Exactly these get it, whatever they subscribe to; 1 to 100, each once. One that is disabled has missed it. */
  readonly endpointIds?: ReadonlyArray<string>
  /** False: one attempt. Replays of it follow the endpoint's policy. */
  readonly retry?: boolean
}

export interface PublishEventsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** 1 to 1,000 events, in the order they happened. */
  readonly events: ReadonlyArray<PublishEvent>
}

export interface GetEventParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the event. */
  readonly eventId: string
}

export interface ListEventTypesParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface PurgeEventParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the event. */
  readonly eventId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
}

export interface ExplainEventRoutingParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the event. */
  readonly eventId: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** Only this endpoint. */
  readonly endpointId?: string
}

export interface TryFilterParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** A filter, as an endpoint takes it. */
  readonly filter: unknown
  /** Exact event types, `prefix.*`, or `*`; 1 to 100 of them. */
  readonly eventTypes?: ReadonlyArray<EventTypePattern>
  /** Judges this payload alone, whatever the patterns. */
  readonly payload?: unknown
}

export interface GetEventTypeParams {
  /** The event type. */
  readonly eventType: string
}

export interface PutEventTypeParams {
  /** The event type. */
  readonly eventType: string
  /** The `ETag` you have read. When it was changed since, nothing is done and the answer is 412. `*` matches any. */
  readonly ifMatch?: string
  /** For people; at most 2,000 characters. */
  readonly description?: string | null
  /** The heading under which it is listed. */
  readonly group?: string | null
  /** Null, or a JSON Schema 2020-12 of at most 65,536 bytes; unknown keywords, remote references and `$dynamicRef` are refused. */
  readonly schema?: unknown
  /** At most 10 payloads that fit the schema, of 65,536 bytes together. */
  readonly examples?: ReadonlyArray<unknown>
  /** What happens to a payload that does not fit the schema: nothing, it is counted, or its publish is refused. */
  readonly validation?: "off" | "report" | "refuse"
  /** Whether it is not to be used any more. */
  readonly deprecated?: boolean
  /** The event type to use instead. */
  readonly replacedBy?: EventType | null
  /** Whether the operator alone sees it. */
  readonly hidden?: boolean
}

export interface DeleteEventTypeParams {
  /** The event type. */
  readonly eventType: string
  /** The `ETag` you have read. When it was changed since, nothing is done and the answer is 412. `*` matches any. */
  readonly ifMatch?: string
}

export interface ListCatalogueParams {
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface DraftEventTypeSchemaParams {
  /** The event type. */
  readonly eventType: string
  /** How many of the newest events, of all workspaces. */
  readonly events?: number
}

export interface CheckEventTypeSchemaParams {
  /** The event type. */
  readonly eventType: string
  /** The schema to try. */
  readonly schema: unknown
}

export interface GetWorkspaceEventTypeParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** The event type. */
  readonly eventType: string
}

export interface GetEventTypeDocumentParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Which kind of document. */
  readonly format?: "openapi" | "asyncapi"
}

export interface ListNotificationsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface MarkNotificationReadParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the notification. */
  readonly notificationId: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
}

export interface ListAlertsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface ListMembersParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface AddMemberParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Unique in the workspace, whatever the case of its letters; at most 254 characters. */
  readonly email: string
  /** For people. */
  readonly name: string
  readonly role: Role
}

export interface UpdateMemberParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the member. */
  readonly memberId: string
  /** Unique in the workspace, whatever the case of its letters; at most 254 characters. */
  readonly email?: string
  /** For people. */
  readonly name?: string
  readonly role?: Role
}

export interface RemoveMemberParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the member. */
  readonly memberId: string
}

export interface ListApiTokensParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface CreateApiTokenParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** What it is for. */
  readonly name: string
  /** Permissions or bundles; together no more than the caller may do. */
  readonly scopes: ReadonlyArray<Scope>
  /** When it ends: at the latest when its maker does, as it does when this is null or left out. Never, when its maker does not. */
  readonly expiresAt?: string | null
}

export interface RevokeApiTokenParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the token. */
  readonly tokenId: string
  /** Also revoke every token made by this one, directly or through others, even if one in between is already revoked. */
  readonly descendants?: boolean
}

export interface ListAuditEventsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** Only this action. */
  readonly action?: "workspace.created" | "workspace.updated" | "workspace.deleted" | "workspace.settings_updated" | "event.purged" | "event_type.created" | "event_type.updated" | "event_type.deleted" | "webhook.endpoint_created" | "webhook.endpoint_updated" | "webhook.endpoint_deleted" | "webhook.endpoint_auto_disabled" | "webhook.secret_rotated" | "webhook.delivery_replayed" | "webhook.delivery_resent" | "webhook.replay_started" | "webhook.replay_cancelled" | "api_token.created" | "api_token.revoked" | "member.added" | "member.updated" | "member.removed" | "console.link_created" | "console.session_opened" | "console.session_ended"
  /** Only by this actor: an id, or an operator's name. */
  readonly actor?: string
  /** Only what was done to this: an id. */
  readonly target?: string
  /** Only what was done then or later. */
  readonly since?: string
  /** Only what was done before then. */
  readonly until?: string
}

export interface ListOperatorAuditEventsParams {
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
  /** Only this action. */
  readonly action?: "workspace.created" | "workspace.updated" | "workspace.deleted" | "workspace.settings_updated" | "event.purged" | "event_type.created" | "event_type.updated" | "event_type.deleted" | "webhook.endpoint_created" | "webhook.endpoint_updated" | "webhook.endpoint_deleted" | "webhook.endpoint_auto_disabled" | "webhook.secret_rotated" | "webhook.delivery_replayed" | "webhook.delivery_resent" | "webhook.replay_started" | "webhook.replay_cancelled" | "api_token.created" | "api_token.revoked" | "member.added" | "member.updated" | "member.removed" | "console.link_created" | "console.session_opened" | "console.session_ended"
  /** Only by this actor: an id, or an operator's name. */
  readonly actor?: string
  /** Only what was done to this: an id. */
  readonly target?: string
  /** Only what was done then or later. */
  readonly since?: string
  /** Only what was done before then. */
  readonly until?: string
}

export interface GetCallerParams {
}

export interface CreateConsoleLinkParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Makes it safe to send the call again: within 24 hours the same call with the same key changes nothing and gives the first answer. */
  readonly idempotencyKey?: string
  /** Signs in as this member, with the role the member has at the time. */
  readonly memberId?: string
  readonly role?: Role
  /** Permissions or bundles. */
  readonly scopes?: ReadonlyArray<Scope>
  /** How many seconds the link waits to be opened. Default 600. */
  readonly expiresInSeconds?: number
  /** Makes a link for a frame: it opens only within pages of these origins. */
  readonly embedIn?: ReadonlyArray<string>
  /** The pages that exist for it. Default: all. */
  readonly pages?: ReadonlyArray<"overview" | "endpoints" | "deliveries" | "events" | "event-types" | "notifications" | "audit-log" | "members" | "api-tokens" | "connect">
  /** The only endpoints that exist for it, in every operation. It makes no endpoints, tokens and links, and publishes nothing. */
  readonly endpointIds?: ReadonlyArray<string>
  readonly theme?: ConsoleTheme
  /** Where it begins: a page, or a path below the workspace, that it may see. */
  readonly to?: string
}

export interface ListConsoleSessionsParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** How many items at most. Anything that is no integer means 50; out of range is clamped. */
  readonly limit?: number
  /** The `nextCursor` of the page before; one that does not decode gives an empty page. */
  readonly cursor?: string
}

export interface EndConsoleSessionParams {
  /** The workspace's slug. */
  readonly workspace?: string
  /** Id of the consoleSession. */
  readonly sessionId: string
}

/** `tag` of a PosthornError that Posthorn answered. */
export type ErrorTag = 
  | "ApiTokenNotFound"
  | "ConsoleSessionNotFound"
  | "EmailNotConfigured"
  | "EventInDelivery"
  | "EventNotFound"
  | "EventPurged"
  | "EventTypeNotFound"
  | "ExternalIdTaken"
  | "Forbidden"
  | "HeadersTooLarge"
  | "IdempotencyKeyInUse"
  | "IdempotencyKeyReused"
  | "InternalError"
  | "InvalidPayload"
  | "InvalidRequest"
  | "InvalidSchema"
  | "InvalidWebhookUrl"
  | "LimitReached"
  | "MemberEmailTaken"
  | "MemberNotFound"
  | "NotificationNotFound"
  | "PayloadTooLarge"
  | "PreconditionFailed"
  | "QuotaExceeded"
  | "RateLimited"
  | "ReplayNotFound"
  | "RequestTimeout"
  | "ServiceUnavailable"
  | "TraceNotFound"
  | "Unauthorized"
  | "UnsupportedMediaType"
  | "WebhookDeliveryNotFound"
  | "WebhookDeliveryNotReplayable"
  | "WebhookEndpointDisabled"
  | "WebhookEndpointNotFound"
  | "WorkspaceNotFound"
  | "WorkspaceSlugTaken"

export interface Operations {
  /**
   * List workspaces
   *
   * Forward on id, so in the order they were created.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly listWorkspaces: (params?: ListWorkspacesParams, options?: CallOptions) => Listed<Workspace>
  /**
   * Create a workspace
   *
   * A workspace is one customer of the platform.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly createWorkspace: (params: CreateWorkspaceParams, options?: CallOptions) => Promise<Workspace>
  /**
   * List workspaces by what waits
   *
   * Those with the most waiting deliveries first, then by id.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly listFleet: (params?: ListFleetParams, options?: CallOptions) => Listed<FleetWorkspace>
  /**
   * Rename a workspace, or limit it
   *
   * In force everywhere within a second. What is there already stays, also above a new limit. Its slug never changes.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly updateWorkspace: (params?: UpdateWorkspaceParams, options?: CallOptions) => Promise<Workspace>
  /**
   * Delete a workspace
   *
   * Removes everything in it: endpoints, deliveries, attempts, tokens, members and the audit log.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly deleteWorkspace: (params?: DeleteWorkspaceParams, options?: CallOptions) => Promise<void>
  /**
   * Get the workspace's settings
   *
   * An endpoint's `effectivePolicy` shows what they come to there.
   *
   * Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
   */
  readonly getWorkspaceSettings: (params?: GetWorkspaceSettingsParams, options?: CallOptions) => Promise<WorkspaceSettings>
  /**
   * Update the workspace's settings
   *
   * `policy` and `alerts` are replaced whole. A policy holds for attempts begun or recorded from now on; times that are set stay. A Slack alert's `url` is never shown: send back its `fingerprint`.
   *
   * Needs the permission `workspace:update`. Counts in the rate limit `rest_write`.
   */
  readonly updateWorkspaceSettings: (params?: UpdateWorkspaceSettingsParams, options?: CallOptions) => Promise<WorkspaceSettings>
  /**
   * See a workspace at a glance
   *
   * Endpoints, the last 24 hours of deliveries, the queue, and what is unread.
   *
   * Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
   */
  readonly getOverview: (params?: GetOverviewParams, options?: CallOptions) => Promise<WorkspaceOverviewDto>
  /**
   * List webhook endpoints
   *
   * In the order they were created.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listWebhookEndpoints: (params?: ListWebhookEndpointsParams, options?: CallOptions) => Listed<WebhookEndpoint>
  /**
   * Create a webhook endpoint
   *
   * Events that match are delivered from now on.
   *
   * Needs the permission `webhook:create`. Counts in the rate limit `rest_write`.
   */
  readonly createWebhookEndpoint: (params: CreateWebhookEndpointParams, options?: CallOptions) => Promise<CreatedWebhookEndpoint>
  /**
   * Get a webhook endpoint
   *
   * With its times, and what it missed while it was disabled. Never with its secret.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getWebhookEndpoint: (params: GetWebhookEndpointParams, options?: CallOptions) => Promise<WebhookEndpointDetail>
  /**
   * Update a webhook endpoint
   *
   * Changes only the members that are sent. Disabling stops delivery and keeps history; enabling sets the failure streak to 0 and lets waiting deliveries go on.
   *
   * Needs the permission `webhook:update`. Counts in the rate limit `rest_write`.
   */
  readonly updateWebhookEndpoint: (params: UpdateWebhookEndpointParams, options?: CallOptions) => Promise<WebhookEndpointDetail>
  /**
   * Delete a webhook endpoint
   *
   * Also deletes its deliveries and attempts, of a long history some minutes later; none of them is sent any more. To stop delivery and keep history, disable it instead.
   *
   * Needs the permission `webhook:delete`. Counts in the rate limit `rest_write`.
   */
  readonly deleteWebhookEndpoint: (params: DeleteWebhookEndpointParams, options?: CallOptions) => Promise<void>
  /**
   * See an endpoint's deliveries hour by hour
   *
   * Counts deliveries by the hour they were created in and the status they have now, and how long their last attempts took.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getEndpointStats: (params: GetEndpointStatsParams, options?: CallOptions) => Promise<EndpointStats>
  /**
   * Diagnose an endpoint
   *
   * Says why an endpoint does not get its webhooks: what is wrong, since when, how many in a row, what was changed before, how sure that is, and the next steps. From recorded evidence alone; sends nothing to the receiver.
   *
   * Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
   */
  readonly diagnoseWebhookEndpoint: (params: DiagnoseWebhookEndpointParams, options?: CallOptions) => Promise<EndpointDiagnosis>
  /**
   * Rotate the signing secret
   *
   * Only this answer contains the new secret. For 24 hours deliveries are signed with the new and the old one; an even older one stops at once.
   *
   * Needs the permission `webhook:rotate_secret`. Counts in the rate limit `rest_write`.
   */
  readonly rotateWebhookSecret: (params: RotateWebhookSecretParams, options?: CallOptions) => Promise<RotatedSecret>
  /**
   * Check an endpoint's authentication
   *
   * Fetches a token, or looks at the certificate. The endpoint is not asked, and nothing is stored.
   *
   * Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
   */
  readonly checkAuthentication: (params: CheckAuthenticationParams, options?: CallOptions) => Promise<AuthenticationCheck>
  /**
   * Send a test event
   *
   * Queues a synthetic `webhook.test_event`, or what you give, for this endpoint alone, whatever it subscribes to. With `waitSeconds` the answer shows what came of the first attempt.
   *
   * Needs the permission `webhook:test`. Counts in the rate limit `rest_write`.
   */
  readonly sendTestEvent: (params: SendTestEventParams, options?: CallOptions) => Promise<Delivery>
  /**
   * Explain a signature
   *
   * Says why a receiver refuses a delivery: whether the signature fits, was made with the previous secret, is for another body, or is old. Nothing is stored.
   *
   * Needs the permission `webhook:test`. Counts in the rate limit `assistant`.
   */
  readonly explainSignature: (params: ExplainSignatureParams, options?: CallOptions) => Promise<SignatureExplanation>
  /**
   * List an endpoint's deliveries
   *
   * Newest first.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listWebhookDeliveries: (params: ListWebhookDeliveriesParams, options?: CallOptions) => Listed<Delivery>
  /**
   * List a workspace's deliveries
   *
   * Newest first, over all endpoints.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listWorkspaceDeliveries: (params?: ListWorkspaceDeliveriesParams, options?: CallOptions) => Listed<Delivery>
  /**
   * Get a delivery
   *
   * Its status, its payload, and the result of the last attempt.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getWebhookDelivery: (params: GetWebhookDeliveryParams, options?: CallOptions) => Promise<Delivery>
  /**
   * List a delivery's attempts
   *
   * By ordinal. Shows the request headers as sent and the first 2 KiB of each answer.
   *
   * Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
   */
  readonly listWebhookDeliveryAttempts: (params: ListWebhookDeliveryAttemptsParams, options?: CallOptions) => Listed<Attempt>
  /**
   * Send a delivery that failed again
   *
   * Makes a new pending delivery with the same event type and payload, under a new id. Only for failed, failed_permanent and dead_lettered ones; the endpoint must be enabled. The source stays as it is: a failed one keeps being retried as well, so its message may arrive by both.
   *
   * Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
   */
  readonly replayWebhookDelivery: (params: ReplayWebhookDeliveryParams, options?: CallOptions) => Promise<Delivery>
  /**
   * Send an ended delivery again, a delivered one too
   *
   * Like a replay, but for deliveries that have ended: delivered, failed_permanent and dead_lettered ones. The receiver gets what it has had already, under a new id.
   *
   * Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
   */
  readonly resendWebhookDelivery: (params: ResendWebhookDeliveryParams, options?: CallOptions) => Promise<Delivery>
  /**
   * Replay all that failed in a time
   *
   * Starts a job that makes a new delivery for each source, with its audit event. It goes only as fast as the endpoint takes it. With `dryRun` it only counts (200). What was recovered meanwhile, or is under way again, is left out, so a second job finds only what failed anew.
   *
   * Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
   */
  readonly startReplay: (params: StartReplayParams, options?: CallOptions) => Promise<ReplayCount | Replay>
  /**
   * List replay jobs
   *
   * Newest first, with their progress.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listReplays: (params?: ListReplaysParams, options?: CallOptions) => Listed<Replay>
  /**
   * Get a replay job
   *
   * With its progress: `replayed` of `matched`.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getReplay: (params: GetReplayParams, options?: CallOptions) => Promise<Replay>
  /**
   * Cancel a replay job
   *
   * No further deliveries are made; those made so far stay and are sent. A job that has ended is not changed.
   *
   * Needs the permission `webhook:replay`. Counts in the rate limit `rest_write`.
   */
  readonly cancelReplay: (params: CancelReplayParams, options?: CallOptions) => Promise<Replay>
  /**
   * Follow an id
   *
   * The publish, its deliveries with their attempts, replays, and what the audit log says of them, in order of time: everything of the same event, whichever of its ids is given.
   *
   * Needs the permission `webhook:list`. Counts in the rate limit `rest_read`.
   */
  readonly getTrace: (params: GetTraceParams, options?: CallOptions) => Promise<Trace>
  /**
   * List events
   *
   * What was published, newest first, Posthorn's own events too; test sends are no events. Usually kept for 30 days.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listEvents: (params?: ListEventsParams, options?: CallOptions) => Listed<Event>
  /**
   * Publish an event
   *
   * Queues one delivery for each enabled endpoint whose subscriptions match, or that `endpointIds` names. Once this is answered, the event is durable. The payload reaches receivers exactly as written here.
   *
   * Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
   */
  readonly publishEvent: (params: PublishEventParams, options?: CallOptions) => Promise<PublishedEvent>
  /**
   * Publish several events
   *
   * All or nothing: one event that is refused refuses the whole batch. The answers come in the order of the events.
   *
   * Needs the permission `event:publish`. Counts in the rate limit `event_publish`.
   */
  readonly publishEvents: (params: PublishEventsParams, options?: CallOptions) => Promise<PublishedEvents>
  /**
   * Get an event
   *
   * With its payload, and how many deliveries it became. List deliveries with its `eventId` to see them.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getEvent: (params: GetEventParams, options?: CallOptions) => Promise<Event>
  /**
   * List event types
   *
   * Every event type that is described, or was published in the last 30 days, by name. Compare with an endpoint's `eventTypes` when nothing arrives.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly listEventTypes: (params?: ListEventTypesParams, options?: CallOptions) => Listed<EventTypeSummary>
  /**
   * Purge an event
   *
   * Blanks its payload, and the bodies and headers that receivers answered, of replays too. Ids, times, statuses and signatures stay. Deliveries of it must have ended; they cannot be replayed any more.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly purgeEvent: (params: PurgeEventParams, options?: CallOptions) => Promise<Event>
  /**
   * Explain who got an event
   *
   * For every endpoint that there is now, by its id: why it got the event, or why not.
   *
   * Needs the permission `webhook:list`. Counts in the rate limit `assistant`.
   */
  readonly explainEventRouting: (params: ExplainEventRoutingParams, options?: CallOptions) => Listed<EventRoute>
  /**
   * Try a filter on real events
   *
   * Judges the newest 200 events that `eventTypes` want (default all), or one payload. Fewer when payloads are so large that it would take too long. Changes nothing.
   *
   * Needs the permission `webhook:list`. Counts in the rate limit `filter_try`.
   */
  readonly tryFilter: (params: TryFilterParams, options?: CallOptions) => Promise<TriedFilter>
  /**
   * Get an event type of the catalogue
   *
   * With the deviations of all workspaces.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly getEventType: (params: GetEventTypeParams, options?: CallOptions) => Promise<DescribedEventType>
  /**
   * Describe an event type
   *
   * Replaces what the catalogue says of it; what is left out is reset to its default. 201 the first time. In force everywhere within a second; events that are there already are not judged again.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly putEventType: (params: PutEventTypeParams, options?: CallOptions) => Promise<DescribedEventType>
  /**
   * Remove an event type from the catalogue
   *
   * Its events stay, and it can still be published; its payloads are not judged any more.
   *
   * Needs the operator's token. Counts in the rate limit `rest_write`.
   */
  readonly deleteEventType: (params: DeleteEventTypeParams, options?: CallOptions) => Promise<void>
  /**
   * List the catalogue
   *
   * By name, hidden ones too, with the deviations of all workspaces.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly listCatalogue: (params?: ListCatalogueParams, options?: CallOptions) => Listed<DescribedEventType>
  /**
   * Draft a schema from real events
   *
   * From the newest events of all workspaces: the types of each member, and which were always there. The type need not be described.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly draftEventTypeSchema: (params: DraftEventTypeSchemaParams, options?: CallOptions) => Promise<DraftedSchema>
  /**
   * Try a schema on real events
   *
   * Judges the newest 200 events of all workspaces by it, and compares it with the present one. Changes nothing.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly checkEventTypeSchema: (params: CheckEventTypeSchemaParams, options?: CallOptions) => Promise<CheckedSchema>
  /**
   * Get an event type
   *
   * What its payloads look like, with the workspace's own deviations.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getWorkspaceEventType: (params: GetWorkspaceEventTypeParams, options?: CallOptions) => Promise<DescribedEventType>
  /**
   * Get the catalogue as a document
   *
   * Every described event type, for generators of code and documentation; hidden ones are left out. At most a second old.
   *
   * Needs the permission `webhook:read`. Counts in the rate limit `rest_read`.
   */
  readonly getEventTypeDocument: (params?: GetEventTypeDocumentParams, options?: CallOptions) => Promise<EventTypeDocument>
  /**
   * List notifications
   *
   * Newest first, read and unread alike.
   *
   * Needs the permission `notification:list`. Counts in the rate limit `rest_read`.
   */
  readonly listNotifications: (params?: ListNotificationsParams, options?: CallOptions) => Listed<Notification>
  /**
   * Mark a notification as read
   *
   * Marks it as read for everybody in the workspace. Marking it again keeps the first time.
   *
   * Needs the permission `notification:update`. Counts in the rate limit `rest_write`.
   */
  readonly markNotificationRead: (params: MarkNotificationReadParams, options?: CallOptions) => Promise<Notification>
  /**
   * List what was told by e-mail and Slack
   *
   * Newest first. What is told to whom is set in the workspace's settings.
   *
   * Needs the permission `workspace:read`. Counts in the rate limit `rest_read`.
   */
  readonly listAlerts: (params?: ListAlertsParams, options?: CallOptions) => Listed<ToldAlert>
  /**
   * List members
   *
   * Forward on id, so in the order they were added.
   *
   * Needs the permission `member:list`. Counts in the rate limit `rest_read`.
   */
  readonly listMembers: (params?: ListMembersParams, options?: CallOptions) => Listed<Member>
  /**
   * Add a member
   *
   * Nothing is mailed to them: create a console link to let them in.
   *
   * Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
   */
  readonly addMember: (params: AddMemberParams, options?: CallOptions) => Promise<Member>
  /**
   * Update a member
   *
   * Changes only the members that are sent. A new role takes effect at the member's next request.
   *
   * Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
   */
  readonly updateMember: (params: UpdateMemberParams, options?: CallOptions) => Promise<Member>
  /**
   * Remove a member
   *
   * They can no longer use the console; what they did stays in the audit log.
   *
   * Needs the permission `member:manage`. Counts in the rate limit `rest_write`.
   */
  readonly removeMember: (params: RemoveMemberParams, options?: CallOptions) => Promise<void>
  /**
   * List API tokens
   *
   * Newest first, revoked and expired ones included. Never with the token itself.
   *
   * Needs the permission `token:list`. Counts in the rate limit `rest_read`.
   */
  readonly listApiTokens: (params?: ListApiTokensParams, options?: CallOptions) => Listed<ApiToken>
  /**
   * Create an API token
   *
   * Only this answer contains the token. Scopes that grant more than the caller may do are refused. It expires with the token that made it at the latest.
   *
   * Needs the permission `token:create`. Counts in the rate limit `rest_write`.
   */
  readonly createApiToken: (params: CreateApiTokenParams, options?: CallOptions) => Promise<CreatedApiToken>
  /**
   * Revoke an API token
   *
   * Takes effect everywhere within a second, permanently. Revoking it again changes nothing. A leaked token may have made others: `descendants=true` revokes those too, even if the token itself is already revoked.
   *
   * Needs the permission `token:revoke`. Counts in the rate limit `rest_write`.
   */
  readonly revokeApiToken: (params: RevokeApiTokenParams, options?: CallOptions) => Promise<void>
  /**
   * List audit events
   *
   * Newest first. Publishes and test sends are not in it: their deliveries are their record.
   *
   * Needs the permission `audit:list`. Counts in the rate limit `rest_read`.
   */
  readonly listAuditEvents: (params?: ListAuditEventsParams, options?: CallOptions) => Listed<AuditEvent>
  /**
   * List what the operator did to workspaces
   *
   * Newest first: workspaces created and deleted. It outlives the workspaces.
   *
   * Needs the operator's token. Counts in the rate limit `rest_read`.
   */
  readonly listOperatorAuditEvents: (params?: ListOperatorAuditEventsParams, options?: CallOptions) => Listed<AuditEvent>
  /**
   * Say who is calling
   *
   * Which workspace this token opens, what it may do, and until when. Start here with a token you know nothing about.
   *
   * Any valid token may ask. Counts in the rate limit `rest_read`.
   */
  readonly getCaller: (params?: GetCallerParams, options?: CallOptions) => Promise<Caller>
  /**
   * Create a console link
   *
   * A link that signs one browser in to the console, once, or one frame of another page (`embedIn`). One that grants more than the caller may do is refused.
   *
   * Needs the permission `console:link`. Counts in the rate limit `rest_write`.
   */
  readonly createConsoleLink: (params?: CreateConsoleLinkParams, options?: CallOptions) => Promise<ConsoleLink>
  /**
   * List console sessions
   *
   * Who is signed in to the console now, newest first. Never with a secret.
   *
   * Needs the permission `member:list`. Counts in the rate limit `rest_read`.
   */
  readonly listConsoleSessions: (params?: ListConsoleSessionsParams, options?: CallOptions) => Listed<ConsoleSession>
  /**
   * End a console session
   *
   * Also ends what was made in it: links, sessions and tokens. Callers may end their own sessions; those who manage members, any.
   *
   * Any valid token may ask. Counts in the rate limit `rest_write`.
   */
  readonly endConsoleSession: (params: EndConsoleSessionParams, options?: CallOptions) => Promise<void>
}

/** Method, path, names in the query, names in headers, whether there is a body, whether it is a list. */
export const operations = {
  listWorkspaces: ["GET", "/workspaces", ["limit","cursor"], [], 0, true],
  createWorkspace: ["POST", "/workspaces", [], ["idempotencyKey"], 2, false],
  listFleet: ["GET", "/fleet", ["limit","cursor"], [], 0, true],
  updateWorkspace: ["PATCH", "/workspaces/{workspace}", [], [], 2, false],
  deleteWorkspace: ["DELETE", "/workspaces/{workspace}", [], [], 0, false],
  getWorkspaceSettings: ["GET", "/workspaces/{workspace}/settings", [], [], 0, false],
  updateWorkspaceSettings: ["PATCH", "/workspaces/{workspace}/settings", [], [], 2, false],
  getOverview: ["GET", "/workspaces/{workspace}/overview", [], [], 0, false],
  listWebhookEndpoints: ["GET", "/workspaces/{workspace}/webhooks", ["limit","cursor","externalId","search","state","order"], [], 0, true],
  createWebhookEndpoint: ["POST", "/workspaces/{workspace}/webhooks", [], ["idempotencyKey"], 2, false],
  getWebhookEndpoint: ["GET", "/workspaces/{workspace}/webhooks/{endpointId}", [], [], 0, false],
  updateWebhookEndpoint: ["PATCH", "/workspaces/{workspace}/webhooks/{endpointId}", [], ["ifMatch"], 2, false],
  deleteWebhookEndpoint: ["DELETE", "/workspaces/{workspace}/webhooks/{endpointId}", [], ["ifMatch"], 0, false],
  getEndpointStats: ["GET", "/workspaces/{workspace}/webhooks/{endpointId}/stats", ["hours"], [], 0, false],
  diagnoseWebhookEndpoint: ["GET", "/workspaces/{workspace}/webhooks/{endpointId}/diagnosis", [], [], 0, false],
  rotateWebhookSecret: ["POST", "/workspaces/{workspace}/webhooks/{endpointId}/rotate-secret", [], ["idempotencyKey"], 0, false],
  checkAuthentication: ["POST", "/workspaces/{workspace}/webhooks/{endpointId}/check-authentication", [], [], 0, false],
  sendTestEvent: ["POST", "/workspaces/{workspace}/webhooks/{endpointId}/test-event", [], ["idempotencyKey"], 1, false],
  explainSignature: ["POST", "/workspaces/{workspace}/webhooks/{endpointId}/explain-signature", [], [], 2, false],
  listWebhookDeliveries: ["GET", "/workspaces/{workspace}/webhooks/{endpointId}/deliveries", ["limit","cursor","status","eventType","recovered","payload"], [], 0, true],
  listWorkspaceDeliveries: ["GET", "/workspaces/{workspace}/webhooks/deliveries", ["limit","cursor","status","eventType","recovered","payload","endpointId","eventId","since","until"], [], 0, true],
  getWebhookDelivery: ["GET", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}", [], [], 0, false],
  listWebhookDeliveryAttempts: ["GET", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/attempts", ["limit","cursor"], [], 0, true],
  replayWebhookDelivery: ["POST", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/replay", [], ["idempotencyKey"], 0, false],
  resendWebhookDelivery: ["POST", "/workspaces/{workspace}/webhooks/deliveries/{deliveryId}/resend", [], ["idempotencyKey"], 0, false],
  startReplay: ["POST", "/workspaces/{workspace}/webhooks/{endpointId}/replays", [], ["idempotencyKey"], 2, false],
  listReplays: ["GET", "/workspaces/{workspace}/webhooks/replays", ["limit","cursor"], [], 0, true],
  getReplay: ["GET", "/workspaces/{workspace}/webhooks/replays/{replayId}", [], [], 0, false],
  cancelReplay: ["DELETE", "/workspaces/{workspace}/webhooks/replays/{replayId}", [], [], 0, false],
  getTrace: ["GET", "/workspaces/{workspace}/trace/{traceId}", [], [], 0, false],
  listEvents: ["GET", "/workspaces/{workspace}/events", ["limit","cursor","eventType","since","until","idempotencyKey","payloadPath","payloadValue","payload"], [], 0, true],
  publishEvent: ["POST", "/workspaces/{workspace}/events", [], [], 2, false],
  publishEvents: ["POST", "/workspaces/{workspace}/events/batch", [], ["idempotencyKey"], 2, false],
  getEvent: ["GET", "/workspaces/{workspace}/events/{eventId}", [], [], 0, false],
  listEventTypes: ["GET", "/workspaces/{workspace}/event-types", ["limit","cursor"], [], 0, true],
  purgeEvent: ["POST", "/workspaces/{workspace}/events/{eventId}/purge", [], ["idempotencyKey"], 0, false],
  explainEventRouting: ["GET", "/workspaces/{workspace}/events/{eventId}/routing", ["limit","cursor","endpointId"], [], 0, true],
  tryFilter: ["POST", "/workspaces/{workspace}/webhooks/try-filter", [], [], 2, false],
  getEventType: ["GET", "/event-types/{eventType}", [], [], 0, false],
  putEventType: ["PUT", "/event-types/{eventType}", [], ["ifMatch"], 2, false],
  deleteEventType: ["DELETE", "/event-types/{eventType}", [], ["ifMatch"], 0, false],
  listCatalogue: ["GET", "/event-types", ["limit","cursor"], [], 0, true],
  draftEventTypeSchema: ["GET", "/event-types/{eventType}/draft-schema", ["events"], [], 0, false],
  checkEventTypeSchema: ["POST", "/event-types/{eventType}/check-schema", [], [], 2, false],
  getWorkspaceEventType: ["GET", "/workspaces/{workspace}/event-types/{eventType}", [], [], 0, false],
  getEventTypeDocument: ["GET", "/workspaces/{workspace}/event-type-document", ["format"], [], 0, false],
  listNotifications: ["GET", "/workspaces/{workspace}/notifications", ["limit","cursor"], [], 0, true],
  markNotificationRead: ["POST", "/workspaces/{workspace}/notifications/{notificationId}/read", [], ["idempotencyKey"], 0, false],
  listAlerts: ["GET", "/workspaces/{workspace}/alerts", ["limit","cursor"], [], 0, true],
  listMembers: ["GET", "/workspaces/{workspace}/members", ["limit","cursor"], [], 0, true],
  addMember: ["POST", "/workspaces/{workspace}/members", [], ["idempotencyKey"], 2, false],
  updateMember: ["PATCH", "/workspaces/{workspace}/members/{memberId}", [], [], 2, false],
  removeMember: ["DELETE", "/workspaces/{workspace}/members/{memberId}", [], [], 0, false],
  listApiTokens: ["GET", "/workspaces/{workspace}/api-tokens", ["limit","cursor"], [], 0, true],
  createApiToken: ["POST", "/workspaces/{workspace}/api-tokens", [], ["idempotencyKey"], 2, false],
  revokeApiToken: ["DELETE", "/workspaces/{workspace}/api-tokens/{tokenId}", ["descendants"], [], 0, false],
  listAuditEvents: ["GET", "/workspaces/{workspace}/audit-events", ["limit","cursor","action","actor","target","since","until"], [], 0, true],
  listOperatorAuditEvents: ["GET", "/audit-events", ["limit","cursor","action","actor","target","since","until"], [], 0, true],
  getCaller: ["GET", "/caller", [], [], 0, false],
  createConsoleLink: ["POST", "/workspaces/{workspace}/console-links", [], ["idempotencyKey"], 2, false],
  listConsoleSessions: ["GET", "/workspaces/{workspace}/console-sessions", ["limit","cursor"], [], 0, true],
  endConsoleSession: ["DELETE", "/workspaces/{workspace}/console-sessions/{sessionId}", [], [], 0, false],
} as const
