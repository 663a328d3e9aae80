/** The finding about failures that last: a streak up to now, or taking turns with deliveries. */

import type { Evidence, SeenAttempt, SeenChange } from "../DiagnosisEvidence.ts"
import type { Confidence, Finding } from "../Finding.ts"
import { causes, changedUrl, rotated } from "./Causes.ts"
import { listAttempts } from "./Steps.ts"
import { changesBefore, dominant, hasFailed, type Kind, type Streak, switchesIn } from "./Streak.ts"

const DAY_MS = 86_400_000
const WINDOW = 30
const FEWEST_IN_WINDOW = 8
const SWITCHES = 4
/** From this many in a row on it is a failure, whatever went before. */
const SETTLED = 5
const SHOWN_DELIVERIES = 3

/** A rotation whose old secret stopped signing between the last success and the first failure. */
const graceEnded = (streak: Streak, { changes }: Evidence): SeenChange | undefined => {
  const { before } = streak
  if (before === undefined) return undefined
  return changes.find((change) => {
    const end = new Date(Date.parse(change.at) + DAY_MS).toISOString()
    return rotated(change) && end > before.at && end <= streak.first.at
  })
}

const SECRET_MATTERS: ReadonlySet<Kind> = new Set(["rejected", "refused"])

/** The change that may explain this kind of failure. */
const explaining = (kind: Kind, streak: Streak, evidence: Evidence): SeenChange | undefined => {
  const changes = changesBefore(streak, evidence)
  const rotation = SECRET_MATTERS.has(kind)
    ? (changes.find(rotated) ?? graceEnded(streak, evidence))
    : undefined
  const other = changes.find(
    ({ action, fields }) => fields.includes("enabled") && action === "webhook.endpoint_updated"
  )
  return changes.find(changedUrl) ?? rotation ?? other
}

const deliveriesOf = (attempts: ReadonlyArray<SeenAttempt>) =>
  [...new Set(attempts.map(({ deliveryId }) => deliveryId))].slice(0, SHOWN_DELIVERIES)

const look = (example: SeenAttempt) =>
  listAttempts({ deliveryId: example.deliveryId }, "Shows what was sent and what came back.")

/** How sure a streak lets one be, and why. */
const certainty = (
  streak: Streak,
  share: number,
  because: string | undefined
): readonly [Confidence, string] => {
  const count = streak.failures.length
  if (count === 1) return ["low", "Only one attempt has failed so far."]
  const same = `${Math.round(share * count)} of ${count} failures in a row are of this kind.`
  if (share < 0.8) return ["low", `${same} The others differ.`]
  if (because !== undefined) return [count >= 3 ? "high" : "medium", `${same} ${because}`]
  return [count >= 10 ? "high" : "medium", `${same} Nothing was recorded here that would explain it.`]
}

const failing = (streak: Streak, evidence: Evidence): Finding => {
  const { example, kind, share } = dominant(streak.failures)
  const change = explaining(kind, streak, evidence)
  const cause = causes[kind]({ evidence, kind, example, change, successes: streak.successes })
  const [confidence, because] = certainty(streak, share, cause.because)
  const never = streak.before === undefined && !streak.openEnded
  return {
    code: kind,
    summary: never ? `${cause.summary} Nothing has been delivered to this endpoint yet.` : cause.summary,
    since: streak.first.at,
    reason: example.failureReason,
    httpStatus: example.httpStatus,
    inARow: streak.failures.length,
    changedBefore: change ?? null,
    confidence,
    because: streak.openEnded
      ? `${because} Older attempts were not looked at: it may have begun earlier.`
      : because,
    deliveryIds: deliveriesOf(streak.failures),
    nextSteps: [look(example), ...cause.steps]
  }
}

/** Deliveries and failures in turn: a receiver that is sometimes away, or takes only so many at a time. */
const flapping = (
  window: ReadonlyArray<SeenAttempt>,
  streak: Streak | undefined,
  evidence: Evidence
): Finding => {
  const failures = window.filter(hasFailed)
  const { example, kind, share } = dominant(failures)
  const successes = window.filter((attempt) => !hasFailed(attempt))
  const cause = causes[kind]({ evidence, kind, example, change: undefined, successes })
  const limited = kind === "rate_limited" && share >= 0.8
  const turns = switchesIn(window)
  return {
    code: limited ? "rate_limited" : "flapping",
    summary: limited ? cause.summary : `Deliveries and failures take turns. ${cause.summary}`,
    since: failures[failures.length - 1]!.at,
    reason: example.failureReason,
    httpStatus: example.httpStatus,
    inARow: streak?.failures.length ?? 0,
    changedBefore: null,
    confidence: share >= 0.8 && turns > SWITCHES ? "high" : "medium",
    because: `${failures.length} of the last ${window.length} attempts failed, ${Math.round(share * failures.length)} of them in this way; they took turns with deliveries ${turns} times.`,
    deliveryIds: deliveriesOf(failures),
    nextSteps: [look(example), ...cause.steps]
  }
}

export const failureFinding = (streak: Streak | undefined, evidence: Evidence): Finding | undefined => {
  const window = evidence.attempts.slice(0, WINDOW)
  const turning = window.length >= FEWEST_IN_WINDOW && switchesIn(window) >= SWITCHES
  if (turning && (streak?.failures.length ?? 0) < SETTLED) return flapping(window, streak, evidence)
  return streak === undefined ? undefined : failing(streak, evidence)
}
