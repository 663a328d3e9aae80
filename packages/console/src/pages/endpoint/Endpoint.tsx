/** One endpoint: its deliveries, settings, secret, and diagnosis. */
import { useParams, useSearch } from "@tanstack/react-router"
import { lazy, useState } from "react"
import type { OperationName } from "../../api/contract.ts"
import { useAct, useOperation } from "../../api/queries.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { ButtonLink, Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { Banner, Page } from "../../ui/Layout.tsx"
import { Failed, Loading, Refusal } from "../../ui/States.tsx"
import { shortUrl } from "../../ui/shortUrl.ts"
import { Time, WithTimes } from "../../ui/Time.tsx"
import { disabling, isProbed, useProbing } from "../policies.ts"
import { EndpointDeliveries } from "./EndpointDeliveries.tsx"
import { DISABLED_BY, HealthBadge, Streak } from "./Health.tsx"
import { Test } from "./Test.tsx"
import { type ShownEndpoint, useEndpoint } from "./useEndpoint.ts"

const Diagnosis = lazy(() => import("./Diagnosis.tsx"))
const Secret = lazy(() => import("./Secret.tsx"))
const Policy = lazy(() => import("./Policy.tsx"))
const Request = lazy(() => import("./request/Request.tsx"))
const Settings = lazy(() => import("./Settings.tsx"))

const tabs = [
  { id: "deliveries", label: "Deliveries", needs: "listWebhookDeliveries" },
  { id: "diagnosis", label: "Diagnosis", needs: "diagnoseWebhookEndpoint" },
  { id: "settings", label: "Settings", needs: "getWebhookEndpoint" },
  { id: "request", label: "Request", needs: "getWebhookEndpoint" },
  { id: "policy", label: "Delivery policy", needs: "getWorkspaceSettings" },
  { id: "secret", label: "Signing secret", needs: "getWebhookEndpoint" },
  { id: "try", label: "Try it", needs: "sendTestEvent" }
] as const satisfies ReadonlyArray<{ id: string; label: string; needs: OperationName }>

/** Sideways only: the page stays where it is. */
const inView = (tab: HTMLElement | null) => {
  const list = tab?.parentElement
  if (tab && list) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2
}

const Tabs = ({ endpointId, open }: { endpointId: string; open: string }) => {
  const { may, slug } = useSession()
  return (
    <nav aria-label="Parts of the endpoint" className="relative mb-5 flex gap-1 overflow-x-auto border-b">
      {tabs
        .filter(({ needs }) => may(needs))
        .map(({ id, label }) => (
          <Link
            key={id}
            to="/w/$slug/endpoints/$endpointId"
            params={{ slug, endpointId }}
            search={id === "deliveries" ? {} : { tab: id }}
            replace
            activeOptions={{ exact: true, includeSearch: true }}
            aria-current={open === id ? "page" : "false"}
            ref={open === id ? inView : null}
            className="-mb-px inline-flex h-9 items-center border-b-2 border-transparent px-3 text-sm font-medium whitespace-nowrap text-soft outline-offset-[-3px]! hover:text-ink aria-[current=page]:border-accent-text aria-[current=page]:text-ink"
          >
            {label}
          </Link>
        ))}
    </nav>
  )
}

const DisabledBanner = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may, slug } = useSession()
  const { disabledReason, expiredDeliveries, id, missedEvents } = endpoint
  const failed = disabledReason !== "manual"
  return (
    <Banner
      tone={failed ? "bad" : "idle"}
      title={disabledReason === null ? "Disabled" : DISABLED_BY[disabledReason]}
      actions={
        may("updateWebhookEndpoint") ? (
          <ButtonLink
            to="/w/$slug/endpoints/$endpointId/recover"
            params={{ slug, endpointId: id }}
            data-key="r"
            look="primary"
          >
            Recover
          </ButtonLink>
        ) : null
      }
    >
      Nothing is sent while it is disabled. Deliveries that wait go on when it is enabled again.
      {missedEvents.count > 0 && missedEvents.since !== null ? (
        <>
          {" "}
          {missedEvents.count.toLocaleString()} matching{" "}
          {missedEvents.count === 1 ? "event was" : "events were"} missed since{" "}
          <Time at={missedEvents.since} />.
        </>
      ) : null}
      {expiredDeliveries > 0
        ? ` ${expiredDeliveries.toLocaleString()} that waited were removed unsent: it was disabled for as long as history is kept.`
        : null}
    </Banner>
  )
}

/** Failing, and not disabled yet. */
const FailingBanner = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may, slug } = useSession()
  const probing = useProbing()
  return (
    <Banner
      tone="warn"
      title={`Failed ${endpoint.consecutiveFailures} times in a row`}
      actions={
        may("diagnoseWebhookEndpoint") ? (
          <ButtonLink
            to="/w/$slug/endpoints/$endpointId"
            params={{ slug, endpointId: endpoint.id }}
            search={{ tab: "diagnosis" }}
          >
            Why?
          </ButtonLink>
        ) : null
      }
    >
      Until one is delivered it gets {probing(endpoint.consecutiveFailures)}; a test event does not wait. Each
      failed attempt counts: {disabling(endpoint.effectivePolicy)}.
    </Banner>
  )
}

/** When what waits for the rate will have been sent, by the diagnosis. */
const RateBanner = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may } = useSession()
  const { data } = useOperation(
    "diagnoseWebhookEndpoint",
    { path: { endpointId: endpoint.id } },
    { enabled: may("diagnoseWebhookEndpoint"), everyMs: 10_000 }
  )
  const found = data?.findings.find(({ code }) => code === "rate_limited_backlog")
  return found === undefined ? null : (
    <Banner tone="idle" title="Deliveries wait for the rate">
      <WithTimes text={`${found.summary} ${found.because}`} />
    </Banner>
  )
}

const Switch = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const { may } = useSession()
  const update = useAct("updateWebhookEndpoint")
  const [asks, setAsks] = useState(false)
  if (!may("updateWebhookEndpoint")) return null
  const set = (enabled: boolean) =>
    update.mutate({ path: { endpointId: endpoint.id }, body: { enabled } } as never, {
      onSuccess: () => setAsks(false)
    })
  if (!endpoint.enabled)
    return (
      <Button onPress={() => set(true)} isDisabled={update.isPending}>
        Enable
      </Button>
    )
  return (
    <>
      <Button onPress={() => setAsks(true)}>Disable</Button>
      <Confirm
        title="Disable this endpoint?"
        action="Disable"
        isOpen={asks}
        close={() => setAsks(false)}
        confirm={() => set(false)}
        isPending={update.isPending}
        error={update.error}
      >
        Events that are published while it is disabled make no delivery for it. Deliveries that wait stay, and
        go on when it is enabled again.
      </Confirm>
    </>
  )
}

const Loaded = ({ endpoint, open }: { endpoint: ShownEndpoint; open: string }) => {
  const { may, slug } = useSession()
  return (
    <Page
      title={
        <span className="line-clamp-3 font-mono text-xl tracking-normal break-all" title={endpoint.url}>
          {shortUrl(endpoint.url)}
        </span>
      }
      name={shortUrl(endpoint.url)}
      back={
        <Link
          to="/w/$slug/endpoints"
          params={{ slug }}
          className="inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink"
        >
          <Icon name="back" size={14} />
          Endpoints
        </Link>
      }
      about={
        <>
          {endpoint.description === null || endpoint.description === "" ? null : (
            <p dir="auto" className="mb-2 break-words">
              {endpoint.description}
            </p>
          )}
          <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 text-sm">
            <HealthBadge {...endpoint} />
            {endpoint.consecutiveFailures > 0 ? (
              <Streak failures={endpoint.consecutiveFailures} policy={endpoint.effectivePolicy} />
            ) : null}
            <Id id={endpoint.id} />
          </div>
        </>
      }
      actions={
        <>
          <Switch endpoint={endpoint} />
          {may("sendTestEvent") && endpoint.enabled ? <Test endpointId={endpoint.id} /> : null}
        </>
      }
    >
      {!endpoint.enabled ? (
        <DisabledBanner endpoint={endpoint} />
      ) : isProbed(endpoint) ? (
        <FailingBanner endpoint={endpoint} />
      ) : endpoint.effectivePolicy.rateLimit === null || open === "diagnosis" ? null : (
        <RateBanner endpoint={endpoint} />
      )}
      <Tabs endpointId={endpoint.id} open={open} />
      {open === "settings" ? (
        <Settings endpoint={endpoint} />
      ) : open === "request" ? (
        <Request endpoint={endpoint} />
      ) : open === "policy" ? (
        <Policy endpoint={endpoint} />
      ) : open === "secret" ? (
        <Secret endpoint={endpoint} />
      ) : open === "diagnosis" ? (
        <Diagnosis endpoint={endpoint} />
      ) : open === "try" ? (
        <TryIt endpoint={endpoint} />
      ) : (
        <EndpointDeliveries endpoint={endpoint} />
      )}
    </Page>
  )
}

const TryIt = lazy(() => import("./TryIt.tsx"))

export const Endpoint = () => {
  const { endpointId } = useParams({ from: "/w/$slug/endpoints/$endpointId" })
  const { tab = "deliveries" } = useSearch({ from: "/w/$slug/endpoints/$endpointId" })
  const { data, error, refetch } = useEndpoint(endpointId)
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  return (
    <>
      <Loaded endpoint={data} open={tab} />
      {error === null ? null : <Refusal error={error} />}
    </>
  )
}
