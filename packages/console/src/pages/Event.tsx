/** One event: its payload, and what became of it. */
import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { callText } from "../api/client.ts"
import type { Answer } from "../api/contract.ts"
import { useList } from "../api/queries.ts"
import { Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Id } from "../ui/Copy.tsx"
import { Icon } from "../ui/Icon.tsx"
import { rawMember } from "../ui/json.ts"
import { Card, Fact, Facts, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Payload } from "../ui/Payload.tsx"
import { Failed, Loading } from "../ui/States.tsx"
import { Time } from "../ui/Time.tsx"
import { Who } from "../ui/Who.tsx"
import { useDeliveryColumns } from "./deliveryColumns.tsx"
import { SendAgainTo } from "./SendAgainTo.tsx"
import { WhoGotIt } from "./WhoGotIt.tsx"

export const Event = () => {
  const { may, slug } = useSession()
  const { eventId } = useParams({ from: "/w/$slug/events/$eventId" })
  const columns = useDeliveryColumns()
  const { data, error, refetch } = useQuery({
    queryKey: [slug, "getEvent", eventId],
    queryFn: async ({ signal }) => {
      const text = await callText(slug, "getEvent", { path: { eventId } }, signal)
      return { event: JSON.parse(text) as Answer<"getEvent">, payload: rawMember(text, "payload") ?? "null" }
    }
  })
  const deliveries = useList(
    "listWorkspaceDeliveries",
    { query: { limit: 50, payload: "omit", eventId } } as never,
    { everyMs: 4_000 }
  )
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  const { event, payload } = data
  return (
    <Page
      title={<span className="font-mono text-xl tracking-normal break-all">{event.eventType}</span>}
      name={event.eventType}
      actions={event.purgedAt === null ? <SendAgainTo deliveries={deliveries.items ?? []} /> : null}
      back={
        <Link
          to="/w/$slug/events"
          params={{ slug }}
          className="inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink"
        >
          <Icon name="back" size={14} />
          Events
        </Link>
      }
    >
      <div className="grid gap-5">
        <Card title="Event">
          <Facts>
            <Fact name="Id">
              <Id id={event.id} />
            </Fact>
            <Fact name="Published">
              <Time at={event.createdAt} focusable />
            </Fact>
            <Fact name="By">
              <Who actor={event.actor} />
            </Fact>
            <Fact name="Deliveries">{event.deliveries.toLocaleString()}</Fact>
            {event.endpointIds === null ? null : (
              <Fact name="For">
                {event.endpointIds.length === 1
                  ? "the endpoint that its publish named"
                  : `${event.endpointIds.length} endpoints that its publish named`}
              </Fact>
            )}
            {event.retry ? null : <Fact name="Retries">none: its publish asked for one attempt</Fact>}
            <Fact name="Missed">
              {event.missed === 0
                ? "none"
                : `${event.missed.toLocaleString()}: matching endpoints that were disabled at that moment`}
            </Fact>
            {event.purgedAt === null ? null : (
              <Fact name="Purged">
                <Time at={event.purgedAt} focusable />
              </Fact>
            )}
            <Fact name="Trace">
              <Id id={event.traceId} />
            </Fact>
          </Facts>
        </Card>
        {event.purgedAt === null ? (
          <Payload text={payload} />
        ) : (
          <Card
            title="Payload"
            about="Blanked by the operator, with what receivers answered. It cannot be sent again."
          >
            {null}
          </Card>
        )}
        {may("explainEventRouting") ? <WhoGotIt eventId={event.id} createdAt={event.createdAt} /> : null}
        <Card title="Deliveries" flush>
          <List
            label="Deliveries of this event"
            query={deliveries}
            columns={columns}
            empty={<p className="px-5 py-5 text-sm text-soft">No enabled endpoint wanted it.</p>}
          />
        </Card>
      </div>
    </Page>
  )
}
