/** Sends a test event and watches it until its first attempt has an outcome. */
import { failureInWords } from "@posthorn/domain/FailureWords"
import { useState } from "react"
import type { Answer, Request } from "../../api/contract.ts"
import { useAct, useOperation } from "../../api/queries.ts"
import { Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { Button, type Look } from "../../ui/Button.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { Refusal } from "../../ui/States.tsx"
import { StatusBadge } from "../../ui/Status.tsx"
import { duration } from "../../ui/Time.tsx"

type Delivery = Answer<"getWebhookDelivery">

const WATCH_MS = 400

/** The delivery's present state, polled until its first attempt. */
const useWatched = (deliveryId: string | undefined): Delivery | undefined => {
  const [tried, setTried] = useState<string | undefined>(undefined)
  const { data } = useOperation(
    "getWebhookDelivery",
    { path: { deliveryId: deliveryId ?? "" } },
    { enabled: deliveryId !== undefined, everyMs: tried === deliveryId ? false : WATCH_MS }
  )
  if (data !== undefined && data.attempts > 0 && tried !== data.id) setTried(data.id)
  return data
}

export const Outcome = ({ delivery }: { delivery: Delivery | undefined }) => {
  const { slug } = useSession()
  const isTried = delivery !== undefined && delivery.attempts > 0
  return (
    <div role="status" className="rounded-lg border px-4 py-3.5">
      {!isTried ? (
        <p className="flex items-center gap-2 text-sm text-soft">
          <Icon name="send" size={15} className="motion-safe:animate-pulse" />
          Sent. Waiting for the answer …
        </p>
      ) : (
        <div className="grid gap-2 text-sm">
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <StatusBadge status={delivery.status} />
            <span className="font-medium">
              {failureInWords(delivery.lastFailureReason, delivery.lastHttpStatus)}
            </span>
            {delivery.lastDurationMs === null ? null : (
              <span className="text-faint">in {duration(delivery.lastDurationMs)}</span>
            )}
          </p>
          <Link
            to="/w/$slug/deliveries/$deliveryId"
            params={{ slug, deliveryId: delivery.id }}
            className="inline-flex min-h-6 w-fit items-center rounded text-accent-text hover:underline"
          >
            See what was sent and answered
          </Link>
        </div>
      )}
    </div>
  )
}

export const useTest = (endpointId: string) => {
  const send = useAct("sendTestEvent")
  const delivery = useWatched(send.data?.id)
  const isDelivered = delivery?.status === "delivered"
  return {
    send: (body?: unknown) =>
      send.mutate({
        path: { endpointId },
        ...(body === undefined ? {} : { body })
      } as unknown as Request<"sendTestEvent">),
    sent: send.data,
    delivery: send.data === undefined ? undefined : (delivery ?? send.data),
    isPending: send.isPending,
    isDelivered,
    error: send.error,
    reset: send.reset
  }
}

/** The button, and a dialog with the result. */
export const Test = ({ endpointId, look = "primary" }: { endpointId: string; look?: Look }) => {
  const test = useTest(endpointId)
  const [isOpen, setOpen] = useState(false)
  const start = () => {
    setOpen(true)
    test.send()
  }
  return (
    <>
      <Button look={look} data-key="t" onPress={start} isDisabled={test.isPending}>
        Send test event
      </Button>
      <Dialog title="Test event" isOpen={isOpen} close={() => setOpen(false)}>
        <p className="text-sm text-soft">
          A <code className="text-xs">webhook.test_event</code>, signed like any other, for this endpoint
          alone.
        </p>
        <Refusal error={test.error} />
        {test.error === null ? <Outcome delivery={test.delivery} /> : null}
        <div className="flex justify-end gap-2">
          <Button onPress={() => test.send()} isDisabled={test.isPending}>
            Send another
          </Button>
          <Button look="primary" onPress={() => setOpen(false)}>
            Done
          </Button>
        </div>
      </Dialog>
    </>
  )
}
