/**
 * The finding about an endpoint that both delivers and fails: for some event types, for some deliveries, or now and then.
 * Comparing failed and delivered attempts distinguishes these.
 */
import type { Evidence, SeenAttempt } from "../DiagnosisEvidence.ts"
import type { Finding } from "../Finding.ts"
import { causes } from "./Causes.ts"
import { fixEventTypes, look, type NextStep } from "./Steps.ts"
import { current, deliveriesOf, dominant, hasFailed, type Streak, switchesIn } from "./Streak.ts"

const WINDOW = 30
const FEWEST_IN_WINDOW = 8
const SWITCHES = 4
/** From this many failures in a row on, it counts as failing, whatever came before. */
const SETTLED = 5
/** So many failures and so many successes are needed before they are compared. */
const FEWEST_APART = 3
const FEW_DELIVERIES = 2

interface Split {
  readonly window: ReadonlyArray<SeenAttempt>
  readonly failures: ReadonlyArray<SeenAttempt>
  readonly successes: ReadonlyArray<SeenAttempt>
  readonly turns: number
}

const splitOf = (evidence: Evidence): Split => {
  const window = current(evidence).slice(0, WINDOW)
  return {
    window,
    failures: window.filter(hasFailed),
    successes: window.filter((attempt) => !hasFailed(attempt)),
    turns: switchesIn(window)
  }
}

/** The number of separate rows of failures. A single one that has ended is no unsteadiness. */
const outagesIn = (window: ReadonlyArray<SeenAttempt>) =>
  window.filter((attempt, index) => hasFailed(attempt) && !(index > 0 && hasFailed(window[index - 1]!)))
    .length

/** Whether more was delivered since the last failure than twice the longest row of deliveries between failures. */
const isOver = (window: ReadonlyArray<SeenAttempt>): boolean => {
  const [latest = 0, ...before] = window
    .map((attempt) => (hasFailed(attempt) ? " " : "."))
    .join("")
    .split(" ")
    .map(({ length }) => length)
  return latest > 2 * Math.max(FEWEST_APART, ...before.slice(0, -1))
}

type Told = Pick<Finding, "code" | "summary" | "confidence" | "because" | "nextSteps">

const findingOf = ({ failures }: Split, { endpoint }: Evidence, told: Told): Finding => {
  const { example } = dominant(failures)
  return {
    since: failures[failures.length - 1]!.at,
    reason: example.failureReason,
    failureDetail: example.failureDetail,
    httpStatus: example.httpStatus,
    inARow: endpoint.consecutiveFailures,
    changedBefore: null,
    deliveryIds: deliveriesOf(failures),
    ...told,
    nextSteps: [look(example.deliveryId), ...told.nextSteps]
  }
}

const causeOf = ({ failures, successes }: Split, evidence: Evidence) => {
  const { example, kind, share } = dominant(failures)
  const since = failures[failures.length - 1]!.at
  const facts = { evidence, kind, example, change: undefined, successes, since, never: false }
  return { kind, share, cause: causes[kind](facts) }
}

const counted = ({ failures, turns, window }: Split) =>
  `${failures.length} of the last ${window.length} attempts failed; they took turns with deliveries ${turns} times.`

const valuesOf = <A>(attempts: ReadonlyArray<SeenAttempt>, value: (attempt: SeenAttempt) => A) =>
  new Set(attempts.map(value))

/** Only events of some types fail, and none of these types is ever delivered. */
const someEventTypes = (split: Split, { endpoint }: Evidence): Told | undefined => {
  const failing = valuesOf(split.failures, ({ eventType }) => eventType)
  if (split.successes.some(({ eventType }) => failing.has(eventType))) return undefined
  const types = [...failing].sort().join(", ")
  const remedy: NextStep = fixEventTypes(
    endpoint.id,
    "Have the receiver handle these events, or subscribe to the others only."
  )
  return {
    code: "some_event_types",
    summary: `Only events of these types fail: ${types}. Others are delivered.`,
    confidence: split.failures.length >= SETTLED ? "high" : "medium",
    because: `${counted(split)} None of these types was delivered among them.`,
    nextSteps: [remedy]
  }
}

/** The same few deliveries fail again and again, while others go through. */
const someDeliveries = (split: Split): Told | undefined => {
  const failing = valuesOf(split.failures, ({ deliveryId }) => deliveryId)
  if (failing.size > FEW_DELIVERIES) return undefined
  if (split.successes.some(({ deliveryId }) => failing.has(deliveryId))) return undefined
  return {
    code: "some_deliveries",
    summary: `${failing.size === 1 ? "One delivery keeps" : "A few deliveries keep"} failing while others go through: it is about what is in them.`,
    confidence: "medium",
    because: counted(split),
    nextSteps: []
  }
}

const flapping = (split: Split, evidence: Evidence): Told => {
  const { cause, kind, share } = causeOf(split, evidence)
  const limited = kind === "rate_limited" && share >= 0.8
  return {
    code: limited ? "rate_limited" : "flapping",
    summary: limited ? cause.summary : `Deliveries and failures take turns. ${cause.summary}`,
    confidence: share >= 0.8 && split.turns > SWITCHES ? "high" : "medium",
    because: `${counted(split)} ${Math.round(share * split.failures.length)} of them failed in this way.`,
    nextSteps: cause.steps
  }
}

/** Undefined if all failures are in one row, or too few to judge. */
export const unsteady = (streak: Streak | undefined, evidence: Evidence): Finding | undefined => {
  const split = splitOf(evidence)
  const { failures, successes, turns, window } = split
  const inARow = streak === undefined ? 0 : streak.run.length + streak.earlier.length
  if (inARow >= SETTLED || outagesIn(window) < 2) return undefined
  const enough = failures.length >= FEWEST_APART && successes.length >= FEWEST_APART
  const apart = enough ? (someEventTypes(split, evidence) ?? someDeliveries(split)) : undefined
  const takingTurns = window.length >= FEWEST_IN_WINDOW && turns >= SWITCHES && !isOver(window)
  const told = apart ?? (takingTurns ? flapping(split, evidence) : undefined)
  return told && findingOf(split, evidence, told)
}
