/** Findings that are conditions rather than causes: disabled, slow, late, losses, or nothing wrong. */

import { PROBES_AFTER, pauseUnits } from "../../Probing.ts"
import { retryAfterMs } from "../../RetryAfter.ts"
import type { DisabledReason } from "../../States.ts"
import type { Evidence, SeenAttempt } from "../DiagnosisEvidence.ts"
import type { Finding } from "../Finding.ts"
import { inSeconds } from "./Causes.ts"
import { historyOf, whatChanged } from "./History.ts"
import { neverSeen, storeFirst } from "./SecretCauses.ts"
import {
  compare,
  countLost,
  enable,
  fixPolicy,
  fixRequest,
  type NextStep,
  person,
  replay,
  replayAll,
  rotate,
  seeTypes,
  test
} from "./Steps.ts"
import { current, failuresInARow, hasFailed, latestRepair, median } from "./Streak.ts"

const FEWEST_SLOW = 5
const EXPIRING_MS = 30 * 86_400_000
/** If a delivery is due for longer than this (besides a request and the pause between two probes), no worker is delivering. */
const LATE_MS = 60_000

type Told = Pick<Finding, "code" | "summary" | "because" | "confidence" | "nextSteps"> & Partial<Finding>

const finding = (told: Told): Finding => ({
  since: null,
  reason: null,
  failureDetail: null,
  httpStatus: null,
  inARow: 0,
  changedBefore: null,
  deliveryIds: [],
  ...told
})

/** The worker that sends may have other keys than the server that says this, so it says whose keys they are. */
export const unreadable = ({ endpoint }: Evidence): Finding | undefined =>
  endpoint.secretReadable
    ? undefined
    : finding({
        code: "secret_unreadable",
        summary:
          "Its signing secret cannot be opened with this server's ENCRYPTION_KEY: a worker with the same key sends nothing to it.",
        confidence: "high",
        because: "The secret was sealed with a master key that this server does not have.",
        nextSteps: [
          person(
            "Ask the operator to give serve and work the ENCRYPTION_KEY that was used before, beside the present one. What waits is then sent."
          ),
          rotate("Only if that key is lost for good: it shows a new secret, which the receiver must get.")
        ]
      })

export const expiring = ({ endpoint, now }: Evidence): Finding | undefined => {
  const { certificateExpiresAt: end, id } = endpoint
  if (end === null || Date.parse(end) - Date.parse(now) >= EXPIRING_MS) return undefined
  return finding({
    code: "certificate_expiring",
    summary:
      end > now
        ? `The client certificate that Posthorn shows expires at ${end}: from then on nothing is sent.`
        : `The client certificate that Posthorn shows expired at ${end}: nothing is sent.`,
    confidence: "high",
    because: "The certificate itself says so.",
    nextSteps: [
      person("Have whoever runs the receiver issue a new certificate."),
      fixRequest(id, "Put it into its request, with its private key.")
    ]
  })
}

const DISABLED: Readonly<Record<DisabledReason, (inARow: number) => string>> = {
  manual: () => "Somebody disabled the endpoint: it is sent nothing.",
  consecutive_failures: (inARow) =>
    `The endpoint was disabled after ${inARow} failures in a row: it is sent nothing.`,
  failing_for: (inARow) =>
    `The endpoint was disabled because it had failed for as long as its policy allows, ${inARow} times in a row: it is sent nothing.`,
  gone: () => "The endpoint was disabled because its receiver answered 410 Gone: it is sent nothing."
}

export const disabled = (evidence: Evidence): Finding | undefined => {
  const { consecutiveFailures: inARow, disabledAt, disabledReason, enabled, id } = evidence.endpoint
  if (enabled) return undefined
  const steps = [
    enable(
      id,
      "Enable it once the cause is gone: the streak starts anew and waiting deliveries go on. Before that it is soon disabled again."
    ),
    test(id)
  ]
  const byHand = disabledReason === "manual"
  return finding({
    code: byHand ? "disabled_by_hand" : "disabled_by_failures",
    summary: DISABLED[disabledReason ?? "manual"](inARow),
    since: disabledAt,
    inARow,
    // It is disabled now, so the latest change of this field disabled it.
    changedBefore: evidence.changes.find(({ fields }) => fields.includes("enabled")) ?? null,
    confidence: "high",
    because: "The endpoint's own record says so.",
    nextSteps: steps
  })
}

export const slow = (evidence: Evidence): Finding | undefined => {
  const { requestTimeoutMs } = evidence
  const delivered = current(evidence)
    .filter((attempt) => !hasFailed(attempt))
    .slice(0, 10)
  const middle = median(delivered.map(({ durationMs }) => durationMs))
  if (delivered.length < FEWEST_SLOW || middle < requestTimeoutMs / 2) return undefined
  return finding({
    code: "slow",
    summary: `The receiver is slow: its answers come close to the deadline of ${inSeconds(requestTimeoutMs)}.`,
    since: delivered[delivered.length - 1]!.at,
    confidence: "high",
    because: `Half of the last ${delivered.length} delivered attempts took ${middle} ms or more.`,
    deliveryIds: delivered.slice(0, 3).map(({ deliveryId }) => deliveryId),
    nextSteps: [person("On the receiver's side: answer 2xx at once and do the work afterwards.")]
  })
}

const endOf = ({ at, durationMs }: SeenAttempt) => Date.parse(at) + durationMs

/** Whether the receiver asked for a longer wait than this attempt of the same delivery was given; newest first. */
const isEarly = ({ at, deliveryId }: SeenAttempt, before: ReadonlyArray<SeenAttempt>): boolean => {
  const last = before.find((one) => one.deliveryId === deliveryId)
  if (last === undefined || last.retryAfter === null) return false
  const asked = retryAfterMs(last.retryAfter, endOf(last))
  return asked !== null && Date.parse(at) < endOf(last) + asked
}

export const hurried = ({ attempts, endpoint }: Evidence): Finding | undefined => {
  const early = attempts.filter((one, n) => isEarly(one, attempts.slice(n + 1)))
  if (endpoint.honorsRetryAfter || early.length === 0) return undefined
  return finding({
    code: "retry_after_ignored",
    summary: `The receiver asked for a longer wait, and was tried again before it was over: ${early.length} ${early.length === 1 ? "time" : "times"} of late.`,
    confidence: "high",
    because: "Its delivery policy does not honour Retry-After, which the answers on record have.",
    deliveryIds: [...new Set(early.map(({ deliveryId }) => deliveryId))].slice(0, 3),
    nextSteps: [
      fixPolicy(
        endpoint.id,
        "Let its delivery policy honour Retry-After: retries then wait as the receiver asks, up to 24 hours."
      )
    ]
  })
}

/** What its lane does meanwhile; undefined unless it probes. */
export const probing = ({ attempts, endpoint, now, retryDelayMs, waiting }: Evidence): string | undefined => {
  const [latest] = attempts
  if (!endpoint.enabled || endpoint.consecutiveFailures < PROBES_AFTER || waiting.count === 0)
    return undefined
  if (latest === undefined) return undefined
  const next = endOf(latest) + pauseUnits(endpoint.consecutiveFailures) * retryDelayMs
  const when = next > Date.parse(now) ? `at ${new Date(next).toISOString()}` : "as soon as one is due"
  return `Its lane probes: one attempt at a time, the next ${when}. The first that is delivered sets it free.`
}

export const late = (evidence: Evidence): Finding | undefined => {
  const { attempts, endpoint, now, requestTimeoutMs, retryDelayMs, waiting } = evidence
  const { consecutiveFailures } = endpoint
  const lateMs = LATE_MS + requestTimeoutMs + pauseUnits(consecutiveFailures) * retryDelayMs
  const before = new Date(Date.parse(now) - lateMs).toISOString()
  if (!endpoint.enabled || !endpoint.secretReadable) return undefined
  if (waiting.oldestDueAt === null || waiting.oldestDueAt > before) return undefined
  const idle = attempts.every((attempt) => endOf(attempt) < Date.parse(before))
  // While the lane probes, waiting deliveries are expected.
  if (!idle && consecutiveFailures >= PROBES_AFTER) return undefined
  return finding({
    code: "not_taken_up",
    summary: idle
      ? "Deliveries are due, and nobody sends them: no worker seems to run."
      : "Deliveries are due for more than a minute: the worker does not keep up.",
    since: waiting.oldestDueAt,
    confidence: idle ? "high" : "medium",
    because: `${waiting.count} deliveries wait; the oldest was due at ${waiting.oldestDueAt}.`,
    nextSteps: [
      person(
        "Ask the operator to look at the workers (posthorn work): that they run, and that their ENCRYPTION_KEY opens the endpoint's secret, which they say when they start."
      )
    ]
  })
}

/** Not a fault; while the lane probes, it is not the rate that deliveries wait for. */
export const backlogged = ({ backlog, endpoint, waiting }: Evidence): Finding | undefined => {
  if (backlog === null || !endpoint.enabled || endpoint.consecutiveFailures >= PROBES_AFTER) return undefined
  const { due, emptyAt, more, rate } = backlog
  const once = due === 1 ? "waits" : "wait"
  return finding({
    code: "rate_limited_backlog",
    summary: `${counted({ count: due, more }, "delivery", "deliveries")} ${once} for the endpoint's rate of ${rate.requests} in ${rate.perSeconds} s; the last is sent ${more ? "not before" : "at about"} ${emptyAt}.`,
    since: waiting.oldestDueAt,
    confidence: "high",
    because:
      "The attempts on record use the rate up. The time holds if nothing more is published meanwhile, and none fails.",
    nextSteps: [
      fixPolicy(
        endpoint.id,
        "If its receiver can take more: set a higher rate in its delivery policy. It holds for attempts that begin after that."
      )
    ]
  })
}

const neverSent = ({ count, neverSent: unsent }: Evidence["stopped"]): string =>
  unsent === 0
    ? ""
    : ` ${unsent === count ? "Never sent" : `${unsent} of them ${unsent === 1 ? "was" : "were"} never sent`}: the worker failed each time it prepared the request.`

/** For example "7 events", or "10000 deliveries or more". */
const counted = ({ count, more }: { count: number; more: boolean }, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}${more ? " or more" : ""}`

const earlier = (a: string | null, b: string | null) => (a === null || (b !== null && b < a) ? b : a)

/** One replay for all losses. */
const getBack = ({ endpoint, missedEvents, stopped }: Evidence): ReadonlyArray<NextStep> => {
  const since = earlier(stopped.since, missedEvents.since)
  const includeMissed = missedEvents.count > 0
  return [
    countLost(endpoint.id, since, includeMissed),
    replayAll(
      endpoint.id,
      `When the endpoint is enabled and works again: sends again what was lost since ${since}${stopped.more || missedEvents.more ? ", or earlier" : ""}, to it alone${stopped.count > 0 ? ", under new ids; the receiver may have had some already" : ""}.`,
      includeMissed
    )
  ]
}

export const lost = (evidence: Evidence): Finding | undefined => {
  const { missedEvents, stopped } = evidence
  if (stopped.count === 0) return undefined
  return finding({
    code: "stopped_deliveries",
    summary: `${counted(stopped, "delivery", "deliveries")} stopped without being delivered.${neverSent(stopped)}`,
    since: stopped.since,
    deliveryIds: stopped.newestId === null ? [] : [stopped.newestId],
    confidence: "high",
    because: `Left out: ${stopped.recovered === 0 ? "" : `${counted({ count: stopped.recovered, more: false }, "delivery", "deliveries")} that a later replay recovered, `}those that are under way again, and test sends.`,
    nextSteps:
      stopped.count > 1 || missedEvents.count > 0
        ? getBack(evidence)
        : [
            replay(
              "When the endpoint works again: sends it again under a new id; the receiver may have had it already. The delivery is the one named here."
            )
          ]
  })
}

export const missed = (evidence: Evidence): Finding | undefined => {
  const { missedEvents, stopped } = evidence
  if (missedEvents.count === 0) return undefined
  const alone = stopped.count === 0
  return finding({
    code: "missed_events",
    summary: `${counted(missedEvents, "event", "events")} matched while it was disabled, and no delivery was made for ${missedEvents.count === 1 && !missedEvents.more ? "it" : "them"}.`,
    since: missedEvents.since,
    confidence: "high",
    because: `Each was recorded when it was published.${alone ? "" : " The replay of what stopped sends these too."}`,
    nextSteps: alone ? getBack(evidence) : []
  })
}

/** It failed, and nothing was sent since a change that may have mended it. */
export const untried = (evidence: Evidence): Finding | undefined => {
  const repair = latestRepair(evidence)
  const failures = failuresInARow(evidence)
  if (repair === undefined || failures.length === 0 || current(evidence).length > 0) return undefined
  return finding({
    code: "nothing_sent",
    summary: `Nothing has been sent since ${whatChanged(repair)} at ${repair.at}.`,
    since: repair.at,
    changedBefore: repair,
    inARow: evidence.endpoint.consecutiveFailures,
    confidence: "high",
    because: historyOf(failures),
    nextSteps: evidence.endpoint.enabled ? [test(evidence.endpoint.id)] : []
  })
}

export const fine = (evidence: Evidence): Finding => {
  const [latest] = evidence.attempts
  if (latest !== undefined) {
    return finding({
      code: "healthy",
      summary: "Nothing is wrong: the latest attempt was delivered.",
      since: latest.at,
      confidence: "high",
      because: `${evidence.attempts.filter((attempt) => !hasFailed(attempt)).length} of the last ${evidence.attempts.length} attempts were delivered.`,
      nextSteps: []
    })
  }
  const { endpoint, published, waiting } = evidence
  const failures = endpoint.consecutiveFailures
  return finding({
    code: "nothing_sent",
    summary:
      failures > 0
        ? `The last attempts failed, ${failures} in a row; none of them is among those that were examined.`
        : waiting.count > 0
          ? "Deliveries wait for their first attempt; nothing has been sent yet."
          : published.length === 0
            ? "Nothing has been sent to this endpoint yet, as nothing was published in the last 30 days."
            : "Nothing has been sent to this endpoint yet: no event that matches was published since it was made.",
    since: endpoint.createdAt,
    confidence: failures > 0 ? "low" : "high",
    because: "There is no attempt on record; old ones are removed, usually after 30 days.",
    nextSteps: [
      ...(neverSeen(evidence) ? storeFirst : []),
      test(endpoint.id),
      compare(endpoint.id, "Compare its event types with what is published."),
      seeTypes("Look at what is published.")
    ]
  })
}
