/** Selects deliveries that were given up, and replays them one after another. What could not be replayed stays selected. */
import { useState } from "react"
import { useAct } from "../api/queries.ts"
import { useSession } from "../session/session.tsx"
import { Button } from "../ui/Button.tsx"
import { Checkbox } from "../ui/Field.tsx"
import { Refusal } from "../ui/States.tsx"
import type { Column } from "../ui/Table.tsx"
import type { DeliveryRow } from "./deliveryColumns.tsx"

const NONE: ReadonlySet<string> = new Set()

export const useReplaySelected = () => {
  const { may } = useSession()
  const replay = useAct("replayWebhookDelivery")
  const [selected, setSelected] = useState(NONE)
  const [isRunning, setRunning] = useState(false)
  const set = (id: string, on: boolean) =>
    setSelected((old) => new Set(on ? [...old, id] : [...old].filter((each) => each !== id)))
  const run = async () => {
    setRunning(true)
    try {
      for (const id of selected) {
        await replay.mutateAsync({ path: { deliveryId: id } })
        set(id, false)
      }
    } catch {
      // `replay.error` says why.
    }
    setRunning(false)
  }
  const column: Column<DeliveryRow> = {
    head: "Select",
    hideHead: true,
    narrow: "hide",
    className: "w-8",
    cell: ({ eventType, id, recoveredBy, status }) =>
      (status === "failed_permanent" || status === "dead_lettered") && recoveredBy === null ? (
        <Checkbox
          label={<span className="sr-only">{`Select ${eventType}`}</span>}
          isSelected={selected.has(id)}
          onChange={(on) => set(id, on)}
        />
      ) : null
  }
  const bar =
    selected.size === 0 ? null : (
      <span className="flex items-center gap-2">
        <Button look="primary" icon="retry" isDisabled={isRunning} onPress={run}>
          {`Replay ${selected.size}`}
        </Button>
        <Button look="quiet" isDisabled={isRunning} onPress={() => setSelected(NONE)}>
          Select none
        </Button>
        <Refusal error={replay.error} />
      </span>
    )
  return { columns: may("replayWebhookDelivery") ? [column] : [], bar }
}
