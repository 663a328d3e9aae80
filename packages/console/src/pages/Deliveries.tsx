/** Deliveries of every endpoint. The filters are in the address, so that a view can be shared. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo } from "react"
import { live, useList } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Code } from "../ui/Code.tsx"
import {
  FilterChoice,
  FilterEventType,
  FilteredList,
  FilterTime,
  filtersOf,
  sinceOf
} from "../ui/Filters.tsx"
import { Page } from "../ui/Layout.tsx"
import { useLive } from "../ui/Live.tsx"
import { Empty } from "../ui/States.tsx"
import { type DeliveryStatus, statusWords } from "../ui/Status.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { useDeliveryColumns } from "./deliveryColumns.tsx"
import { publishCommand } from "./publishCommand.ts"
import { useEndpoints } from "./useEndpoints.ts"
import { useReplaySelected } from "./useReplaySelected.tsx"

const statusChoices = [
  { id: "", label: "Any" },
  ...Object.entries(statusWords).map(([id, { label, means }]) => ({ id, label, about: means }))
]

export const Deliveries = () => {
  const { slug } = useSession()
  const search = useSearch({ from: "/w/$slug/deliveries" })
  const navigate = useNavigate({ from: "/w/$slug/deliveries" })
  const { endpoints } = useEndpoints()
  const columns = useDeliveryColumns()
  const selected = useReplaySelected()
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
  const filters = filtersOf(search, (search) => navigate({ search }))
  return (
    <Page title="Deliveries" about="Every event on its way to an endpoint, newest first." actions={toggle}>
      <FilteredList
        label="Deliveries"
        what="deliveries"
        filters={filters}
        query={query}
        columns={[...selected.columns, ...columns]}
        bar={
          <>
            <FilterEventType filters={filters} />
            <FilterChoice filters={filters} name="status" label="Status" choices={statusChoices} />
            <FilterChoice
              filters={filters}
              name="endpointId"
              label="Endpoint"
              choices={[
                { id: "", label: "Any" },
                ...endpoints.map(({ id, url }) => ({ id, label: shortUrl(url).slice(0, 60) }))
              ]}
            />
            <FilterTime filters={filters} />
            {selected.bar}
          </>
        }
        empty={
          <Empty icon="deliveries" title="No delivery yet">
            <p className="text-soft">
              Publish an event that an endpoint wants, and it is here a moment later.
            </p>
            <div className="w-full">
              <Code text={publishCommand(slug)} label="Publish an event" />
            </div>
          </Empty>
        }
      />
    </Page>
  )
}
