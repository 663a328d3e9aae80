/**
 * What one HTTP attempt means for its delivery. Pure and total: the worker records what `judge` returns.
 *
 *   2xx                                        delivered
 *   4xx but 408 and 429, url refused           failed_permanent
 *   everything else (5xx, 408, 429, 3xx,       failed, to be tried again, until attempt 7, after which the
 *   timeout, no or nonsense answer)            delivery goes to the dead-letter queue
 *
 * Source: spec §3.1 and §8; 3xx and nonsense answers: spec §3.4. `posthorn.record` stores the verdict; what it means for the
 * endpoint (its streak, and whether it is disabled) is decided there, beside the counts.
 */

import { Schema } from "effect"

/** Retries after the first attempt, so attempt 7 is the last. Source: spec §8. */
export const MAX_RETRIES = 6

/** Claims without a recorded observation after which a delivery is poison. Source: spec §3.4. */
export const MAX_CLAIMS = 7

/** Consecutive failures at which an endpoint is disabled. Source: spec §2.1. */
export const FAILURE_LIMIT = 20

export const FailureReason = Schema.Literal(
  "http_status",
  "request_timeout",
  "connection_failed",
  "dns_failed",
  "tls_failed",
  "invalid_response",
  "invalid_url"
)
export type FailureReason = typeof FailureReason.Type

/** What was observed of one attempt. `httpStatus` is null if no usable answer came. */
export interface Observation {
  readonly httpStatus: number | null
  readonly failureReason: Exclude<FailureReason, "http_status"> | null
  readonly durationMs: number
  readonly responseBody: string | null
  /** The few headers of the answer that are kept, as a JSON object; absent if the answer has none of them. */
  readonly responseHeaders?: string | undefined
}

export const AttemptStatus = Schema.Literal("delivered", "failed", "failed_permanent")
export type AttemptStatus = typeof AttemptStatus.Type

export interface Verdict {
  readonly status: AttemptStatus
  readonly failureReason: FailureReason | null
  /** Units of the retry delay until the next attempt; null when there is none. */
  readonly retryAfterUnits: number | null
  /** Whether this was the last attempt of a delivery that still fails. */
  readonly exhausted: boolean
}

const DELIVERED: Verdict = {
  status: "delivered",
  failureReason: null,
  retryAfterUnits: null,
  exhausted: false
}

const rejected = (failureReason: FailureReason): Verdict => ({
  status: "failed_permanent",
  failureReason,
  retryAfterUnits: null,
  exhausted: false
})

const failed = (ordinal: number, failureReason: FailureReason): Verdict => {
  const exhausted = ordinal > MAX_RETRIES
  return {
    status: "failed",
    failureReason,
    retryAfterUnits: exhausted ? null : retryUnits(ordinal),
    exhausted
  }
}

/** Units of the retry delay (30 s) to wait after attempt `ordinal` (from 1) failed: 1, 2, … at most 6. */
export const retryUnits = (ordinal: number): number => Math.min(ordinal, MAX_RETRIES)

const isRejection = (status: number) => status >= 400 && status < 500 && status !== 408 && status !== 429

/** Judges attempt `ordinal` (from 1). */
export const judge = (ordinal: number, seen: Observation): Verdict => {
  if (seen.failureReason === "invalid_url") return rejected("invalid_url")
  if (seen.failureReason !== null) return failed(ordinal, seen.failureReason)
  const status = seen.httpStatus
  if (status === null || status < 200 || status > 599) return failed(ordinal, "invalid_response")
  if (status < 300) return DELIVERED
  return isRejection(status) ? rejected("http_status") : failed(ordinal, "http_status")
}
