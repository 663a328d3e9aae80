/** What a verdict adds to an observation when it is written down. Judged again, it takes the place of the former. */
import type { PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import { judge, type Observation, type Tried } from "@posthorn/domain/Verdict"
import type { VersionedPolicy } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"

export type Judged = Pick<
  Observed,
  "status" | "failureReason" | "waitMs" | "exhausted" | "disables" | "policyVersion"
>

export const judged = (
  policy: PolicyInForce,
  { version }: VersionedPolicy,
  tried: Tried,
  seen: Observation
): Judged => {
  const { disables, exhausted, failureReason, status, waitMs } = judge(policy, tried, seen)
  return { status, failureReason, waitMs: waitMs, exhausted, disables, policyVersion: version }
}
