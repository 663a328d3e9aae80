/**
 * What one HTTP attempt means: for its delivery (its status, and the wait until the next attempt), and for its endpoint (which rule
 * may disable it). Pure and total. It judges by the delivery policy in force; the worker records what `judge` returns.
 *
 *   2xx                                        delivered
 *   4xx but 408 and 429, url refused           failed_permanent
 *   everything else (5xx, 408, 429, 3xx,       failed, to be tried again as often as the policy has waits, after which
 *   timeout, no or nonsense answer)            the delivery goes to the dead-letter queue
 *   the proxy, or the authentication, failed   the same, but it does not count for the endpoint
 *
 * Source: spec §3.1, §8 and §3.5; 3xx and nonsense answers: spec §3.4. `posthorn.record` stores the verdict; what it makes of the
 * endpoint's streak is decided there, beside the counts, as `disablingReason` says.
 */

import { Schema } from "effect"
import type { DisableAfter, PolicyInForce } from "./DeliveryPolicy.ts"
import { retryAfterMs } from "./RetryAfter.ts"
import type { DisabledReason } from "./States.ts"

/** Claims without a recorded observation after which a delivery is poison. Source: spec §3.4. */
export const MAX_CLAIMS = 7

/** Not before the fifth failure in a row is an endpoint disabled because it has failed for so long. */
export const FAILING_FOR_LEAST = 5

export const FailureReason = Schema.Literal(
  "http_status",
  "request_timeout",
  "connection_failed",
  "dns_failed",
  "tls_failed",
  "invalid_response",
  "invalid_url",
  "proxy_failed",
  "auth_failed"
)
export type FailureReason = typeof FailureReason.Type

/** What a failure to connect, or of TLS, was; never the receiver's words. `posthorn.failure_detail` has the same list. */
export const FailureDetail = Schema.Literal(
  "refused",
  "reset",
  "unreachable",
  "closed_early",
  "connect_timeout",
  "certificate_expired",
  "certificate_not_yet_valid",
  "wrong_host",
  "unknown_issuer",
  "incomplete_chain",
  "self_signed",
  "tls_version",
  "not_tls",
  "tls_other"
)
export type FailureDetail = typeof FailureDetail.Type

/** These attempts never reached the endpoint, so its streak stays as it is. `posthorn.count_failures` has the same list. */
const UNCOUNTED: ReadonlySet<FailureReason | null> = new Set<FailureReason>(["proxy_failed", "auth_failed"])

export const isUncounted = (reason: FailureReason | null): boolean => UNCOUNTED.has(reason)

/** What was observed of one attempt. `httpStatus` is null if no usable answer came. */
export interface Observation {
  readonly httpStatus: number | null
  readonly failureReason: Exclude<FailureReason, "http_status"> | null
  /** Absent when nothing more is known. */
  readonly failureDetail?: FailureDetail | undefined
  readonly durationMs: number
  readonly responseBody: string | null
  /** The few headers of the answer that are kept, as a JSON object; absent if the answer has none of them. */
  readonly responseHeaders?: string | undefined
}

export const AttemptStatus = Schema.Literal("delivered", "failed", "failed_permanent")
export type AttemptStatus = typeof AttemptStatus.Type

/** What disables its endpoint: a rule over its streak, or this attempt alone. */
export type Disables = DisableAfter | { readonly kind: "gone" }

export interface Verdict {
  readonly status: AttemptStatus
  readonly failureReason: FailureReason | null
  /** Milliseconds until the next attempt; null when there is none. */
  readonly waitMs: number | null
  /** Whether this was the last attempt of a delivery that still fails. */
  readonly exhausted: boolean
  /** Null when it was delivered. */
  readonly disables: Disables | null
}

/** The attempt that is judged. */
export interface Tried {
  readonly deliveryId: string
  /** From 1. */
  readonly ordinal: number
  /** False: the publish asked for one attempt. */
  readonly retry: boolean
  /** When it is judged, in milliseconds since 1970. */
  readonly now: number
}

/** The same for any policy. */
export const outcomeOf = (seen: Observation): Pick<Verdict, "status" | "failureReason"> => {
  if (seen.failureReason === "invalid_url")
    return { status: "failed_permanent", failureReason: seen.failureReason }
  if (seen.failureReason !== null) return { status: "failed", failureReason: seen.failureReason }
  const status = seen.httpStatus
  if (status === null || status < 200 || status > 599)
    return { status: "failed", failureReason: "invalid_response" }
  if (status < 300) return { status: "delivered", failureReason: null }
  return { status: isRejection(status) ? "failed_permanent" : "failed", failureReason: "http_status" }
}

const isRejection = (status: number) => status >= 400 && status < 500 && status !== 408 && status !== 429

export const judge = (policy: PolicyInForce, tried: Tried, seen: Observation): Verdict => {
  const { failureReason, status } = outcomeOf(seen)
  const waitMs = status === "failed" ? waitOf(policy, tried, seen) : null
  return {
    status,
    failureReason,
    waitMs,
    exhausted: status === "failed" && waitMs === null,
    disables: status === "delivered" ? null : disablesOf(policy, seen)
  }
}

const disablesOf = ({ disableAfter, onGone }: PolicyInForce, seen: Observation): Disables => {
  if (isUncounted(seen.failureReason)) return { kind: "never" }
  return seen.httpStatus === 410 && onGone === "disable" ? { kind: "gone" } : disableAfter
}

const waitOf = (policy: PolicyInForce, tried: Tried, seen: Observation): number | null => {
  const wait = tried.retry ? policy.waitsMs[tried.ordinal - 1] : undefined
  if (wait === undefined) return null
  const drawn = policy.jitter === 0 ? wait : wait * (1 + policy.jitter * draw(tried))
  return Math.round(policy.honorRetryAfter ? Math.max(drawn, askedFor(seen, tried.now)) : drawn)
}

const askedFor = ({ responseHeaders }: Observation, now: number): number => {
  const header: unknown =
    responseHeaders === undefined ? undefined : JSON.parse(responseHeaders)["retry-after"]
  return typeof header === "string" ? (retryAfterMs(header, now) ?? 0) : 0
}

/**
 * From 0 to below 1. A hash (FNV-1a, and the last steps of MurmurHash) of the delivery's id and the attempt's ordinal, so that an
 * attempt that is judged twice waits the same.
 */
const draw = ({ deliveryId, ordinal }: Tried): number => {
  let hash = 0x811c9dc5 ^ ordinal
  for (let n = 0; n < deliveryId.length; n++) hash = Math.imul(hash ^ deliveryId.charCodeAt(n), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** The streak of an endpoint with the failure that is recorded now. */
interface FailureStreak {
  readonly failures: number
  /** Since the first of them was recorded. */
  readonly failingMs: number
}

/** Why the failure disables its endpoint, or null: what `posthorn.record` decides. */
export const disablingReason = (
  disables: Disables,
  { failingMs, failures }: FailureStreak
): Exclude<DisabledReason, "manual"> | null => {
  switch (disables.kind) {
    case "gone":
      return "gone"
    case "failures":
      return failures >= disables.count ? "consecutive_failures" : null
    case "failing_for":
      return failures >= FAILING_FOR_LEAST && failingMs >= disables.seconds * 1_000 ? "failing_for" : null
    case "never":
      return null
  }
}
