/** The workspace's notifications: deliveries given up, endpoints disabled. */
import type { ItemOf } from "../api/contract.ts"
import { useAct, useList } from "../api/queries.ts"
import { ButtonLink } from "../session/Link.tsx"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Card, Page } from "../ui/Layout.tsx"
import { List } from "../ui/List.tsx"
import { Empty, Refusal } from "../ui/States.tsx"
import { Badge } from "../ui/Status.tsx"
import type { Column } from "../ui/Table.tsx"
import { Time, WithTimes } from "../ui/Time.tsx"
import { useEndpoints } from "./useEndpoints.ts"

type Row = ItemOf<"listNotifications">

/** Without ids that the page names otherwise, and without the call of the API, which is a button here. */
export const notificationInWords = (
  { deliveryId, endpointId, message }: Row,
  nameOf: (id: string) => string
): string => {
  const [told = ""] = message.split("; then this sends all of it again")
  return told
    .replaceAll(endpointId ?? "\0", nameOf(endpointId ?? ""))
    .replace(`delivery ${deliveryId} `, "a delivery ")
    .replace(`Delivery ${deliveryId} `, "A delivery ")
    .replace(/([^.])$/, "$1.")
}

/** What mends it. */
const Subject = ({ deliveryId, endpointId, kind, slug }: Row & { slug: string }) => {
  const { may } = useSession()
  if (kind === "endpoint_disabled" && endpointId !== null && may("updateWebhookEndpoint"))
    return (
      <ButtonLink to="/w/$slug/endpoints/$endpointId/recover" params={{ slug, endpointId }} small>
        Recover
      </ButtonLink>
    )
  if (deliveryId !== null && (kind !== "endpoint_disabled" || endpointId === null))
    return (
      <ButtonLink to="/w/$slug/deliveries/$deliveryId" params={{ slug, deliveryId }} small>
        Open delivery
      </ButtonLink>
    )
  if (endpointId !== null)
    return (
      <ButtonLink to="/w/$slug/endpoints/$endpointId" params={{ slug, endpointId }} small>
        Open endpoint
      </ButtonLink>
    )
  return null
}

export const Notifications = () => {
  const { may, slug } = useSession()
  const query = useList("listNotifications", { query: { limit: 50 } }, { everyMs: 10_000 })
  const read = useAct("markNotificationRead")
  const { nameOf } = useEndpoints()
  const columns: ReadonlyArray<Column<Row>> = [
    {
      head: "Kind",
      className: "w-40 align-top pt-3",
      cell: ({ kind }) =>
        kind === "endpoint_disabled" ? (
          <Badge tone="bad" icon="pause">
            Disabled
          </Badge>
        ) : (
          <Badge tone="bad" icon="warning">
            Given up
          </Badge>
        )
    },
    {
      head: "What happened",
      className: "py-3",
      cell: (row) => (
        <span className={`[overflow-wrap:anywhere] ${row.readAt === null ? "font-medium" : "text-soft"}`}>
          <WithTimes text={notificationInWords(row, nameOf)} />
        </span>
      )
    },
    {
      head: "Subject",
      hideHead: true,
      className: "w-32 whitespace-nowrap",
      cell: (row) => <Subject {...row} slug={slug} />
    },
    { head: "When", className: "w-28 text-soft", cell: ({ createdAt }) => <Time at={createdAt} /> },
    ...(may("markNotificationRead")
      ? [
          {
            head: "Read",
            hideHead: true,
            className: "w-32 text-end",
            cell: ({ id, readAt }: Row) =>
              readAt === null ? (
                <Button small onPress={() => read.mutate({ path: { notificationId: id } })}>
                  Mark as read
                </Button>
              ) : (
                <span className="text-xs text-faint">read</span>
              )
          }
        ]
      : [])
  ]
  return (
    <Page title="Notifications" about="Deliveries that were given up, and endpoints that were disabled.">
      <div className="grid gap-4">
        <Refusal error={read.error} />
        <Card flush>
          <List
            label="Notifications"
            query={query}
            columns={columns}
            empty={
              <Empty icon="notifications" title="Nothing to look at">
                <p className="text-soft">
                  When a delivery has spent its retries, or an endpoint is disabled because it fails, it is
                  told here. Subscribe an endpoint to <code>webhook.endpoint_disabled</code> to be told at
                  once.
                </p>
              </Empty>
            }
          />
        </Card>
      </div>
    </Page>
  )
}
