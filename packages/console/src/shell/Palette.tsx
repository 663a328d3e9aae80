/** ⌘K: jumps to any page by name, or to a delivery, event or endpoint by id. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Autocomplete, Input, Menu, MenuItem, SearchField, useFilter } from "react-aria-components"
import { useSession } from "../session/session.tsx"
import { setTheme } from "../session/theme.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { places } from "./places.ts"

interface Command {
  readonly id: string
  readonly label: string
  readonly icon: IconName
  readonly run: () => void
}

const ids = [
  { prefix: "whd_", label: "Open delivery", to: "/w/$slug/deliveries/$deliveryId", param: "deliveryId" },
  { prefix: "whe_", label: "Open endpoint", to: "/w/$slug/endpoints/$endpointId", param: "endpointId" },
  { prefix: "evt_", label: "Open event", to: "/w/$slug/events/$eventId", param: "eventId" }
] as const

const useCommands = (typed: string): ReadonlyArray<Command> => {
  const { may, slug } = useSession()
  const navigate = useNavigate()
  const named = ids.find(({ prefix }) => typed.startsWith(prefix))
  return [
    ...(named === undefined
      ? []
      : [
          {
            id: "id",
            label: `${named.label} ${typed}`,
            icon: "send" as const,
            run: () => navigate({ to: named.to, params: { slug, [named.param]: typed } as never })
          }
        ]),
    ...places
      .filter(({ needs }) => may(needs))
      .map(({ icon, label, to }) => ({ id: to, label, icon, run: () => navigate({ to, params: { slug } }) })),
    ...(may("createWebhookEndpoint")
      ? [
          {
            id: "new",
            label: "New endpoint",
            icon: "plus" as const,
            run: () => navigate({ to: "/w/$slug/endpoints/new", params: { slug } })
          }
        ]
      : []),
    { id: "light", label: "Light theme", icon: "sun", run: () => setTheme("light") },
    { id: "dark", label: "Dark theme", icon: "moon", run: () => setTheme("dark") },
    { id: "system", label: "Theme of the system", icon: "screen", run: () => setTheme("system") }
  ]
}

const Palette = ({ close }: { close: () => void }) => {
  const [typed, setTyped] = useState("")
  const commands = useCommands(typed.trim())
  const { contains } = useFilter({ sensitivity: "base" })
  const run = (id: React.Key) => {
    close()
    commands.find((command) => command.id === id)?.run()
  }
  return (
    <Dialog title="Go to" isOpen close={close}>
      <Autocomplete filter={contains} inputValue={typed} onInputChange={setTyped}>
        <SearchField aria-label="Place or id" autoFocus>
          <Input
            placeholder="A place, or an id such as whd_…"
            className="h-10 w-full rounded-md border border-control-line bg-surface px-3 text-base"
          />
        </SearchField>
        <Menu
          aria-label="Places"
          items={commands}
          onAction={run}
          className="-mx-2 outline-none"
          renderEmptyState={() => <p className="px-3 py-2 text-sm text-faint">No place has this name.</p>}
        >
          {(command: Command) => (
            <MenuItem
              id={command.id}
              textValue={command.label}
              className="flex h-9 cursor-default items-center gap-3 rounded-md px-3 text-sm data-[focused]:bg-hover"
            >
              <Icon name={command.icon} className="text-faint" />
              <span className="truncate">{command.label}</span>
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </Dialog>
  )
}

export default Palette
