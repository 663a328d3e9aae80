/** A delivery's status: a word and a sign, never a colour alone. The wire's own name is in the title. */
import type { DeliveryStatus } from "@posthorn/domain/States"
import type { FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
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

const reasons: Record<Exclude<FailureReason, "http_status">, string> = {
  request_timeout: "The receiver did not answer in time",
  connection_failed: "No connection could be made",
  dns_failed: "The host name could not be resolved",
  tls_failed: "The TLS handshake failed",
  invalid_response: "The answer was not valid HTTP",
  invalid_url: "The URL may not be delivered to",
  proxy_failed: "Posthorn's proxy made no connection",
  auth_failed: "Posthorn could not authenticate itself"
}

const details: Record<FailureDetail, string> = {
  connection_refused: "The connection was refused",
  connection_reset: "The receiver reset the connection",
  host_unreachable: "The host could not be reached",
  closed_before_answer: "The receiver closed the connection before it answered",
  certificate_expired: "The receiver's certificate has expired",
  certificate_wrong_name: "The receiver's certificate is for another host",
  certificate_unknown_issuer: "No known authority issued the receiver's certificate",
  certificate_missing_intermediate: "The receiver's certificate came without its intermediate one",
  certificate_self_signed: "The receiver's certificate is signed by itself",
  no_tls: "The receiver does not speak TLS"
}

/** Why it failed, in plain words. */
export const reasonOf = (
  reason: FailureReason | null,
  httpStatus: number | null,
  detail: FailureDetail | null = null
): string => {
  if (detail !== null) return details[detail]
  if (reason !== null && reason !== "http_status") return reasons[reason]
  return httpStatus === null ? "" : `Answered ${httpStatus}`
}
