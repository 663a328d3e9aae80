/** Why an endpoint fails, by the recorded evidence, with the next steps as buttons. */
import type { Answer } from "../../api/contract.ts"
import { useOperation } from "../../api/queries.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { ButtonLink, Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Layout.tsx"
import { Failed, Loading } from "../../ui/States.tsx"
import { Badge, type Tone } from "../../ui/Status.tsx"
import { Time, WithTimes } from "../../ui/Time.tsx"
import { Test } from "./Test.tsx"

type Diagnosed = Answer<"diagnoseWebhookEndpoint">
type Finding = Diagnosed["findings"][number]
type Step = Finding["nextSteps"][number]

const healths: Record<Diagnosed["health"], { tone: Tone; label: string }> = {
  healthy: { tone: "good", label: "Healthy" },
  failing: { tone: "bad", label: "Failing" },
  unstable: { tone: "warn", label: "Unstable" },
  disabled: { tone: "idle", label: "Disabled" },
  unproven: { tone: "idle", label: "Unproven" }
}

/** Where a step is done. A step without a page in this console stays a sentence. */
const StepAction = ({ endpoint, step }: { endpoint: EndpointDetail; step: Step }) => {
  const { may, slug } = useSession()
  const params = { slug, endpointId: endpoint.id }
  const to = (tab: string, label: string) => (
    <ButtonLink to="/w/$slug/endpoints/$endpointId" params={params} search={{ tab }} small>
      {label}
    </ButtonLink>
  )
  const deliveryId = (step.arguments as { deliveryId?: unknown } | null)?.deliveryId
  switch (step.operation as string | null) {
    case "sendTestEvent":
      return may("sendTestEvent") && endpoint.enabled ? <Test endpointId={endpoint.id} look="plain" /> : null
    case "updateWebhookEndpoint":
      if (!may("updateWebhookEndpoint")) return null
      if (step.fillIn.includes("policy")) return to("policy", "Open delivery policy")
      return endpoint.enabled || !step.fillIn.includes("enabled") ? (
        to("settings", "Open settings")
      ) : (
        <ButtonLink to="/w/$slug/endpoints/$endpointId/recover" params={params} look="primary" small>
          Recover
        </ButtonLink>
      )
    case "rotateWebhookSecret":
      return may("rotateWebhookSecret") ? to("secret", "Open signing secret") : null
    case "explainSignature":
      return may("explainSignature") ? to("secret", "Check a signature") : null
    case "checkAuthentication":
      return may("checkAuthentication") ? to("request", "Open request") : null
    case "tryFilter":
      return may("updateWebhookEndpoint") ? to("settings", "Open settings") : null
    case "startReplay":
      return may("replayWebhookDelivery") ? (
        <ButtonLink to="/w/$slug/endpoints/$endpointId/recover" params={params} small>
          Recover
        </ButtonLink>
      ) : null
    case "listWebhookDeliveryAttempts":
    case "getWebhookDelivery":
    case "replayWebhookDelivery":
      return typeof deliveryId === "string" ? (
        <ButtonLink to="/w/$slug/deliveries/$deliveryId" params={{ slug, deliveryId }} small>
          Open delivery
        </ButtonLink>
      ) : null
    case "listEventTypes":
    case "publishEvent":
      return (
        <ButtonLink to="/w/$slug/events" params={{ slug }} small>
          Open events
        </ButtonLink>
      )
    default:
      return null
  }
}

const FindingCard = ({ endpoint, finding }: { endpoint: EndpointDetail; finding: Finding }) => {
  const { slug } = useSession()
  return (
    <Card>
      <div className="grid gap-3">
        <div className="grid gap-1">
          <h2 className="text-base font-semibold text-balance">
            <WithTimes text={finding.summary} />
          </h2>
          <p className="text-sm text-soft">
            <WithTimes text={finding.because} />
          </p>
        </div>
        <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-faint">
          {finding.since === null ? null : (
            <span>
              Since <Time at={finding.since} focusable />
            </span>
          )}
          {finding.inARow > 0 ? <span>{finding.inARow} in a row</span> : null}
          <span>{finding.confidence} confidence</span>
          {finding.changedBefore === null || finding.code.startsWith("disabled_") ? null : (
            <span>
              Before it began: {finding.changedBefore.action} ({finding.changedBefore.fields.join(", ")}),{" "}
              <Time at={finding.changedBefore.at} />
            </span>
          )}
        </p>
        {finding.deliveryIds.length === 0 ? null : (
          <p className="flex flex-wrap gap-x-3 gap-y-1 text-xs">
            <span className="text-faint">Shown by</span>
            {finding.deliveryIds.map((deliveryId) => (
              <Link
                key={deliveryId}
                to="/w/$slug/deliveries/$deliveryId"
                params={{ slug, deliveryId }}
                className="inline-block min-h-6 rounded font-mono text-accent-text hover:underline"
              >
                …{deliveryId.slice(-8)}
              </Link>
            ))}
          </p>
        )}
        {finding.nextSteps.length === 0 ? null : (
          <ol className="grid gap-2 border-t pt-3">
            {finding.nextSteps.map((step, index) => (
              <li
                key={`${step.operation} ${step.why}`}
                className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-3 gap-y-1.5 text-sm sm:grid-cols-[auto_minmax(0,1fr)_auto]"
              >
                <span className="grid size-5 shrink-0 place-items-center rounded-full bg-sunken text-xs text-soft">
                  {index + 1}
                </span>
                <span>{step.why}</span>
                <span className="max-sm:col-start-2">
                  <StepAction endpoint={endpoint} step={step} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </Card>
  )
}

const Diagnosis = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { data, error, isFetching, refetch } = useOperation("diagnoseWebhookEndpoint", {
    path: { endpointId: endpoint.id }
  })
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  const { label, tone } = healths[data.health]
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="flex flex-wrap items-center gap-3 text-sm text-soft">
          <Badge tone={tone}>{label}</Badge>
          Judged from{" "}
          {data.examined.attempts === 1 ? "the one attempt" : `the last ${data.examined.attempts} attempts`}{" "}
          on record; nothing was sent.
        </p>
        <Button small icon="retry" isDisabled={isFetching} onPress={() => refetch()}>
          Look again
        </Button>
      </div>
      {data.findings.map((finding) => (
        <FindingCard key={`${finding.code} ${finding.summary}`} endpoint={endpoint} finding={finding} />
      ))}
    </div>
  )
}

export default Diagnosis
