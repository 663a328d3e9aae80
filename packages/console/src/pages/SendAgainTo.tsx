/** Sends an event again to one of the endpoints that it went to: a replay where it failed, else a resend. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { useAct } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Refusal } from "../ui/States.tsx"
import { StatusBadge } from "../ui/Status.tsx"
import { type DeliveryRow, REPLAYABLE } from "./deliveryColumns.tsx"
import { useEndpoints } from "./useEndpoints.ts"

/** The newest delivery to each endpoint that has ended. */
const lastOfEach = (deliveries: ReadonlyArray<DeliveryRow>): ReadonlyArray<DeliveryRow> => [
  ...new Map(
    deliveries
      .filter(({ status }) => status === "delivered" || REPLAYABLE.includes(status))
      .map((one) => [one.endpointId, one] as const)
      .toReversed()
  ).values()
]

export const SendAgainTo = ({ deliveries }: { deliveries: ReadonlyArray<DeliveryRow> }) => {
  const { may, slug } = useSession()
  const navigate = useNavigate()
  const { nameOf } = useEndpoints()
  const [isOpen, setOpen] = useState(false)
  const replay = useAct("replayWebhookDelivery")
  const resend = useAct("resendWebhookDelivery")
  const choices = lastOfEach(deliveries)
  if (!may("resendWebhookDelivery") || choices.length === 0) return null
  const send = ({ id, status }: DeliveryRow) =>
    (status === "delivered" ? resend : replay).mutate(
      { path: { deliveryId: id } },
      {
        onSuccess: (made) =>
          navigate({ to: "/w/$slug/deliveries/$deliveryId", params: { slug, deliveryId: made.id } })
      }
    )
  return (
    <>
      <Button icon="retry" onPress={() => setOpen(true)}>
        Send again to …
      </Button>
      <Dialog title="Send again to" isOpen={isOpen} close={() => setOpen(false)}>
        <ul className="grid gap-2">
          {choices.map((one) => (
            <li key={one.id} className="flex items-center gap-3 text-sm">
              <span className="min-w-0 flex-1 truncate" title={nameOf(one.endpointId)}>
                {nameOf(one.endpointId)}
              </span>
              <StatusBadge status={one.status} />
              <Button small isDisabled={replay.isPending || resend.isPending} onPress={() => send(one)}>
                Send
              </Button>
            </li>
          ))}
        </ul>
        <Refusal error={replay.error ?? resend.error} />
      </Dialog>
    </>
  )
}
