/** What happened in the last 24 hours, and what needs attention first. */
import type { ReactNode } from "react"
import type { Answer } from "../api/contract.ts"
import { useList, useOperation } from "../api/queries.ts"
import { ActionLink, ButtonLink } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { HourChart } from "../ui/Chart.tsx"
import { Code } from "../ui/Code.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { Empty, Failed, Loading } from "../ui/States.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { duration, span, Time, WithTimes } from "../ui/Time.tsx"
import { DISABLED_BY } from "./endpoint/Health.tsx"
import { notificationInWords } from "./Notifications.tsx"
import { disabling, usePolicies } from "./policies.ts"
import { publishCommand } from "./publishCommand.ts"
import { useEndpoints } from "./useEndpoints.ts"

type Overview = Answer<"getOverview">

const Figure = ({
  label,
  value,
  note,
  tone = ""
}: {
  label: string
  value: string
  note?: ReactNode
  tone?: string
}) => (
  <div className="min-w-0 px-5 py-4">
    <dt className="text-sm text-soft">{label}</dt>
    <dd>
      <span className={`block text-2xl font-semibold tracking-tight tabular-nums ${tone}`}>{value}</span>
      <span className="block min-h-4.5 text-xs text-faint">{note}</span>
    </dd>
  </div>
)

const count = (value: number) => value.toLocaleString()

const Figures = ({ deliveries, queue }: Overview) => {
  const { p50Ms, p95Ms, successRate } = deliveries
  return (
    <dl className="grid grid-cols-2 rounded-lg border bg-surface *:border-line md:grid-cols-5 md:divide-x max-md:[&>*:nth-child(n+3)]:border-t max-md:[&>*:nth-child(even)]:border-s max-md:[&>*:last-child]:col-span-2">
      <Figure
        label="Delivered"
        value={count(deliveries.delivered)}
        note={
          successRate === null
            ? "nothing tried yet"
            : `${(successRate * 100).toFixed(successRate === 1 ? 0 : 2)} % of what was tried`
        }
      />
      <Figure
        label="Retrying"
        value={count(deliveries.failed)}
        tone={deliveries.failed > 0 ? "text-warn" : ""}
        note={`${count(deliveries.pending)} wait for a first attempt`}
      />
      <Figure
        label="Given up or refused"
        value={count(deliveries.givenUp)}
        tone={deliveries.givenUp > 0 ? "text-bad" : ""}
        note={
          deliveries.recovered > 0
            ? `${count(deliveries.recovered)} more were recovered`
            : `${count(deliveries.failedPermanent)} refused by receivers`
        }
      />
      <Figure
        label="Median"
        value={p50Ms === null || p95Ms === null ? "–" : duration(p50Ms)}
        note={p95Ms === null ? "no attempt yet" : `half take no longer; p95 is ${duration(p95Ms)}`}
      />
      <Figure
        label="Oldest waiting"
        value={queue.oldestWaitingSeconds === null ? "–" : span(queue.oldestWaitingSeconds)}
        note={
          queue.waitingAtDisabled > 0
            ? `${count(queue.waiting - queue.waitingAtDisabled)} in the queue, ${count(queue.waitingAtDisabled)} at disabled endpoints`
            : `${count(queue.waiting)} in the queue`
        }
      />
    </dl>
  )
}

interface Concern {
  readonly id: string
  readonly icon: IconName
  readonly tone: string
  readonly text: ReactNode
  readonly endpointId: string
}

/** A filter that lets nothing through fails nowhere, so nobody else says so. */
const silent = (id: string, url: string): Concern => ({
  id,
  endpointId: id,
  icon: "warning",
  tone: "text-warn",
  text: (
    <>
      <span className="block truncate text-sm font-medium" title={url}>
        {shortUrl(url)}
      </span>
      <span className="block text-sm text-soft">
        Its filter let nothing through in 24 hours, of 50 events or more that it wants by type.
      </span>
    </>
  )
})

const useConcerns = (filteredOut: ReadonlyArray<string>): ReadonlyArray<Concern> | undefined => {
  const { may } = useSession()
  const policyOf = usePolicies()
  const { items } = useList(
    "listWebhookEndpoints",
    { query: { limit: 200 } },
    { enabled: may("listWebhookEndpoints"), everyMs: 15_000 }
  )
  const failing = items
    ?.filter(
      ({ consecutiveFailures, disabledReason }) =>
        (disabledReason !== null && disabledReason !== "manual") || consecutiveFailures >= 3
    )
    .sort(
      (one, other) =>
        Number(one.enabled) - Number(other.enabled) || other.consecutiveFailures - one.consecutiveFailures
    )
    .map(
      ({ consecutiveFailures, disabledReason, enabled, id, policy, url }): Concern => ({
        id,
        endpointId: id,
        icon: enabled ? "warning" : "pause",
        tone: enabled ? "text-warn" : "text-bad",
        text: (
          <>
            <span className="block truncate text-sm font-medium" title={url}>
              {shortUrl(url)}
            </span>
            <span className="block text-sm text-soft">
              {enabled || disabledReason === null
                ? `Failed ${consecutiveFailures} times in a row; ${disabling(policyOf(policy))}.`
                : `${DISABLED_BY[disabledReason]}${disabledReason === "manual" ? `, after it failed ${consecutiveFailures} times in a row` : ""}. Nothing is sent to it.`}
            </span>
          </>
        )
      })
    )
  return failing?.concat(
    items!.filter(({ id }) => filteredOut.includes(id)).map(({ id, url }) => silent(id, url))
  )
}

const Attention = ({ filteredOut }: { readonly filteredOut: ReadonlyArray<string> }) => {
  const { slug } = useSession()
  const concerns = useConcerns(filteredOut)
  return (
    <Card title="Needs attention" flush>
      {concerns === undefined ? (
        <Loading rows={3} />
      ) : concerns.length === 0 ? (
        <p className="flex items-center gap-2 px-5 py-5 text-sm text-soft">
          <Icon name="checkCircle" className="text-good" />
          Every endpoint that is enabled receives.
        </p>
      ) : (
        <ul>
          {concerns.slice(0, 6).map(({ endpointId, icon, id, text, tone }) => (
            <li key={id} data-row className="flex items-start gap-3 border-b px-5 py-3.5 last:border-b-0">
              <Icon name={icon} className={`mt-1 ${tone}`} />
              <div className="min-w-0 flex-1">{text}</div>
              <ButtonLink to="/w/$slug/endpoints/$endpointId" params={{ slug, endpointId }} small>
                Look into it
              </ButtonLink>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const LatestNotifications = () => {
  const { slug } = useSession()
  const { items } = useList("listNotifications", { query: { limit: 5 } }, { everyMs: 15_000 })
  const { nameOf } = useEndpoints()
  return (
    <Card
      title="Latest notifications"
      flush
      actions={
        <ActionLink
          to="/w/$slug/notifications"
          params={{ slug }}
          className="rounded text-sm text-accent-text hover:underline"
        >
          All
        </ActionLink>
      }
    >
      {items === undefined ? (
        <Loading rows={3} />
      ) : items.length === 0 ? (
        <p className="px-5 py-5 text-sm text-soft">
          None. A delivery that has spent its retries, or an endpoint that was disabled, is told here.
        </p>
      ) : (
        <ul>
          {items.slice(0, 5).map((row) => (
            <li key={row.id} className="grid gap-0.5 border-b px-5 py-3 text-sm last:border-b-0">
              <span
                className={`line-clamp-2 [overflow-wrap:anywhere] ${row.readAt === null ? "" : "text-soft"}`}
              >
                <WithTimes text={notificationInWords(row, nameOf)} />
              </span>
              <span className="text-xs text-faint">
                <Time at={row.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const FirstSteps = () => {
  const { may, slug } = useSession()
  return (
    <Card>
      <Empty icon="endpoints" title="Nothing was sent yet">
        <p className="text-soft">Register where events should go, then publish the first one.</p>
        {may("createWebhookEndpoint") ? (
          <ButtonLink to="/w/$slug/endpoints/new" params={{ slug }} look="primary">
            New endpoint
          </ButtonLink>
        ) : null}
        <div className="w-full">
          <Code text={publishCommand(slug)} label="Publish an event" />
        </div>
      </Empty>
    </Card>
  )
}

export const Overview = () => {
  const { may, session } = useSession()
  const { data, error, refetch } = useOperation("getOverview", {}, { everyMs: 15_000 })
  const isNew =
    data !== undefined &&
    data.endpoints.total === 0 &&
    data.hours.every((hour) => hour.delivered + hour.failed === 0)
  return (
    <Page title="Overview" about={`The last 24 hours of ${session.workspace.name}.`}>
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <Failed error={error} retry={refetch} />
        )
      ) : isNew ? (
        <FirstSteps />
      ) : (
        <div className="grid gap-5">
          <Figures {...data} />
          <Card
            title="Deliveries by hour"
            about="By the hour they were made in, with the status they have now."
          >
            <HourChart hours={data.hours} />
          </Card>
          <div className="grid items-start gap-5 lg:grid-cols-2">
            {may("listWebhookEndpoints") ? <Attention filteredOut={data.endpoints.filteredOut} /> : null}
            {may("listNotifications") ? <LatestNotifications /> : null}
          </div>
        </div>
      )}
    </Page>
  )
}
