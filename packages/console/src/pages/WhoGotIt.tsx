/** Who got an event and who did not: for each endpoint there is now the reason in words, and what can be done. */
import type { ItemOf } from "../api/contract.ts"
import { useList } from "../api/queries.ts"
import { ActionLink, Link } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { Card } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Badge, type Tone } from "../ui/Status.tsx"
import type { Column } from "../ui/Table.tsx"
import { Unmet } from "./endpoint/filter/Unmet.tsx"
import { useEndpoints } from "./useEndpoints.ts"

type Route = ItemOf<"explainEventRouting">

interface Words {
  readonly label: string
  readonly tone: Tone
  readonly icon: IconName
  readonly means: string
  /** Where something can be done about it. */
  readonly todo?: "recover" | "settings"
}

const got = { tone: "good", icon: "checkCircle" } as const
const not = { tone: "idle", icon: "crossCircle" } as const
const words: Record<Route["reason"], Words> = {
  sent: { ...got, label: "Sent", means: "The publish made a delivery." },
  unfilterable: { ...got, label: "Sent", means: "Sent without being judged." },
  not_chosen: { ...not, label: "Not chosen", means: "The publish named other endpoints." },
  about_itself: { ...not, label: "About itself", means: "It is not told that it was disabled." },
  missed: {
    label: "Missed",
    tone: "warn",
    icon: "pause",
    means: "It was disabled, so it got no delivery.",
    todo: "recover"
  },
  created_later: {
    ...not,
    label: "Not there yet",
    means: "It was made after the event was published.",
    todo: "recover"
  },
  changed_since: {
    ...not,
    label: "Changed since",
    means: "It would get it now, and did not then.",
    todo: "recover"
  },
  type: {
    ...not,
    label: "Another type",
    means: "None of its event types fits.",
    todo: "settings"
  },
  filter: {
    ...not,
    label: "Filtered out",
    means: "Its filter does not let the payload through.",
    todo: "settings"
  }
}

const LINK = "me-3 inline-flex min-h-6 items-center rounded text-accent-text hover:underline"

const ToDo = ({
  createdAt,
  route: { deliveryId, endpointId, reason }
}: {
  route: Route
  createdAt: string
}) => {
  const { may, slug } = useSession()
  const { todo } = words[reason]
  const params = { slug, endpointId }
  return (
    <>
      {deliveryId === null ? null : (
        <ActionLink to="/w/$slug/deliveries/$deliveryId" params={{ slug, deliveryId }} className={LINK}>
          Open the delivery
        </ActionLink>
      )}
      {todo === "recover" && may("startReplay") ? (
        <ActionLink
          to="/w/$slug/endpoints/$endpointId/recover"
          params={params}
          search={{ from: createdAt, ...(reason !== "missed" && { unsent: "yes" }) }}
          className={LINK}
        >
          Send what it did not get
        </ActionLink>
      ) : null}
      {todo === "settings" && may("updateWebhookEndpoint") ? (
        <ActionLink
          to="/w/$slug/endpoints/$endpointId"
          params={params}
          search={{ tab: "settings" }}
          className={LINK}
        >
          Change what it wants
        </ActionLink>
      ) : null}
    </>
  )
}

const Why = ({ route: { because, reason } }: { route: Route }) => (
  <span className="block min-w-0 py-1.5 break-words">
    {because === null ? words[reason].means : <Unmet {...because} />}
  </span>
)

export const WhoGotIt = ({ createdAt, eventId }: { eventId: string; createdAt: string }) => {
  const { slug } = useSession()
  const { nameOf } = useEndpoints()
  const { items, ...query } = useList(
    "explainEventRouting",
    { path: { eventId }, query: { limit: 50 } } as never,
    { everyMs: 10_000 }
  )
  const columns: ReadonlyArray<Column<Route & { readonly id: string }>> = [
    {
      head: "Endpoint",
      cell: ({ endpointId }) => (
        <Link
          to="/w/$slug/endpoints/$endpointId"
          params={{ slug, endpointId }}
          className="inline-flex min-h-6 items-center rounded font-mono text-xs font-medium break-all hover:underline"
        >
          {nameOf(endpointId)}
        </Link>
      )
    },
    {
      head: "Outcome",
      className: "w-36",
      cell: ({ reason }) => (
        <Badge tone={words[reason].tone} icon={words[reason].icon} title={reason}>
          {words[reason].label}
        </Badge>
      )
    },
    { head: "Why", cell: (route) => <Why route={route} /> },
    { head: "What to do", className: "w-52", cell: (route) => <ToDo route={route} createdAt={createdAt} /> }
  ]
  return (
    <Card title="Who got it" about="For each endpoint that there is now, the reason." flush>
      <List
        label="Who got it"
        query={{ ...query, items: items?.map((route) => ({ ...route, id: route.endpointId })) }}
        columns={columns}
        empty={<p className="px-5 py-5 text-sm text-soft">There is no endpoint.</p>}
        more="Show more"
      />
    </Card>
  )
}
