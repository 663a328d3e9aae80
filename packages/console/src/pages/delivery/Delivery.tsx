/** One delivery: every attempt with its request and answer, the next attempts, and sending it again. */
import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams, useRouter } from "@tanstack/react-router"
import { callText } from "../../api/client.ts"
import { useAct, useList, useOperation } from "../../api/queries.ts"
import type { DeliveryDetail } from "../../api/shapes.ts"
import { Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Button } from "../../ui/Button.tsx"
import { Id } from "../../ui/Copy.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { rawMember } from "../../ui/json.ts"
import { Card, Fact, Facts, Page } from "../../ui/Layout.tsx"
import { Payload } from "../../ui/Payload.tsx"
import { Failed, Loading, Refusal } from "../../ui/States.tsx"
import { StatusBadge, statusWords } from "../../ui/Status.tsx"
import { Time } from "../../ui/Time.tsx"
import { REPLAYABLE } from "../deliveryColumns.tsx"
import { useEndpoints } from "../useEndpoints.ts"
import { Timeline } from "./Timeline.tsx"
import { useSentBody } from "./useSentBody.ts"

const isMoving = ({ status }: DeliveryDetail) => status === "pending" || status === "failed"

/** The delivery, with the exact text of its payload. */
const useDelivery = (deliveryId: string) => {
  const { slug } = useSession()
  return useQuery({
    queryKey: [slug, "getWebhookDelivery", deliveryId, "text"],
    queryFn: async ({ signal }) => {
      const text = await callText(slug, "getWebhookDelivery", { path: { deliveryId } }, signal)
      return { delivery: JSON.parse(text) as DeliveryDetail, payload: rawMember(text, "payload") ?? "null" }
    },
    refetchInterval: ({ state }) =>
      state.data === undefined || isMoving(state.data.delivery) ? 2_000 : false
  })
}

/** Replays a delivery that failed, and resends one that was delivered. */
const SendAgain = ({ delivery }: { delivery: DeliveryDetail }) => {
  const { may, slug } = useSession()
  const navigate = useNavigate()
  const isDelivered = delivery.status === "delivered"
  const operation = isDelivered ? "resendWebhookDelivery" : "replayWebhookDelivery"
  const again = useAct(operation)
  if (!may(operation) || !(isDelivered || REPLAYABLE.includes(delivery.status))) return null
  return (
    <div className="grid justify-items-end gap-2">
      <Button
        look={isDelivered ? "plain" : "primary"}
        icon="retry"
        data-key="r"
        isDisabled={again.isPending}
        onPress={() =>
          again.mutate(
            { path: { deliveryId: delivery.id } },
            {
              onSuccess: ({ id }) =>
                navigate({ to: "/w/$slug/deliveries/$deliveryId", params: { slug, deliveryId: id } })
            }
          )
        }
      >
        {isDelivered ? "Resend" : "Replay"}
      </Button>
      <Refusal error={again.error} />
    </div>
  )
}

const Back = () => {
  const { slug } = useSession()
  const router = useRouter()
  return (
    <Link
      to="/w/$slug/deliveries"
      params={{ slug }}
      onClick={(event) => {
        // Back to the filtered list, if the user came from there.
        if (event.metaKey || event.ctrlKey || !router.history.canGoBack()) return
        event.preventDefault()
        router.history.back()
      }}
      className="inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink"
    >
      <Icon name="back" size={14} />
      Back
    </Link>
  )
}

const About = ({ delivery }: { delivery: DeliveryDetail }) => {
  const { may, slug } = useSession()
  const { nameOf } = useEndpoints()
  const link = "inline-flex min-h-6 items-center rounded text-accent-text hover:underline break-all"
  return (
    <Card title="Delivery">
      <Facts tight>
        <Fact name="Endpoint">
          <Link
            to="/w/$slug/endpoints/$endpointId"
            params={{ slug, endpointId: delivery.endpointId }}
            className={link}
          >
            {nameOf(delivery.endpointId)}
          </Link>
        </Fact>
        <Fact name="Id">
          <Id id={delivery.id} />
        </Fact>
        <Fact name="Event">
          {delivery.eventId === null ? (
            "none: a test send"
          ) : may("getEvent") ? (
            <Link
              to="/w/$slug/events/$eventId"
              params={{ slug, eventId: delivery.eventId }}
              className={`${link} font-mono text-xs`}
            >
              {delivery.eventId}
            </Link>
          ) : (
            <Id id={delivery.eventId} />
          )}
        </Fact>
        <Fact name="Created">
          <Time at={delivery.createdAt} focusable />
        </Fact>
        {delivery.replayedFrom === null ? null : (
          <Fact name="Repeats">
            <Link
              to="/w/$slug/deliveries/$deliveryId"
              params={{ slug, deliveryId: delivery.replayedFrom }}
              className={`${link} font-mono text-xs`}
            >
              {delivery.replayedFrom}
            </Link>
          </Fact>
        )}
        {delivery.recoveredBy === null ? null : (
          <Fact name="Recovered by">
            <Link
              to="/w/$slug/deliveries/$deliveryId"
              params={{ slug, deliveryId: delivery.recoveredBy }}
              className={`${link} font-mono text-xs`}
            >
              {delivery.recoveredBy}
            </Link>
          </Fact>
        )}
      </Facts>
    </Card>
  )
}

const Attempts = ({ delivery, payload }: { delivery: DeliveryDetail; payload: string }) => {
  const { may } = useSession()
  const { data: endpoint } = useOperation(
    "getWebhookEndpoint",
    { path: { endpointId: delivery.endpointId } },
    { enabled: may("getWebhookEndpoint"), everyMs: isMoving(delivery) ? 2_000 : false }
  )
  const body = useSentBody(delivery, payload, endpoint?.request?.body)
  const isHeld = isMoving(delivery) && endpoint?.enabled === false
  const query = useList(
    "listWebhookDeliveryAttempts",
    { path: { deliveryId: delivery.id } },
    { enabled: may("listWebhookDeliveryAttempts"), everyMs: isMoving(delivery) ? 2_000 : false }
  )
  if (!may("listWebhookDeliveryAttempts"))
    return (
      <Card title="Attempts">
        <p className="text-sm text-soft">Attempts show what was sent and answered. You may not see them.</p>
      </Card>
    )
  const { error, items, refetch } = query
  return (
    <Card
      title="Attempts"
      about={isHeld ? "Waits: its endpoint is disabled." : statusWords[delivery.status].means}
    >
      {items === undefined ? (
        error === null ? (
          <Loading rows={3} />
        ) : (
          <Failed error={error} retry={refetch} />
        )
      ) : (
        <Timeline delivery={delivery} attempts={items} body={body} endpoint={endpoint} />
      )}
    </Card>
  )
}

export const Delivery = () => {
  const { deliveryId } = useParams({ from: "/w/$slug/deliveries/$deliveryId" })
  const { data, error, refetch } = useDelivery(deliveryId)
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  const { delivery, payload } = data
  return (
    <Page
      title={
        <span className="flex flex-wrap items-center gap-3">
          <span className="font-mono text-xl tracking-normal break-all">{delivery.eventType}</span>
          <StatusBadge status={delivery.status} />
        </span>
      }
      name={`${delivery.eventType} ${statusWords[delivery.status].label}`}
      back={<Back />}
      actions={<SendAgain delivery={delivery} />}
    >
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Attempts delivery={delivery} payload={payload} />
        <div className="grid gap-5 lg:row-start-1 lg:col-start-2">
          <About delivery={delivery} />
          <Payload text={payload} />
        </div>
      </div>
    </Page>
  )
}
