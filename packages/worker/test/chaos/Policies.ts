/** Delivery policies of a run in REST's form, with waits and timeouts that end within the run. */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { policyOf as simulated } from "../simulation/Policies.ts"
import type { Chance } from "../simulation/VirtualTime.ts"

/** The minimum of `failing_for`: no run lasts so long, so it disables no endpoint. */
const FAILING_FOR_SECONDS = 3_600
const TIMEOUTS_SECONDS = [1, 2, 3] as const

/** After this, every worker has given up a request, whatever the policy. */
export const LONGEST_TIMEOUT_MS = Math.max(...TIMEOUTS_SECONDS) * 1_000

/** Fast enough for what is published to be sent in the end, and slow enough for bursts to wait. One is no slow rate to a lane. */
const RATES = [
  { requests: 5, perSeconds: 1 },
  { requests: 10, perSeconds: 2 },
  { requests: 40, perSeconds: 8 },
  { requests: 60, perSeconds: 1 }
] as const

/** Somebody always has it. */
export const RATED: DeliveryPolicy = { rateLimit: RATES[1] }

const policyOf = (chance: Chance): DeliveryPolicy => {
  const policy = simulated(chance)
  return {
    ...policy,
    ...(policy.rateLimit !== undefined && { rateLimit: chance.oneOf(RATES) }),
    ...(policy.disableAfter?.kind === "failing_for" && {
      disableAfter: { kind: "failing_for", seconds: FAILING_FOR_SECONDS }
    }),
    ...(chance.happens(0.5) && { timeoutSeconds: chance.oneOf(TIMEOUTS_SECONDS) })
  }
}

/** An endpoint may have none. */
export const policyOrNone = (chance: Chance): DeliveryPolicy | null =>
  chance.happens(0.5) ? policyOf(chance) : null

/** The workspace's policy: it stops no endpoint early, so that every law has cases. */
export const workspacePolicyOf = (chance: Chance): DeliveryPolicy => ({
  ...(chance.happens(0.5) && { jitter: 0.2 }),
  ...(chance.happens(0.5) && { honorRetryAfter: true }),
  ...(chance.happens(0.5) && { timeoutSeconds: chance.oneOf(TIMEOUTS_SECONDS) })
})
