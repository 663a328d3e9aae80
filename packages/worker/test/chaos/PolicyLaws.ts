/** Laws about the delivery policies of a run's endpoints, beside other laws that read policies themselves. */
import type { PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import type { Judged } from "../simulation/Judged.ts"
import type { History } from "./ChangeHistory.ts"
import { type Judgement, judgeEach } from "./Judgement.ts"

/** Timers may be this late on a busy machine. */
const LATE_MS = 400
/** Timers count whole milliseconds. */
const ROUNDING_MS = 2

/** The policies that a request begun at this moment may have read. */
const policiesAround = (
  { none, policies }: History,
  endpointId: string,
  from: number,
  to: number
): ReadonlyArray<PolicyInForce> => {
  const held = policies.get(endpointId) ?? []
  const before = held.findLast((one) => one.from <= from)?.policy ?? none
  return [before, ...held.filter((one) => one.from > from && one.from <= to).map(({ policy }) => policy)]
}

/** P1: a request is given up when its policy says, and not before. */
export const timeoutsAreThePolicies = (
  history: History,
  { lagMs = () => 0, model, reachMs }: Judged
): Judgement => {
  const timedOut = model.facts.flatMap((fact) =>
    fact.kind === "recorded" && fact.observed.failureReason === "request_timeout" ? [fact.observed] : []
  )
  return judgeEach("", timedOut, ({ at, deliveryId, durationMs, endpointId, ordinal }) => {
    const late = LATE_MS + lagMs(at + durationMs)
    const allowed = policiesAround(history, endpointId, at - reachMs(at), at).map(
      ({ timeoutSeconds }) => timeoutSeconds * 1_000
    )
    const fits = allowed.some((ms) => durationMs >= ms - ROUNDING_MS && durationMs <= ms + late)
    return !fits && `${deliveryId} attempt ${ordinal} was given up after ${durationMs} ms of ${allowed}`
  })
}
