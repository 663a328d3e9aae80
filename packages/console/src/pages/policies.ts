/** Delivery policies in force, and what they say in words. Lists of endpoints have the endpoint's own only. */
import { type DeliveryPolicy, type EffectivePolicy, resolve, waitsOf } from "@posthorn/domain/DeliveryPolicy"
import { LONGEST_PAUSE_UNITS, PROBES_AFTER, pauseUnits } from "@posthorn/domain/Probing"
import { useOperation } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { duration, span } from "../ui/Time.tsx"

/** An endpoint, as far as it says when a delivery that is due is tried. */
export interface Trying {
  readonly enabled: boolean
  readonly consecutiveFailures: number
  readonly effectivePolicy: EffectivePolicy
}

/** Resolves an endpoint's own policy. */
export const usePolicies = () => {
  const { may, welcome } = useSession()
  const { data } = useOperation("getWorkspaceSettings", {}, { enabled: may("getWorkspaceSettings") })
  return (own: DeliveryPolicy | null) => resolve(own, data?.policy ?? null, welcome.policyDefaults)
}

/** How often a delivery is tried at most. */
export const useMostAttempts = () => {
  const { policyDefaults } = useSession().welcome
  return ({ retries }: EffectivePolicy) => waitsOf(retries, policyDefaults).length + 1
}

/** For example `at 20 in a row it is disabled`. */
export const disabling = ({ disableAfter }: EffectivePolicy): string => {
  switch (disableAfter.kind) {
    case "failures":
      return `at ${disableAfter.count} in a row it is disabled`
    case "failing_for":
      return `after failing for ${span(disableAfter.seconds)} it is disabled`
    case "never":
      return "failures do not disable it"
  }
}

/** For example `at most 100 attempts in 1 min`. */
export const rateWords = (rate: EffectivePolicy["rateLimit"]): string =>
  rate === null
    ? "no limit"
    : `at most ${rate.requests} ${rate.requests === 1 ? "attempt" : "attempts"} in ${span(rate.perSeconds)}`

/** Its lane makes one attempt at a time, with pauses. */
export const isProbed = ({ consecutiveFailures, enabled }: Omit<Trying, "effectivePolicy">) =>
  enabled && consecutiveFailures >= PROBES_AFTER

/** For example `one attempt at a time, each after a pause of 30 s`. */
export const useProbing = () => {
  const { retryDelayMs } = useSession().welcome.policyDefaults
  return (failures: number) => {
    const units = pauseUnits(failures)
    const pauseMs = Math.round(units * retryDelayMs)
    const pause = pauseMs < 60_000 ? duration(pauseMs) : span(Math.round(pauseMs / 1000))
    return `one attempt at a time, ${units < LONGEST_PAUSE_UNITS ? `the next after a pause of ${pause}` : `with a pause of ${pause} before each`}`
  }
}

interface Waiting {
  readonly test: boolean
  readonly attempts: number
}

/** What a delivery waits for beside its time; undefined when that alone. `brief` is for a cell, `whole` for a sentence. */
export const useWaitsFor = () => {
  const probing = useProbing()
  return (endpoint: Trying | undefined, delivery: Waiting, isDue: boolean) => {
    if (endpoint === undefined) return undefined
    if (!endpoint.enabled)
      return { brief: "when enabled", whole: "once its endpoint is enabled", why: "Its endpoint is disabled" }
    const { rateLimit } = endpoint.effectivePolicy
    // A test send is a probe itself.
    const isAtOnce = delivery.test && delivery.attempts === 0
    if (isAtOnce || !isProbed(endpoint)) {
      if (rateLimit === null) return undefined
      const why = `its endpoint gets ${rateWords(rateLimit)}`
      return isDue
        ? { brief: "by its rate", whole: `when its turn comes: ${why}`, why }
        : { brief: undefined, whole: `at the earliest: ${why}`, why }
    }
    if (!isDue) return undefined
    const why = `its endpoint fails, and gets ${probing(endpoint.consecutiveFailures)}`
    return { brief: "by a probe", whole: `when its turn comes: ${why}`, why }
  }
}
