/**
 * The evidence for a diagnosis: recorded facts about one endpoint, bounded in number.
 *
 * Times are RFC 3339 in UTC with milliseconds, so they compare as text.
 */
import type { RateLimit } from "../DeliveryPolicy.ts"
import type { AuditEventId, DeliveryId } from "../Ids.ts"
import type { JsonText } from "../JsonText.ts"
import type { DisabledReason } from "../States.ts"
import type { AttemptStatus, FailureDetail, FailureReason } from "../Verdict.ts"

export interface SeenAttempt {
  readonly deliveryId: DeliveryId
  readonly eventType: string
  readonly at: string
  readonly status: AttemptStatus
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  readonly failureDetail: FailureDetail | null
  /** Where it was sent. */
  readonly url: string
  /** The answer's `Location`, as the receiver wrote it. */
  readonly location: string | null
  /** The answer's `Retry-After`, as the receiver wrote it. */
  readonly retryAfter: string | null
  /** The signed timestamp was far from the database's time, or the receiver's answer mentions the timestamp. */
  readonly timestampOff: boolean
}

/** An audit event whose target is the endpoint. */
export interface SeenChange {
  readonly auditEventId: AuditEventId
  readonly action: string
  readonly fields: ReadonlyArray<string>
  readonly at: string
  readonly via: string
}

export interface Backlog {
  readonly rate: RateLimit
  readonly due: number
  /** The limit was reached, so there may be more. */
  readonly more: boolean
  /** When the last of them can be sent. */
  readonly emptyAt: string
}

/** What an endpoint's filter, as it is now, makes of the newest events of the last 24 hours that its patterns want. */
export interface Filtered {
  readonly filter: JsonText
  readonly examined: number
  readonly matching: number
  /** The condition that kept most of them away, as JSON, and its place in the payload; null if the filter held for all. */
  readonly mostOften: { readonly path: string; readonly condition: string } | null
}

export interface Evidence {
  /** When it was gathered, by the database's clock. */
  readonly now: string
  readonly endpoint: {
    readonly id: string
    readonly enabled: boolean
    readonly disabledReason: DisabledReason | null
    readonly disabledAt: string | null
    readonly createdAt: string
    readonly consecutiveFailures: number
    readonly eventTypes: ReadonlyArray<string>
    /** Why its URL would be refused now; null if it would be accepted. */
    readonly urlRefusal: string | null
    /** Whether its delivery policy waits for what `Retry-After` asks. */
    readonly honorsRetryAfter: boolean
    /** When the client certificate of its request expires; null without one. */
    readonly certificateExpiresAt: string | null
    /** Whether a master key of this process opens its signing secret. */
    readonly secretReadable: boolean
  }
  /** How long a receiver has to answer. */
  readonly requestTimeoutMs: number
  /** The unit of the pauses between probes. */
  readonly retryDelayMs: number
  /** Null without a filter. */
  readonly filtered: Filtered | null
  /** Event types published in the last 30 days, by name. */
  readonly published: ReadonlyArray<string>
  /** Newest first. */
  readonly attempts: ReadonlyArray<SeenAttempt>
  /** Whether there are older attempts beyond these. */
  readonly olderAttempts: boolean
  /** Newest first. */
  readonly changes: ReadonlyArray<SeenChange>
  /** Whether there are older changes beyond these. */
  readonly olderChanges: boolean
  /** Deliveries that still have work to do. */
  readonly waiting: { readonly count: number; readonly oldestDueAt: string | null }
  /** What is due and waits for the endpoint's rate; null when nothing does. */
  readonly backlog: Backlog | null
  /** Deliveries that were given up and neither recovered nor are under way again; without test sends. */
  readonly stopped: {
    readonly count: number
    /** The limit was reached, so there may be more. */
    readonly more: boolean
    readonly since: string | null
    readonly newestId: string | null
    /** How many of these were given up before anything was sent. */
    readonly neverSent: number
    /** Those that failed too, and were recovered since. */
    readonly recovered: number
  }
  /** Missed events, from any time that it was disabled, that were not replayed. */
  readonly missedEvents: { readonly count: number; readonly more: boolean; readonly since: string | null }
}
