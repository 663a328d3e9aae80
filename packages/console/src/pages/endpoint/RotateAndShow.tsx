/**
 * Makes a new signing secret and shows it once. It exists only in this component, not in a cache, storage or address, and is
 * gone when the user leaves.
 */
import { useEffect, useState } from "react"
import { useAct } from "../../api/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { Code } from "../../ui/Code.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Refusal } from "../../ui/States.tsx"

export const ShownSecret = ({
  about = "",
  put,
  secret
}: {
  secret: string
  about?: string
  put: () => void
}) => (
  <div className="grid gap-3" role="group" aria-label="New signing secret">
    <p className="text-sm">Copy it now: it is shown this once.{about}</p>
    <Code text={secret} label="Signing secret" wrap />
    <div>
      <Button look="primary" onPress={put}>
        I have stored it
      </Button>
    </div>
  </div>
)

export const RotateAndShow = ({
  endpointId,
  graceRuns = false
}: {
  endpointId: string
  /** Whether an older secret still signs: rotating again ends that at once. */
  graceRuns?: boolean
}) => {
  const rotate = useAct("rotateWebhookSecret")
  const [secret, setSecret] = useState<string | null>(null)
  const [asks, setAsks] = useState(false)
  const { reset } = rotate
  useEffect(() => reset, [reset])
  const run = () =>
    rotate.mutate(
      { path: { endpointId } },
      {
        onSuccess: (answer) => {
          setSecret(answer.signingSecret)
          setAsks(false)
          reset()
        }
      }
    )
  if (secret !== null)
    return (
      <ShownSecret
        secret={secret}
        about=" Until the countdown ends, deliveries are signed with the old secret too, so your receiver keeps working."
        put={() => setSecret(null)}
      />
    )
  return (
    <div className="grid gap-3">
      <Refusal error={asks ? null : rotate.error} />
      <div>
        <Button onPress={() => setAsks(true)} isDisabled={rotate.isPending}>
          Rotate secret
        </Button>
      </div>
      <Confirm
        title={graceRuns ? "Rotate again, within the 24 hours?" : "Rotate the signing secret?"}
        action="Rotate now"
        danger={graceRuns}
        isOpen={asks}
        close={() => setAsks(false)}
        confirm={run}
        isPending={rotate.isPending}
        error={rotate.error}
      >
        {graceRuns
          ? "The secret from before the last rotation stops signing at once. A receiver that still uses it will refuse what is sent."
          : "A new secret signs from now on. The present one signs too for 24 hours, so there is time to change the receiver."}
      </Confirm>
    </div>
  )
}
