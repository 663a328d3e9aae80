/** Published events: the types with their volume, the list, and publishing one by hand. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useMemo, useState } from "react"
import type { ItemOf, Request } from "../api/contract.ts"
import { live, useAct, useList } from "../api/queries.ts"
import { Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Code } from "../ui/Code.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { TextField } from "../ui/Field.tsx"
import { FilterEventType, FilteredList, FilterText, FilterTime, filtersOf, sinceOf } from "../ui/Filters.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { useLive } from "../ui/Live.tsx"
import { Empty, Failed, Loading, Refusal } from "../ui/States.tsx"
import { type Column, Table } from "../ui/Table.tsx"
import { Time } from "../ui/Time.tsx"
import { problemOfJson, publishBody } from "./publishBody.ts"
import { publishCommand } from "./publishCommand.ts"

type Event = ItemOf<"listEvents">
type EventType = ItemOf<"listEventTypes">

const Publish = ({ close }: { close: () => void }) => {
  const { slug } = useSession()
  const [eventType, setEventType] = useState("")
  const [payload, setPayload] = useState("{\n  \n}")
  const publish = useAct("publishEvent")
  const problem = problemOfJson(payload)
  const { data } = publish
  return (
    <Dialog title="Publish an event" isOpen close={close} wide>
      {data !== undefined ? (
        <div className="grid gap-4">
          <p role="status" className="text-sm">
            Published.{" "}
            {data.deliveryIds.length === 0
              ? "No enabled endpoint wants this type."
              : `It became ${data.deliveryIds.length} ${data.deliveryIds.length === 1 ? "delivery" : "deliveries"}.`}
          </p>
          <div className="flex justify-end gap-2">
            <Link
              to="/w/$slug/events/$eventId"
              params={{ slug, eventId: data.id }}
              className="inline-flex h-8 items-center rounded px-2 text-sm text-accent-text hover:underline"
            >
              Open the event
            </Link>
            <Button look="primary" onPress={close}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <form
          className="grid gap-4"
          onSubmit={(event) => {
            event.preventDefault()
            if (problem === undefined && eventType.trim() !== "")
              publish.mutate({
                body: publishBody(eventType.trim(), payload)
              } as unknown as Request<"publishEvent">)
          }}
        >
          <p className="text-sm text-soft">It goes to every enabled endpoint that wants its type.</p>
          <TextField
            label="Event type"
            value={eventType}
            onChange={setEventType}
            mono
            placeholder="invoice.paid"
            autoFocus
          />
          <TextField label="Payload" value={payload} onChange={setPayload} lines={9} mono error={problem} />
          <Refusal error={publish.error} />
          <div className="flex justify-end gap-2">
            <Button onPress={close}>Cancel</Button>
            <Button
              type="submit"
              look="primary"
              isDisabled={publish.isPending || problem !== undefined || eventType.trim() === ""}
            >
              Publish
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

const Types = ({ choose }: { choose: (eventType: string) => void }) => {
  const { error, items, refetch } = useList("listEventTypes", { query: { limit: 200 } }, { everyMs: 30_000 })
  const columns: ReadonlyArray<Column<EventType & { id: string }>> = [
    {
      head: "Event type",
      cell: ({ eventType }) => (
        <button
          type="button"
          onClick={() => choose(eventType)}
          className="min-h-6 rounded text-start font-mono text-xs font-medium break-all hover:underline"
        >
          {eventType}
        </button>
      )
    },
    { head: "Last 24 hours", className: "w-32", cell: ({ lastDay }) => lastDay.toLocaleString() },
    {
      head: "Endpoints that want it",
      className: "w-48",
      cell: ({ endpoints }) =>
        endpoints === 0 ? <span className="text-warn">none</span> : endpoints.toLocaleString()
    },
    {
      head: "Last seen",
      className: "w-28 text-soft",
      cell: ({ lastSeenAt }) => (lastSeenAt === null ? "never" : <Time at={lastSeenAt} />)
    }
  ]
  return (
    <Card title="Event types" flush>
      {items === undefined ? (
        error === null ? (
          <Loading rows={3} />
        ) : (
          <Failed error={error} retry={refetch} />
        )
      ) : items.length === 0 ? (
        <p className="px-5 py-5 text-sm text-soft">None yet.</p>
      ) : (
        <Table
          label="Event types"
          columns={columns}
          rows={items.map((type) => ({ ...type, id: type.eventType }))}
        />
      )}
    </Card>
  )
}

/** Such as `/order/id=4711`. */
const PAYLOAD_VALUE = /^((?:\/(?:[^~/=]|~[01])*)+)=(.*)$/s

const payloadFilter = (text: string | undefined) => {
  const [, payloadPath, payloadValue] = PAYLOAD_VALUE.exec(text ?? "") ?? []
  return { payloadPath, payloadValue }
}

const columns = (slug: string): ReadonlyArray<Column<Event>> => [
  {
    head: "Event type",
    cell: ({ eventType, id }) => (
      <Link
        to="/w/$slug/events/$eventId"
        params={{ slug, eventId: id }}
        className="inline-flex min-h-6 items-center rounded font-medium break-all hover:underline"
      >
        {eventType}
      </Link>
    )
  },
  { head: "Deliveries", className: "w-28", cell: ({ deliveries }) => deliveries.toLocaleString() },
  {
    head: "Missed",
    className: "w-28",
    cell: ({ missed }) =>
      missed === 0 ? (
        <span className="text-faint">–</span>
      ) : (
        <span className="text-warn">{missed.toLocaleString()}</span>
      )
  },
  {
    head: "Id",
    className: "w-72",
    cell: ({ id }) => <span className="font-mono text-xs break-all text-faint">{id}</span>
  },
  { head: "Published", className: "w-28 text-soft", cell: ({ createdAt }) => <Time at={createdAt} /> }
]

export const Events = () => {
  const { may, slug } = useSession()
  const search = useSearch({ from: "/w/$slug/events" })
  const navigate = useNavigate({ from: "/w/$slug/events" })
  const [isOpen, setOpen] = useState(false)
  const { on, toggle } = useLive()
  const { eventType, idempotencyKey, payload, within } = search
  const request = useMemo(
    () => ({
      query: {
        limit: 50,
        payload: "omit" as const,
        eventType,
        idempotencyKey,
        ...payloadFilter(payload),
        since: sinceOf(within)
      }
    }),
    [eventType, idempotencyKey, payload, within]
  )
  const query = useList("listEvents", request as never, { everyMs: live(on) })
  const filters = filtersOf(search, (search) => navigate({ search }))
  return (
    <Page
      title="Events"
      about="What was published, whoever wanted it. Usually kept for 30 days."
      actions={
        <>
          {toggle}
          {may("publishEvent") ? (
            <Button look="primary" icon="plus" onPress={() => setOpen(true)}>
              Publish event
            </Button>
          ) : null}
        </>
      }
    >
      <div className="grid gap-5">
        <Types choose={(type) => filters.change({ eventType: type })} />
        <FilteredList
          label="Events"
          what="events"
          filters={filters}
          query={query}
          columns={columns(slug)}
          bar={
            <>
              <FilterEventType filters={filters} />
              <FilterText
                filters={filters}
                name="idempotencyKey"
                label="Idempotency key"
                placeholder="Idempotency key, of the last 24 hours"
              />
              <FilterText
                filters={filters}
                name="payload"
                label="Value in the payload"
                placeholder="In the payload, such as /order/id=4711"
                problemOf={(text) =>
                  PAYLOAD_VALUE.test(text)
                    ? undefined
                    : "Write where it stands and what: /order/id=4711, or /lines/0/sku=abc."
                }
              />
              <FilterTime filters={filters} />
            </>
          }
          empty={
            <Empty icon="events" title="No event yet">
              <p className="text-soft">Publish the first one:</p>
              <div className="w-full">
                <Code text={publishCommand(slug)} label="Publish an event" />
              </div>
            </Empty>
          }
        />
      </div>
      {isOpen ? <Publish close={() => setOpen(false)} /> : null}
    </Page>
  )
}
