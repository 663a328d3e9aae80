/** An endpoint's health in a word, and how near it is to being disabled. */
import { Badge } from "../../ui/Status.tsx"

export const STREAK_LIMIT = 20

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

/** `7 of 20`, with as much of a bar. */
export const Streak = ({ failures }: { failures: number }) =>
  failures === 0 ? (
    <span className="text-faint">none</span>
  ) : (
    <span
      className="inline-flex items-center gap-2"
      title={`At ${STREAK_LIMIT} failures in a row it is disabled`}
    >
      <svg viewBox="0 0 40 6" className="h-1.5 w-10" aria-hidden="true">
        <rect width="40" height="6" rx="3" className="fill-line" />
        <rect
          width={Math.max(4, (Math.min(failures, STREAK_LIMIT) / STREAK_LIMIT) * 40)}
          height="6"
          rx="3"
          className={failures >= 10 ? "fill-bad-bar" : "fill-warn-bar"}
        />
      </svg>
      <span className="text-soft">
        {failures} of {STREAK_LIMIT}
      </span>
    </span>
  )
