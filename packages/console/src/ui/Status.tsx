/** A delivery's status: a word and a sign, never a colour alone. The wire's own name is in the title. */
import type { DeliveryStatus } from "@posthorn/domain/States"
import { Icon, type IconName } from "./Icon.tsx"

export type { DeliveryStatus }
export type Tone = "good" | "warn" | "bad" | "idle" | "accent"

export const statusWords: Record<
  DeliveryStatus,
  { label: string; tone: Tone; icon: IconName; means: string }
> = {
  pending: { label: "Pending", tone: "idle", icon: "clock", means: "Waits for its first attempt." },
  delivered: { label: "Delivered", tone: "good", icon: "checkCircle", means: "The receiver answered 2xx." },
  failed: { label: "Retrying", tone: "warn", icon: "retry", means: "Failed so far; will be tried again." },
  failed_permanent: {
    label: "Refused",
    tone: "bad",
    icon: "crossCircle",
    means: "The receiver refused it, or its URL may not be delivered to. Not tried again."
  },
  dead_lettered: {
    label: "Given up",
    tone: "bad",
    icon: "warning",
    means: "All attempts failed. Not tried again."
  }
}

const tints: Record<Tone, string> = {
  good: "text-good tint-good",
  warn: "text-warn tint-warn",
  bad: "text-bad tint-bad",
  idle: "text-idle tint-idle",
  accent: "text-accent-text tint-accent"
}

export const Badge = ({
  tone,
  icon,
  title,
  children
}: {
  tone: Tone
  icon?: IconName
  title?: string
  children: React.ReactNode
}) => (
  <span
    title={title}
    className={`inline-flex h-5.5 items-center gap-1 rounded-full px-2 text-xs font-medium whitespace-nowrap ${tints[tone]}`}
  >
    {icon === undefined ? null : <Icon name={icon} size={12} />}
    {children}
  </span>
)

export const StatusBadge = ({ status }: { status: DeliveryStatus }) => {
  const { icon, label, means, tone } = statusWords[status]
  return (
    <Badge tone={tone} icon={icon} title={`${status}: ${means}`}>
      {label}
    </Badge>
  )
}
