/** The delivery policy in force, resolved once for each endpoint object. */
import { inForce, type PolicyDefaults, type PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import type { VersionedPolicy } from "@posthorn/persistence/engine/Queue"

export type Resolve = (policy: VersionedPolicy) => PolicyInForce

export const makeResolve = (defaults: PolicyDefaults): Resolve => {
  const resolved = new WeakMap<VersionedPolicy, PolicyInForce>()
  const standard = inForce(null, null, defaults)
  return (policy) => {
    if (policy.own === null && policy.workspace === null) return standard
    const known = resolved.get(policy)
    if (known !== undefined) return known
    const found = inForce(policy.own, policy.workspace, defaults)
    resolved.set(policy, found)
    return found
  }
}
