/** Completes what is recorded about an endpoint to the evidence of a diagnosis: what its policy and its URL come to now. Pure. */

import { Either } from "effect"
import type { AllowedTargets } from "../AllowedTargets.ts"
import { type DeliveryPolicy, type PolicyDefaults, resolve } from "../DeliveryPolicy.ts"
import { describeReason, validateWebhookUrl } from "../WebhookUrl.ts"
import type { Evidence } from "./DiagnosisEvidence.ts"

/** The evidence in the database. */
export type Recorded = Omit<Evidence, "endpoint" | "filtered" | "requestTimeoutMs" | "retryDelayMs"> & {
  readonly endpoint: Omit<
    Evidence["endpoint"],
    "certificateExpiresAt" | "honorsRetryAfter" | "secretReadable" | "urlRefusal"
  > & {
    readonly policy: DeliveryPolicy | null
    readonly workspacePolicy: DeliveryPolicy | null
    readonly url: string
  }
}

/** What its caller has found out. */
type Seen = Pick<Evidence["endpoint"], "certificateExpiresAt" | "secretReadable"> & Pick<Evidence, "filtered">

export const evidenceOf = (
  recorded: Recorded,
  installation: PolicyDefaults & { readonly allowedTargets: AllowedTargets },
  { filtered, ...seen }: Seen
): Evidence => {
  const { policy, url, workspacePolicy, ...endpoint } = recorded.endpoint
  const inForce = resolve(policy, workspacePolicy, installation)
  return {
    ...recorded,
    filtered,
    requestTimeoutMs: inForce.timeoutSeconds * 1_000,
    retryDelayMs: installation.retryDelayMs,
    endpoint: {
      ...endpoint,
      ...seen,
      honorsRetryAfter: inForce.honorRetryAfter,
      urlRefusal: Either.match(validateWebhookUrl(url, installation.allowedTargets), {
        onLeft: describeReason,
        onRight: () => null
      })
    }
  }
}
