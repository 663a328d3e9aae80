/**
 * What is wrong with an endpoint, from recorded evidence alone: the same evidence always gives the same answer.
 *
 * Each finding says what is wrong, since when, how often in a row, which change preceded it, how sure it is and why, and the
 * next steps as operations. Findings are in the order in which one would act: the cause, the disabled endpoint, the losses. No
 * receiver and no language model is asked, and nothing is said that the evidence does not show. Pure.
 * Source: spec §4.6 and §3.4.
 */
import type { Evidence } from "./DiagnosisEvidence.ts"
import type { Diagnosis, Finding, Health } from "./Finding.ts"
import {
  backlogged,
  disabled,
  expiring,
  fine,
  hurried,
  late,
  lost,
  missed,
  probing,
  slow,
  unreadable,
  untried
} from "./internal/Conditions.ts"
import { failureFinding } from "./internal/Failing.ts"
import { excluded, unmatched } from "./internal/Matching.ts"
import { test } from "./internal/Steps.ts"
import { hasFailed, type Streak, streakOf } from "./internal/Streak.ts"

export type { Evidence } from "./DiagnosisEvidence.ts"
export { everyStep, type NextStep } from "./internal/Steps.ts"

const present = <A>(value: A | undefined): value is A => value !== undefined

/** An endpoint that both delivers and fails, even if the latest attempt failed. */
const UNSTABLE: ReadonlySet<string> = new Set(["flapping", "some_event_types", "some_deliveries"])

/** Deliveries say nothing about subscriptions that match nothing, and a filter that lets nothing through. */
const healthOf = (
  { attempts, endpoint }: Evidence,
  streak: Streak | undefined,
  failure: Finding | undefined,
  subscriptions: Finding | undefined
): Health => {
  if (!endpoint.enabled) return "disabled"
  if (!endpoint.secretReadable) return "failing"
  if (failure !== undefined)
    return streak === undefined || UNSTABLE.has(failure.code) ? "unstable" : "failing"
  if (attempts.length === 0 && endpoint.consecutiveFailures > 0) return "failing"
  const isProven = attempts[0] !== undefined && !hasFailed(attempts[0])
  const isIdle = subscriptions !== undefined && subscriptions.code !== "misspelt_subscription"
  return !isProven || isIdle ? "unproven" : "healthy"
}

export const diagnose = (evidence: Evidence): Diagnosis => {
  const streak = streakOf(evidence)
  const failure = failureFinding(streak, evidence)
  const toTest = failure !== undefined && evidence.endpoint.enabled ? [test(evidence.endpoint.id)] : []
  const meanwhile = probing(evidence)
  const cause = failure && {
    ...failure,
    because: meanwhile === undefined ? failure.because : `${failure.because} ${meanwhile}`,
    nextSteps: [...failure.nextSteps, ...toTest]
  }
  const subscriptions = unmatched(evidence)
  const filter = excluded(evidence)
  const found = [
    unreadable(evidence),
    cause ?? untried(evidence),
    failure === undefined ? slow(evidence) : hurried(evidence),
    disabled(evidence),
    expiring(evidence),
    subscriptions,
    filter,
    // Waiting for the rate is expected.
    backlogged(evidence) ?? late(evidence),
    lost(evidence),
    missed(evidence)
  ].filter(present)
  const wrong = found.some(({ code }) => code !== "stopped_deliveries" && code !== "missed_events")
  return {
    health: healthOf(evidence, streak, failure, filter ?? subscriptions),
    findings: wrong ? found : [fine(evidence), ...found]
  }
}
