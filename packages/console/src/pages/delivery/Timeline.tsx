/** A delivery's timeline: past attempts, newest last, then those still to come if it keeps failing. */
import { failureInWords } from "@posthorn/domain/FailureWords"
import { useState } from "react"
import type { ItemOf } from "../../api/contract.ts"
import type { DeliveryDetail } from "../../api/shapes.ts"
import { Code } from "../../ui/Code.tsx"
import { CopyButton } from "../../ui/Copy.tsx"
import { Icon, type IconName } from "../../ui/Icon.tsx"
import { duration, Time, useCountdown } from "../../ui/Time.tsx"
import { type Trying, useMostAttempts, useWaitsFor } from "../policies.ts"
import { curlOf } from "./curl.ts"

type Attempt = ItemOf<"listWebhookDeliveryAttempts">

const signs: Record<Attempt["status"], { icon: IconName; color: string }> = {
  delivered: { icon: "check", color: "text-good tint-good" },
  failed: { icon: "cross", color: "text-warn tint-warn" },
  failed_permanent: { icon: "cross", color: "text-bad tint-bad" }
}

const Dot = ({ color, icon }: { icon: IconName; color: string }) => (
  <span className={`relative z-10 grid size-6 shrink-0 place-items-center rounded-full bg-surface ${color}`}>
    <Icon name={icon} size={13} />
  </span>
)

const Headers = ({ headers, label }: { headers: Readonly<Record<string, string>>; label: string }) => (
  <Code
    label={label}
    text={Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n")}
    wrap
  />
)

/** Of a longer body the page shows the payload alone: it would hold the text twice. */
const SHOWN_BODY = 65_536

const Detail = ({ attempt, body }: { attempt: Attempt; body: string }) => {
  const url = (attempt as { url?: string }).url
  const answered = (attempt as { responseHeaders?: Record<string, string> }).responseHeaders ?? {}
  return (
    <div className="mt-3 grid gap-4">
      <div className="grid gap-1.5">
        <div className="flex items-center justify-between gap-2">
          <h3 className="text-xs font-medium text-faint">Request headers</h3>
          {url === undefined ? null : (
            <CopyButton label="Copy as cURL" text={curlOf(url, attempt.requestHeaders, body)} />
          )}
        </div>
        {url === undefined ? null : <p className="font-mono text-xs break-all text-soft">POST {url}</p>}
        <Headers headers={attempt.requestHeaders} label={`Request headers of attempt ${attempt.ordinal}`} />
        {Object.values(attempt.requestHeaders).some((value) => value.startsWith("sealed:")) ? (
          <p className="text-xs text-faint">
            sealed:… stands for a secret that was sent. Only its fingerprint is kept.
          </p>
        ) : null}
      </div>
      <div className="grid gap-1.5">
        <h3 className="text-xs font-medium text-faint">Request body · to the letter, as it is signed</h3>
        {body.length > SHOWN_BODY ? (
          <div className="flex items-center gap-2 text-sm text-soft">
            {`${Math.round(body.length / 1024).toLocaleString()} KiB`}
            <CopyButton text={body} />
          </div>
        ) : (
          <Code text={body} label={`Request body of attempt ${attempt.ordinal}`} wrap />
        )}
      </div>
      <div className="grid gap-1.5">
        <h3 className="text-xs font-medium text-faint">
          Answer{attempt.httpStatus === null ? "" : ` ${attempt.httpStatus}`} · first 2 KiB, as text
        </h3>
        {Object.keys(answered).length === 0 ? null : (
          <Headers headers={answered} label={`Response headers of attempt ${attempt.ordinal}`} />
        )}
        {attempt.responseBody === null || attempt.responseBody === "" ? (
          <p className="text-sm text-soft">
            {attempt.responseBody === null ? "None could be read." : "It was empty."}
          </p>
        ) : (
          <Code text={attempt.responseBody} label={`Response body of attempt ${attempt.ordinal}`} wrap />
        )}
      </div>
      <p className="text-xs text-faint">
        Trace <span className="font-mono break-all">{attempt.traceId}</span>
      </p>
    </div>
  )
}

const Made = ({ attempt, body, isLast }: { attempt: Attempt; isLast: boolean; body: string }) => {
  const [isOpen, setOpen] = useState(isLast)
  const { color, icon } = signs[attempt.status]
  return (
    <li data-row className="relative flex gap-3 pb-5">
      <Dot icon={icon} color={color} />
      <div className="min-w-0 flex-1">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-6 w-full flex-wrap items-baseline gap-x-3 gap-y-0.5 rounded text-start text-sm"
        >
          <span className="font-medium">
            {failureInWords(attempt.failureReason, attempt.httpStatus, attempt.failureDetail)}
          </span>
          <span className="text-faint">
            attempt {attempt.ordinal} · {duration(attempt.durationMs)}
          </span>
          <span className="ms-auto inline-flex items-center gap-2 text-soft">
            <Time at={attempt.at} />
            <Icon name="down" size={14} className={isOpen ? "rotate-180" : ""} />
          </span>
        </button>
        {isOpen ? <Detail attempt={attempt} body={body} /> : null}
      </div>
    </li>
  )
}

/** Future attempts: the next with its countdown, the others with their distance from now. */
const ToCome = ({ delivery, endpoint }: { delivery: DeliveryDetail; endpoint: Trying | undefined }) => {
  const left = useCountdown(delivery.nextAttemptAt)
  const waits = useWaitsFor()(endpoint, delivery, left === null)
  const mostAttempts = useMostAttempts()
  if (delivery.status !== "pending" && delivery.status !== "failed") return null
  const next = delivery.attempts + 1
  const most = endpoint && mostAttempts(endpoint.effectivePolicy)
  const after = Math.max(0, (most ?? next) - next)
  return (
    <>
      <li className="relative flex gap-3 pb-5">
        <Dot icon="clock" color="text-idle tint-idle" />
        <p className="flex min-h-6 flex-1 flex-wrap items-baseline gap-x-3 text-sm">
          <span className="font-medium">
            Attempt {next}
            {most === undefined || most < next ? "" : ` of ${most}`}
          </span>
          <span className="text-faint" role="timer">
            {left === null || endpoint?.enabled === false ? "" : `in ${left} `}
            {waits?.whole ?? (left === null ? "any moment" : "")}
          </span>
        </p>
      </li>
      {after === 0 ? null : (
        <li className="relative flex gap-3 pb-2 text-sm text-faint">
          <Dot icon="clock" color="text-faint bg-sunken" />
          <span className="min-h-6">
            {after === 1 ? "One more attempt" : `${after} more attempts`} after that; then it is given up.
          </span>
        </li>
      )}
    </>
  )
}

export const Timeline = ({
  attempts,
  body,
  delivery,
  endpoint
}: {
  delivery: DeliveryDetail
  /** Undefined when nobody may see it. */
  endpoint: Trying | undefined
  attempts: ReadonlyArray<Attempt>
  body: string
}) => (
  <ol className="relative before:absolute before:inset-y-2 before:start-3 before:w-px before:-translate-x-1/2 before:bg-line">
    {attempts.map((attempt, index) => (
      <Made key={attempt.id} attempt={attempt} isLast={index === attempts.length - 1} body={body} />
    ))}
    <ToCome delivery={delivery} endpoint={endpoint} />
  </ol>
)
