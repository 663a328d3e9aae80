/** An endpoint's health in a word, and how near it is to being disabled. */
import type { EffectivePolicy } from "@posthorn/domain/DeliveryPolicy"
import { Badge } from "../../ui/Status.tsx"
import { disabling } from "../policies.ts"

export const DISABLED_BY = {
  manual: "Disabled by hand",
  consecutive_failures: "Disabled after too many failed attempts in a row",
  failing_for: "Disabled after failing for too long",
  gone: "Disabled because its receiver answered 410 Gone"
}

interface State {
  readonly enabled: boolean
  readonly disabledReason: "manual" | "consecutive_failures" | "failing_for" | "gone" | null
  readonly consecutiveFailures: number
}

export const HealthBadge = ({ consecutiveFailures, disabledReason, enabled }: State) =>
  !enabled ? (
    disabledReason !== "manual" ? (
      <Badge tone="bad" icon="pause" title={`disabled: ${disabledReason}`}>
        Disabled: failing
      </Badge>
    ) : (
      <Badge tone="idle" icon="pause" title="disabled: manual">
        Disabled
      </Badge>
    )
  ) : consecutiveFailures > 0 ? (
    <Badge tone="warn" icon="warning">
      Failing
    </Badge>
  ) : (
    <Badge tone="good" icon="checkCircle">
      Enabled
    </Badge>
  )

/** `7 of 20`, with as much of a bar; the number alone where no count disables the endpoint. */
export const Streak = ({ failures, policy }: { failures: number; policy: EffectivePolicy }) => {
  if (failures === 0) return <span className="text-faint">none</span>
  const { disableAfter } = policy
  const limit = disableAfter.kind === "failures" ? disableAfter.count : undefined
  const title = `${failures} failures in a row; ${disabling(policy)}`
  if (limit === undefined)
    return (
      <span className="text-soft" title={title}>
        {failures} in a row
      </span>
    )
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap" title={title}>
      <svg viewBox="0 0 40 6" className="h-1.5 w-10" aria-hidden="true">
        <rect width="40" height="6" rx="3" className="fill-line" />
        <rect
          width={Math.max(4, Math.min(1, failures / limit) * 40)}
          height="6"
          rx="3"
          className={failures >= limit / 2 ? "fill-bad-bar" : "fill-warn-bar"}
        />
      </svg>
      <span className="text-soft">
        {failures} of {limit}
      </span>
    </span>
  )
}
