/** Findings that are conditions rather than causes: disabled, slow, late, what was lost, or nothing at all. */
import type { Evidence } from "../DiagnosisEvidence.ts"
import type { Finding } from "../Finding.ts"
import { FAILURE_LIMIT } from "../Verdict.ts"
import { listDeliveries, publish, readEndpoint, replay, sendTest, update } from "./Steps.ts"
import { hasFailed, median, type Streak } from "./Streak.ts"

const SLOW_MS = 5_000
const FEWEST_SLOW = 5
/** A delivery that is due for longer than this has nobody who takes it up. */
const LATE_MS = 60_000

type Told = Pick<Finding, "code" | "summary" | "because" | "confidence" | "nextSteps"> & Partial<Finding>

const finding = (told: Told): Finding => ({
  since: null,
  reason: null,
  httpStatus: null,
  inARow: 0,
  changedBefore: null,
  deliveryIds: [],
  ...told
})

export const testing = ({ endpoint }: Evidence) =>
  sendTest({ endpointId: endpoint.id }, "Shows at once whether it works; watch the delivery it gives.")

export const disabled = (evidence: Evidence, streak: Streak | undefined): Finding | undefined => {
  const { consecutiveFailures, disabledAt, disabledReason, enabled, id } = evidence.endpoint
  if (enabled) return undefined
  const enable = [
    update(
      { endpointId: id, enabled: true },
      "Once the cause is gone: starts the streak anew and lets waiting deliveries go on."
    ),
    testing(evidence)
  ]
  const byHand = disabledReason === "manual"
  return finding({
    code: byHand ? "disabled_by_hand" : "disabled_by_failures",
    summary: byHand
      ? "Somebody disabled the endpoint: it is sent nothing."
      : `The endpoint was disabled after ${FAILURE_LIMIT} failures in a row: it is sent nothing.`,
    since: disabledAt,
    inARow: Math.max(consecutiveFailures, streak?.failures.length ?? 0),
    // It is disabled now, so the latest change of this field is the one that disabled it.
    changedBefore: evidence.changes.find(({ fields }) => fields.includes("enabled")) ?? null,
    confidence: "high",
    because: "The endpoint's own record says so.",
    nextSteps: enable
  })
}

export const slow = ({ attempts, endpoint }: Evidence): Finding | undefined => {
  const delivered = attempts.filter((attempt) => !hasFailed(attempt)).slice(0, 10)
  const middle = median(delivered.map(({ durationMs }) => durationMs))
  if (delivered.length < FEWEST_SLOW || middle < SLOW_MS) return undefined
  return finding({
    code: "slow",
    summary: "The receiver is slow: its answers come close to the deadline of 10 seconds.",
    since: delivered[delivered.length - 1]!.at,
    confidence: "high",
    because: `Half of the last ${delivered.length} delivered attempts took ${middle} ms or more.`,
    deliveryIds: delivered.slice(0, 3).map(({ deliveryId }) => deliveryId),
    nextSteps: [
      readEndpoint(
        { endpointId: endpoint.id },
        "On the receiver's side: answer 2xx at once and do the work afterwards."
      )
    ]
  })
}

export const late = ({ attempts, endpoint, now, waiting }: Evidence): Finding | undefined => {
  const before = new Date(Date.parse(now) - LATE_MS).toISOString()
  if (!endpoint.enabled || waiting.oldestDueAt === null || waiting.oldestDueAt > before) return undefined
  const idle = attempts.every(({ at }) => at < before)
  return finding({
    code: "not_taken_up",
    summary: idle
      ? "Deliveries are due, and nobody sends them: no worker seems to run."
      : "Deliveries are due for more than a minute: the worker does not keep up.",
    since: waiting.oldestDueAt,
    confidence: idle ? "high" : "medium",
    because: `${waiting.count} deliveries wait; the oldest was due at ${waiting.oldestDueAt}.`,
    nextSteps: [
      readEndpoint({ endpointId: endpoint.id }, "Ask the operator to look at the workers (posthorn work).")
    ]
  })
}

const neverSent = ({ count, neverSent: unsent }: Evidence["stopped"]): string =>
  unsent === 0
    ? ""
    : ` ${unsent === count ? "Never sent" : `${unsent} of them ${unsent === 1 ? "was" : "were"} never sent`}: the worker failed each time it prepared the request.`

export const lost = ({ endpoint, stopped }: Evidence): Finding | undefined =>
  stopped.count === 0
    ? undefined
    : finding({
        code: "stopped_deliveries",
        summary: `${stopped.count} ${stopped.count === 1 ? "delivery" : "deliveries"} stopped without being delivered.${neverSent(stopped)}`,
        since: stopped.since,
        deliveryIds: stopped.newestId === null ? [] : [stopped.newestId],
        confidence: "high",
        because: "Counted among the newest deliveries; those that were replayed are left out.",
        nextSteps: [
          replay(
            { deliveryId: stopped.newestId },
            "When the endpoint works again: sends it again under a new id. Each of the others likewise."
          ),
          listDeliveries(
            { endpointId: endpoint.id, payload: "omit" },
            "Shows the others: those that are failed_permanent or dead_lettered."
          )
        ]
      })

export const missed = ({ missedEvents }: Evidence): Finding | undefined =>
  missedEvents.count === 0
    ? undefined
    : finding({
        code: "missed_events",
        summary: `${missedEvents.count} ${missedEvents.count === 1 ? "event" : "events"} matched while it was disabled, and no delivery was made for them.`,
        since: missedEvents.since,
        confidence: "high",
        because: "Each was recorded when it was published.",
        nextSteps: [
          publish(
            {},
            "If the receiver needs them, publish them again when the endpoint works; every other endpoint that matches then gets them a second time.",
            "eventType",
            "payload"
          )
        ]
      })

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
  return finding({
    code: "nothing_sent",
    summary:
      evidence.waiting.count > 0
        ? "Deliveries wait for their first attempt; nothing has been sent yet."
        : "Nothing has been sent to this endpoint yet: no published event matched its subscriptions, or nothing was published.",
    since: evidence.endpoint.createdAt,
    confidence: "high",
    because: "There is no attempt on record; attempts are kept for 30 days.",
    nextSteps: [
      testing(evidence),
      readEndpoint({ endpointId: evidence.endpoint.id }, "Compare its eventTypes with what is published.")
    ]
  })
}
