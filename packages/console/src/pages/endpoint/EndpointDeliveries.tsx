/** An endpoint's deliveries, and its last 24 hours. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { live, useList, useOperation } from "../../api/queries.ts"
import type { EndpointDetail } from "../../api/shapes.ts"
import { useSession } from "../../session/session.tsx"
import { HourChart } from "../../ui/Chart.tsx"
import { Code } from "../../ui/Code.tsx"
import { Select } from "../../ui/Field.tsx"
import { Card } from "../../ui/Layout.tsx"
import { List } from "../../ui/List.tsx"
import { useLive } from "../../ui/Live.tsx"
import { Empty, Loading, NothingMatches } from "../../ui/States.tsx"
import { statusWords } from "../../ui/Status.tsx"
import { duration } from "../../ui/Time.tsx"
import { useDeliveryColumns } from "../deliveryColumns.tsx"
import { publishCommand } from "../publishCommand.ts"

const choices = [
  { id: "", label: "Any" },
  ...Object.entries(statusWords).map(([id, { label, means }]) => ({ id, label, about: means }))
]

const Stats = ({ endpointId }: { endpointId: string }) => {
  const { data, error } = useOperation(
    "getEndpointStats",
    { path: { endpointId }, query: { hours: 24 } },
    { everyMs: 15_000 }
  )
  if (data === undefined) return error === null ? <Loading rows={3} /> : null
  const { p50Ms, p95Ms } = data.totals
  return (
    <Card
      title="Last 24 hours"
      about={
        p50Ms === null || p95Ms === null
          ? "No attempt yet."
          : `Half of the answers within ${duration(p50Ms)}, 95 of 100 within ${duration(p95Ms)}.`
      }
    >
      <HourChart hours={data.hours} />
    </Card>
  )
}

export const EndpointDeliveries = ({ endpoint }: { endpoint: EndpointDetail }) => {
  const endpointId = endpoint.id
  const columns = useDeliveryColumns(endpoint)
  const { slug } = useSession()
  const { status } = useSearch({ from: "/w/$slug/endpoints/$endpointId" })
  const navigate = useNavigate({ from: "/w/$slug/endpoints/$endpointId" })
  const { on, toggle } = useLive()
  const query = useList(
    "listWebhookDeliveries",
    { path: { endpointId }, query: { limit: 50, payload: "omit", status } } as never,
    { everyMs: live(on) }
  )
  const change = (value: string) => navigate({ search: value === "" ? {} : { status: value }, replace: true })
  return (
    <div className="grid gap-5">
      <Stats endpointId={endpointId} />
      <Card flush>
        <div className="flex flex-wrap items-center justify-between gap-2 border-b p-3">
          <Select label="Status" hideLabel small choices={choices} value={status ?? ""} onChange={change} />
          {toggle}
        </div>
        <List
          label="Deliveries of this endpoint"
          query={query}
          columns={columns}
          empty={
            status === undefined ? (
              <Empty icon="deliveries" title="Nothing was sent to it yet">
                <p className="text-soft">Send a test event, or publish an event of a type that it wants.</p>
                <div className="w-full">
                  <Code text={publishCommand(slug)} label="Publish an event" />
                </div>
              </Empty>
            ) : (
              <NothingMatches what="deliveries" clear={() => change("")} />
            )
          }
        />
      </Card>
    </div>
  )
}
