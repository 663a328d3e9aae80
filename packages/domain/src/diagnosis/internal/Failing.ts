/** The finding about an unbroken row of failures up to now. */

import type { Evidence, SeenChange } from "../DiagnosisEvidence.ts"
import type { Confidence, Finding } from "../Finding.ts"
import { causes, changedUrl } from "./Causes.ts"
import { graceEnd, rotated } from "./SecretCauses.ts"
import { look } from "./Steps.ts"
import { changesBefore, deliveriesOf, dominant, type Kind, type Streak } from "./Streak.ts"
import { unsteady } from "./Unsteady.ts"

/** A rotation whose old secret stopped signing between the last success and the first failure. */
const graceEnded = (streak: Streak, { changes }: Evidence): SeenChange | undefined => {
  const { before } = streak
  if (before === undefined) return undefined
  return changes.find((change) => {
    const end = graceEnd(change)
    return rotated(change) && end > before.at && end <= streak.first.at
  })
}

const SECRET_MATTERS: ReadonlySet<Kind> = new Set(["rejected", "refused"])

/** The change that may explain this kind of failure. */
const explaining = (kind: Kind, streak: Streak, evidence: Evidence): SeenChange | undefined => {
  const changes = changesBefore(streak, evidence)
  // An endpoint that never worked was not broken by a rotation.
  const rotation =
    SECRET_MATTERS.has(kind) && streak.before !== undefined
      ? (changes.find(rotated) ?? graceEnded(streak, evidence))
      : undefined
  const other = changes.find(
    ({ action, fields }) => fields.includes("enabled") && action === "webhook.endpoint_updated"
  )
  return changes.find(changedUrl) ?? rotation ?? other
}

/** The confidence that a streak allows, and why. */
const certainty = (
  streak: Streak,
  share: number,
  because: string | undefined
): readonly [Confidence, string] => {
  const count = streak.failures.length
  if (count === 1) return ["low", "Only one attempt has failed so far."]
  if (new Set(streak.failures.map(({ deliveryId }) => deliveryId)).size === 1) {
    const one = `All ${count} failures are attempts of one delivery; nothing else was sent since.`
    return ["medium", because === undefined ? one : `${one} ${because}`]
  }
  const same = `${Math.round(share * count)} of ${count} failures in a row are of this kind.`
  if (share < 0.8) return ["low", `${same} The others differ.`]
  if (because !== undefined) return [count >= 3 ? "high" : "medium", `${same} ${because}`]
  return [count >= 10 ? "high" : "medium", `${same} Nothing was recorded here that would explain it.`]
}

const failing = (streak: Streak, evidence: Evidence): Finding => {
  const { example, kind, share } = dominant(streak.failures)
  const change = explaining(kind, streak, evidence)
  const never = streak.before === undefined && !streak.openEnded
  const since = streak.first.at
  const cause = causes[kind]({ evidence, kind, example, change, successes: streak.successes, since, never })
  const [confidence, because] = certainty(streak, share, cause.because)
  return {
    code: kind,
    summary: never ? `${cause.summary} Nothing has been delivered to this endpoint yet.` : cause.summary,
    since,
    reason: example.failureReason,
    httpStatus: example.httpStatus,
    inARow: streak.failures.length,
    changedBefore: change ?? null,
    confidence,
    because: streak.openEnded
      ? `${because} Older attempts were not looked at: it may have begun earlier.`
      : because,
    deliveryIds: deliveriesOf(streak.failures),
    nextSteps: [look(example.deliveryId), ...cause.steps]
  }
}

export const failureFinding = (streak: Streak | undefined, evidence: Evidence): Finding | undefined =>
  unsteady(streak, evidence) ?? (streak === undefined ? undefined : failing(streak, evidence))
