/** The finding about the latest run of failures that are alike. What failed before it in other ways is history. */

import { isUncounted } from "../../Verdict.ts"
import type { Evidence, SeenChange } from "../DiagnosisEvidence.ts"
import type { Confidence, Finding } from "../Finding.ts"
import { causes, changedUrl } from "./Causes.ts"
import { historyOf, whatChanged } from "./History.ts"
import { graceEnd, rotated } from "./SecretCauses.ts"
import { look } from "./Steps.ts"
import {
  beginningOf,
  changesBefore,
  deliveriesOf,
  type Kind,
  kindOf,
  latestRepair,
  type Streak
} from "./Streak.ts"
import { unsteady } from "./Unsteady.ts"

/** A rotation whose old secret stopped signing between the last success and the first failure. */
const graceEnded = (streak: Streak, { changes }: Evidence): SeenChange | undefined => {
  const [before] = streak.successes
  if (before === undefined) return undefined
  return changes.find((change) => {
    const end = graceEnd(change)
    return rotated(change) && end > before.at && end <= beginningOf(streak).at
  })
}

const SECRET_MATTERS: ReadonlySet<Kind> = new Set(["rejected", "refused"])

/** The change that may explain this kind of failure. */
const explaining = (kind: Kind, streak: Streak, evidence: Evidence): SeenChange | undefined => {
  const changes = changesBefore(streak, evidence)
  // An endpoint that never worked was not broken by a rotation.
  const rotation =
    SECRET_MATTERS.has(kind) && streak.successes.length > 0
      ? (changes.find(rotated) ?? graceEnded(streak, evidence))
      : undefined
  const other = changes.find(
    ({ action, fields }) => fields.includes("enabled") && action === "webhook.endpoint_updated"
  )
  return changes.find(changedUrl) ?? rotation ?? other
}

/** The confidence that a run allows, and why. */
const certainty = ({ run }: Streak, because: string | undefined): readonly [Confidence, string] => {
  const count = run.length
  if (count === 1) return ["low", "Only one attempt has failed in this way so far."]
  if (new Set(run.map(({ deliveryId }) => deliveryId)).size === 1) {
    const one = `All ${count} failures are attempts of one delivery; nothing else was sent since.`
    return ["medium", because === undefined ? one : `${one} ${because}`]
  }
  const alike = run.filter((failure) => kindOf(failure) === kindOf(run[0]!)).length
  const same = `${alike === count ? "The" : `${alike} of the`} last ${count} attempts failed in this way.`
  if (because !== undefined) return [count >= 3 ? "high" : "medium", `${same} ${because}`]
  return [count >= 10 ? "high" : "medium", `${same} Nothing was recorded here that would explain it.`]
}

/** The change that ended the history, if there was one. */
const judgedSince = ({ earlier, first }: Streak, evidence: Evidence): ReadonlyArray<string> => {
  const repair = latestRepair(evidence)
  if (repair === undefined || repair.at <= earlier[0]!.at || repair.at > first.at) return []
  return [`Judged since ${whatChanged(repair)} at ${repair.at}.`]
}

const failing = (streak: Streak, evidence: Evidence): Finding => {
  const { earlier, first, openEnded, run, successes } = streak
  const example = run[0]!
  const kind = kindOf(example)
  const change = explaining(kind, streak, evidence)
  const never = successes.length === 0 && !openEnded
  const since = beginningOf(streak).at
  const cause = causes[kind]({ evidence, kind, example, change, successes, since, never })
  const [confidence, because] = certainty(streak, cause.because)
  return {
    code: kind,
    summary: never ? `${cause.summary} Nothing has been delivered to this endpoint yet.` : cause.summary,
    since: first.at,
    reason: example.failureReason,
    failureDetail: example.failureDetail,
    httpStatus: example.httpStatus,
    inARow: isUncounted(example.failureReason) ? run.length : evidence.endpoint.consecutiveFailures,
    changedBefore: change ?? null,
    confidence,
    because: [
      because,
      ...(earlier.length === 0 ? [] : [...judgedSince(streak, evidence), historyOf(earlier)]),
      ...(openEnded ? ["Older attempts were not looked at: it may have begun earlier."] : [])
    ].join(" "),
    deliveryIds: deliveriesOf(run),
    nextSteps: [look(example.deliveryId), ...cause.steps]
  }
}

export const failureFinding = (streak: Streak | undefined, evidence: Evidence): Finding | undefined =>
  unsteady(streak, evidence) ?? (streak === undefined ? undefined : failing(streak, evidence))
