/** Every endpoint with its health at a glance. */
import { useState } from "react"
import type { ItemOf } from "../api/contract.ts"
import { useList, useOperation } from "../api/queries.ts"
import { ButtonLink, Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Sparkline } from "../ui/Chart.tsx"
import { Select } from "../ui/Field.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { SearchField } from "../ui/SearchField.tsx"
import { Empty, NothingMatches } from "../ui/States.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import type { Column } from "../ui/Table.tsx"
import { HealthBadge, Streak } from "./endpoint/Health.tsx"
import { usePolicies } from "./policies.ts"

type Row = ItemOf<"listWebhookEndpoints">

const Last24Hours = ({ endpointId }: { endpointId: string }) => {
  const { data } = useOperation("getEndpointStats", { path: { endpointId }, query: { hours: 24 } })
  if (data === undefined) return <span className="block h-6 w-30 rounded bg-sunken" />
  return <Sparkline hours={data.hours} />
}

const typesOf = (eventTypes: ReadonlyArray<string>) =>
  eventTypes.includes("*")
    ? "All events"
    : eventTypes.length <= 2
      ? eventTypes.join(", ")
      : `${eventTypes.slice(0, 2).join(", ")} and ${eventTypes.length - 2} more`

const columns = (slug: string, policyOf: ReturnType<typeof usePolicies>): ReadonlyArray<Column<Row>> => [
  {
    head: "Endpoint",
    className: "max-w-72",
    cell: ({ description, id, url }) => (
      <div className="min-w-0 py-2">
        <Link
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId: id }}
          title={url}
          className="block truncate rounded leading-6 font-medium hover:underline"
        >
          {shortUrl(url)}
        </Link>
        {description === null || description === "" ? null : (
          <span className="block truncate text-xs text-faint" dir="auto">
            {description}
          </span>
        )}
      </div>
    )
  },
  {
    head: "Event types",
    className: "max-w-56",
    cell: ({ eventTypes, filter }) => (
      <span className="block truncate text-soft" title={eventTypes.join(", ")}>
        {typesOf(eventTypes)}
        {filter === null ? "" : ", filtered"}
      </span>
    )
  },
  { head: "Health", className: "w-36", cell: (row) => <HealthBadge {...row} /> },
  {
    head: "Failures in a row",
    className: "w-36",
    cell: (row) => <Streak failures={row.consecutiveFailures} policy={policyOf(row.policy)} />
  },
  { head: "Last 24 hours", className: "w-36", cell: ({ id }) => <Last24Hours endpointId={id} /> }
]

const stateChoices = [
  { id: "", label: "Any" },
  { id: "enabled", label: "Enabled" },
  { id: "failing", label: "Failing", about: "Enabled, and its latest attempts failed." },
  { id: "disabled", label: "Disabled" }
]

const orderChoices = [
  { id: "id", label: "Oldest first" },
  { id: "recent", label: "Newest first" }
]

export const Endpoints = () => {
  const { may, slug } = useSession()
  const policyOf = usePolicies()
  const [search, setSearch] = useState("")
  const [state, setState] = useState("")
  const [order, setOrder] = useState("id")
  const isNarrowed = search !== "" || state !== ""
  const request = {
    query: {
      limit: 50,
      search: search === "" ? undefined : search,
      state: state === "" ? undefined : state,
      order
    }
  }
  const query = useList("listWebhookEndpoints", request as never, { everyMs: 10_000 })
  const create = may("createWebhookEndpoint") ? (
    <ButtonLink to="/w/$slug/endpoints/new" params={{ slug }} look="primary">
      <Icon name="plus" size={15} />
      New endpoint
    </ButtonLink>
  ) : null
  return (
    <Page title="Endpoints" about="Where this workspace’s events go." actions={create}>
      <Card flush>
        <div className="flex flex-wrap items-center gap-2 border-b p-3">
          <SearchField
            label="Find an endpoint"
            placeholder="URL, description or external id"
            value={search}
            apply={(text) => setSearch(text.trim().slice(0, 100))}
          />
          <Select label="State" hideLabel small value={state} onChange={setState} choices={stateChoices} />
          <Select label="Order" hideLabel small value={order} onChange={setOrder} choices={orderChoices} />
        </div>
        <List
          label="Endpoints"
          query={query}
          columns={columns(slug, policyOf)}
          empty={
            isNarrowed ? (
              <NothingMatches
                what="endpoints"
                clear={() => {
                  setSearch("")
                  setState("")
                }}
              />
            ) : (
              <Empty icon="endpoints" title="No endpoint yet">
                <p className="text-soft">
                  An endpoint is a public https URL that wants some of this workspace’s events.
                </p>
                {create}
              </Empty>
            )
          }
        />
      </Card>
    </Page>
  )
}
