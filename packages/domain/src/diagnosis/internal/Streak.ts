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

/** A change after which an endpoint is judged anew: of where requests go, or what they look like. */
const beginsAnew = ({ action, fields }: SeenChange) =>
  action === "webhook.secret_rotated" ||
  (action === "webhook.endpoint_updated" && (fields.includes("url") || fields.includes("request")))

/** The latest change after which the endpoint is judged anew. */
export const latestRepair = ({ changes }: Evidence): SeenChange | undefined => changes.find(beginsAnew)

/** The attempts that still say something: those since the latest change of url, secret or request. */
export const current = (evidence: Evidence): ReadonlyArray<SeenAttempt> => {
  const from = latestRepair(evidence)?.at ?? ""
  return evidence.attempts.filter(({ at }) => at >= from)
}

/** Failures of other kinds are part of a run as long as they are few. */
const ALIKE = 0.8

/** The length of the longest row from the newest attempt on that begins with a failure like it, and of which most are like it. */
const lengthOfRun = (failures: ReadonlyArray<SeenAttempt>): number => {
  const [newest] = failures
  let alike = 0
  let length = 0
  failures.forEach((failure, index) => {
    if (kindOf(failure) !== kindOf(newest!)) return
    alike++
    if (alike / (index + 1) >= ALIKE) length = index + 1
  })
  return length
}

export interface Streak {
  /** The latest failures that are alike, since the latest change of url, secret or request. Newest first; at least one. */
  readonly run: ReadonlyArray<SeenAttempt>
  readonly first: SeenAttempt
  /** The failures in a row before the run, newest first: history. */
  readonly earlier: ReadonlyArray<SeenAttempt>
  /** Delivered attempts before all of these, newest first. */
  readonly successes: ReadonlyArray<SeenAttempt>
  /** It may have begun before the oldest attempt here. */
  readonly openEnded: boolean
}

/** The failed attempts since the last success, newest first. */
export const failuresInARow = ({ attempts }: Evidence): ReadonlyArray<SeenAttempt> => {
  const end = attempts.findIndex((attempt) => !hasFailed(attempt))
  return end < 0 ? attempts : attempts.slice(0, end)
}

/** Undefined when the latest attempt was delivered, or nothing was sent since a change. */
export const streakOf = (evidence: Evidence): Streak | undefined => {
  const { attempts, olderAttempts } = evidence
  const failures = failuresInARow(evidence)
  const length = lengthOfRun(current(evidence).slice(0, failures.length))
  if (length === 0) return undefined
  return {
    run: failures.slice(0, length),
    first: failures[length - 1]!,
    earlier: failures.slice(length),
    successes: attempts.slice(failures.length).filter((attempt) => !hasFailed(attempt)),
    openEnded: failures.length === attempts.length && olderAttempts
  }
}

/** The first failure of this kind since the last success: in the run, or in the history before it. */
export const beginningOf = ({ earlier, first, run }: Streak): SeenAttempt =>
  earlier.findLast((failure) => kindOf(failure) === kindOf(run[0]!)) ?? first

/** Changes between the last success and the first failure of this kind, newest first. */
export const changesBefore = (streak: Streak, { changes, endpoint }: Evidence): ReadonlyArray<SeenChange> => {
  const from = streak.successes[0]?.at ?? endpoint.createdAt
  const to = beginningOf(streak).at
  return changes.filter(({ at }) => at >= from && at <= to)
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
