/** Deliveries of every endpoint. The filters are in the address, so that a view can be shared. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo } from "react"
import { live, useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Code } from "../ui/Code.tsx"
import { Select } from "../ui/Field.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { useLive } from "../ui/Live.tsx"
import { SearchField } from "../ui/SearchField.tsx"
import { Empty, NothingMatches } from "../ui/States.tsx"
import { type DeliveryStatus, statusWords } from "../ui/Status.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { useDeliveryColumns } from "./deliveryColumns.tsx"
import { publishCommand } from "./publishCommand.ts"
import { useEndpoints } from "./useEndpoints.ts"

const MINUTES: Record<string, number> = { "1h": 60, "24h": 1440, "7d": 10_080 }

export const withinChoices = [
  { id: "", label: "Any time" },
  { id: "1h", label: "Last hour" },
  { id: "24h", label: "Last 24 hours" },
  { id: "7d", label: "Last 7 days" }
]

/** At minute precision, so that the query stays the same while the page is open. */
export const sinceOf = (within: string | undefined) =>
  within === undefined || MINUTES[within] === undefined
    ? undefined
    : new Date(Math.floor(Date.now() / 60_000 - MINUTES[within]) * 60_000).toISOString()

const statusChoices = [
  { id: "", label: "Any" },
  ...Object.entries(statusWords).map(([id, { label, means }]) => ({ id, label, about: means }))
]

const EVENT_TYPE = /^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$/

export const EventTypeFilter = ({ value, apply }: { value: string; apply: (value: string) => void }) => (
  <SearchField
    label="Event type"
    placeholder="Event type, such as invoice.paid"
    value={value}
    apply={apply}
    problemOf={(text) =>
      EVENT_TYPE.test(text)
        ? undefined
        : "Write the whole type, dotted words such as invoice.paid: parts of it and * find nothing here."
    }
  />
)

export const Deliveries = () => {
  const { slug } = useSession()
  const search = useSearch({ from: "/w/$slug/deliveries" })
  const navigate = useNavigate({ from: "/w/$slug/deliveries" })
  const { endpoints } = useEndpoints()
  const columns = useDeliveryColumns()
  const { on, toggle } = useLive()
  const { endpointId, eventId, eventType, since, status, until, within } = search
  const request = useMemo(
    () => ({
      query: {
        limit: 50,
        payload: "omit" as const,
        status: status as DeliveryStatus | undefined,
        eventType,
        endpointId,
        eventId,
        since: since ?? sinceOf(within),
        until
      }
    }),
    [endpointId, eventId, eventType, since, status, until, within]
  )
  const query = useList("listWorkspaceDeliveries", request as never, { everyMs: live(on) })
  const change = (next: Partial<typeof search>) =>
    navigate({
      search: (old) =>
        Object.fromEntries(
          Object.entries({ ...old, ...next }).filter(([, value]) => value !== undefined && value !== "")
        )
    })
  const clear = () => navigate({ search: {} })
  const isFiltered = Object.keys(search).length > 0
  return (
    <Page title="Deliveries" about="Every event on its way to an endpoint, newest first." actions={toggle}>
      <Card flush>
        <div className="flex flex-wrap items-center gap-2 border-b p-3">
          <EventTypeFilter value={eventType ?? ""} apply={(value) => change({ eventType: value })} />
          <Select
            label="Status"
            hideLabel
            small
            choices={statusChoices}
            value={status ?? ""}
            onChange={(value) => change({ status: value })}
          />
          <Select
            label="Endpoint"
            hideLabel
            small
            choices={[
              { id: "", label: "Any" },
              ...endpoints.map(({ id, url }) => ({ id, label: shortUrl(url).slice(0, 60) }))
            ]}
            value={endpointId ?? ""}
            onChange={(value) => change({ endpointId: value })}
          />
          <Select
            label="Time"
            hideLabel
            small
            choices={withinChoices}
            value={within ?? ""}
            onChange={(value) => change({ within: value })}
          />
          {isFiltered ? (
            <Button look="quiet" onPress={clear}>
              Clear filters
            </Button>
          ) : null}
        </div>
        <List
          label="Deliveries"
          query={query}
          columns={columns}
          empty={
            isFiltered ? (
              <NothingMatches what="deliveries" clear={clear} />
            ) : (
              <Empty icon="deliveries" title="No delivery yet">
                <p className="text-soft">
                  Publish an event that an endpoint wants, and it is here a moment later.
                </p>
                <div className="w-full">
                  <Code text={publishCommand(slug)} label="Publish an event" />
                </div>
              </Empty>
            )
          }
        />
      </Card>
    </Page>
  )
}
