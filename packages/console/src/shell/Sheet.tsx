/** `?`: lists all keys, and can switch single-letter keys off. */

import { Dialog } from "../ui/Dialog.tsx"
import { Checkbox } from "../ui/Field.tsx"
import { usePlaces } from "./usePlaces.ts"

const general: ReadonlyArray<readonly [string, string]> = [
  ["⌘K or Ctrl K", "Go to a place or an id"],
  ["j / k", "Next or previous row"],
  ["Enter", "Open the row"],
  ["/", "To the filter"],
  ["t", "Send test event"],
  ["r", "Replay, Resend, or Recover"],
  ["l", "Live updates on or off"],
  ["?", "This sheet"],
  ["Esc", "Close what is open"]
]

const Sheet = ({
  change,
  close,
  enabled
}: {
  close: () => void
  enabled: boolean
  change: (on: boolean) => void
}) => {
  const places = usePlaces().map(({ key, label }) => [`g ${key}`, label] as const)
  return (
    <Dialog title="Keyboard shortcuts" isOpen close={close} wide>
      <dl className="grid gap-x-8 gap-y-1.5 sm:grid-cols-2">
        {[...general, ...places].map(([key, what]) => (
          <div key={key} className="flex items-baseline justify-between gap-4 text-sm">
            <dt className="order-2">
              <kbd className="rounded border bg-sunken px-1.5 py-0.5 text-xs">{key}</kbd>
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
      <Checkbox
        label="Single letters are shortcuts"
        about="Switch them off if they get in your way. ⌘K and Ctrl K stay."
        isSelected={enabled}
        onChange={change}
      />
    </Dialog>
  )
}

export default Sheet
