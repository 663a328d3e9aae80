/** Analyses a row of attempts: how many failed in a row, with which kind of failure, and what came before. Pure. */
import type { Evidence, SeenAttempt, SeenChange } from "../DiagnosisEvidence.ts"

/** Kinds of failure that have different causes and remedies. */
export type Kind =
  | "timestamp_off"
  | "rejected"
  | "not_found"
  | "rate_limited"
  | "refused"
  | "redirected"
  | "server_error"
  | "timing_out"
  | "unreachable"
  | "name_unresolved"
  | "tls_failed"
  | "not_http"
  | "url_refused"
  | "proxy_failed"
  | "authentication_failing"

const kindOfStatus = (status: number): Kind => {
  if (status === 401 || status === 403) return "rejected"
  if (status === 404 || status === 410) return "not_found"
  if (status === 408) return "timing_out"
  if (status === 429) return "rate_limited"
  if (status >= 500) return "server_error"
  return status >= 400 ? "refused" : "redirected"
}

const kinds = {
  request_timeout: "timing_out",
  connection_failed: "unreachable",
  dns_failed: "name_unresolved",
  tls_failed: "tls_failed",
  invalid_response: "not_http",
  invalid_url: "url_refused",
  proxy_failed: "proxy_failed",
  auth_failed: "authentication_failing"
} as const

/** Statuses by which receivers may reject the signature, or its timestamp. */
const REFUSING: ReadonlySet<Kind> = new Set(["rejected", "refused"])

export const kindOf = ({ failureReason, httpStatus, timestampOff }: SeenAttempt): Kind => {
  if (failureReason !== null && failureReason !== "http_status") return kinds[failureReason]
  const kind = kindOfStatus(httpStatus ?? 0)
  return timestampOff && REFUSING.has(kind) ? "timestamp_off" : kind
}

export const hasFailed = ({ status }: SeenAttempt) => status !== "delivered"

/** The most frequent kind of failure, and its share; among equals, the newest. */
export const dominant = (failures: ReadonlyArray<SeenAttempt>) => {
  const counts = new Map<Kind, number>()
  for (const failure of failures) counts.set(kindOf(failure), (counts.get(kindOf(failure)) ?? 0) + 1)
  const [kind, count] = [...counts].reduce((most, next) => (next[1] > most[1] ? next : most))
  return {
    kind,
    share: count / failures.length,
    example: failures.find((failure) => kindOf(failure) === kind)!
  }
}

export interface Streak {
  /** Newest first; at least one. */
  readonly failures: ReadonlyArray<SeenAttempt>
  readonly first: SeenAttempt
  /** The delivered attempt before it; undefined when none was seen. */
  readonly before: SeenAttempt | undefined
  /** Delivered attempts before it, newest first. */
  readonly successes: ReadonlyArray<SeenAttempt>
  /** It may have begun before the oldest attempt here. */
  readonly openEnded: boolean
}

/** The failures in a row up to now; undefined when the latest attempt was delivered. */
export const streakOf = ({ attempts, olderAttempts }: Evidence): Streak | undefined => {
  const end = attempts.findIndex((attempt) => !hasFailed(attempt))
  const length = end < 0 ? attempts.length : end
  if (length === 0) return undefined
  return {
    failures: attempts.slice(0, length),
    first: attempts[length - 1]!,
    before: attempts[length],
    successes: attempts.slice(length).filter((attempt) => !hasFailed(attempt)),
    openEnded: end < 0 && olderAttempts
  }
}

/** Changes after the last success and not after the first failure, newest first. */
export const changesBefore = (streak: Streak, { changes, endpoint }: Evidence): ReadonlyArray<SeenChange> => {
  const from = streak.before?.at ?? endpoint.createdAt
  return changes.filter(({ at }) => at >= from && at <= streak.first.at)
}

const SHOWN_DELIVERIES = 3

/** The newest deliveries of these attempts, to show. */
export const deliveriesOf = (attempts: ReadonlyArray<SeenAttempt>): ReadonlyArray<string> =>
  [...new Set(attempts.map(({ deliveryId }) => deliveryId))].slice(0, SHOWN_DELIVERIES)

/** How often attempts changed between delivered and failed. */
export const switchesIn = (attempts: ReadonlyArray<SeenAttempt>): number =>
  attempts.filter((attempt, index) => index > 0 && hasFailed(attempt) !== hasFailed(attempts[index - 1]!))
    .length

export const median = (numbers: ReadonlyArray<number>): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
