/**
 * What is wrong with an endpoint, from recorded evidence alone: the same evidence always gives the same answer.
 *
 * Each finding says what, since when, how many in a row, which change came before, how sure it is and why, and the next
 * steps as operations. Findings come in the order in which one would act: the cause, the disabled endpoint, what was
 * lost. Asks no receiver and nobody's model; what cannot be told from the evidence is not said. Pure.
 * Source: spec §4.6 and §3.4.
 */
import type { Evidence } from "./DiagnosisEvidence.ts"
import type { Diagnosis, Finding, Health } from "./Finding.ts"
import { disabled, fine, late, lost, missed, slow, unreadable } from "./internal/Conditions.ts"
import { failureFinding } from "./internal/Failing.ts"
import { unmatched } from "./internal/Matching.ts"
import { test } from "./internal/Steps.ts"
import { streakOf } from "./internal/Streak.ts"

export type { Evidence } from "./DiagnosisEvidence.ts"
export { everyStep, type NextStep } from "./internal/Steps.ts"

const present = <A>(value: A | undefined): value is A => value !== undefined

/** What delivers some and fails some, also when the latest attempt failed. */
const UNSTABLE: ReadonlySet<string> = new Set(["flapping", "some_event_types", "some_deliveries"])

/** What is delivered says nothing of what an endpoint subscribes to in vain. */
const healthOf = (
  { attempts, endpoint }: Evidence,
  failure: Finding | undefined,
  subscriptions: Finding | undefined
): Health => {
  if (!endpoint.enabled) return "disabled"
  if (!endpoint.secretReadable) return "failing"
  if (failure !== undefined)
    return failure.inARow === 0 || UNSTABLE.has(failure.code) ? "unstable" : "failing"
  return attempts.length === 0 || subscriptions?.code === "nothing_matches" ? "unproven" : "healthy"
}

export const diagnose = (evidence: Evidence): Diagnosis => {
  const streak = streakOf(evidence)
  const failure = failureFinding(streak, evidence)
  const toTest = failure !== undefined && evidence.endpoint.enabled ? [test(evidence.endpoint.id)] : []
  const cause = failure && { ...failure, nextSteps: [...failure.nextSteps, ...toTest] }
  const subscriptions = unmatched(evidence)
  const found = [
    unreadable(evidence),
    cause,
    failure === undefined ? slow(evidence) : undefined,
    disabled(evidence, streak),
    subscriptions,
    late(evidence),
    lost(evidence),
    missed(evidence)
  ].filter(present)
  const wrong = found.some(({ code }) => code !== "stopped_deliveries" && code !== "missed_events")
  return {
    health: healthOf(evidence, failure, subscriptions),
    findings: wrong ? found : [fine(evidence), ...found]
  }
}
