/** ⌘K: jumps to any page by name, to an endpoint by what it is called, or to a delivery, event or endpoint by id. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Autocomplete, Input, Menu, MenuItem, SearchField, useFilter } from "react-aria-components"
import { useOperation } from "../api/queries.ts"
import { isEmbedded } from "../session/embedding.ts"
import { useSession } from "../session/session.tsx"
import { setTheme } from "../session/theme.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { shortUrl } from "../ui/shortUrl.ts"
import { usePlaces } from "./usePlaces.ts"

interface Command {
  readonly id: string
  readonly label: string
  /** What else the typed text may stand in. */
  readonly alias?: string
  readonly icon: IconName
  readonly run: () => void
}

const ids = [
  {
    prefix: "whd_",
    page: "deliveries",
    label: "Open delivery",
    to: "/w/$slug/deliveries/$deliveryId",
    param: "deliveryId"
  },
  {
    prefix: "whe_",
    page: "endpoints",
    label: "Open endpoint",
    to: "/w/$slug/endpoints/$endpointId",
    param: "endpointId"
  },
  { prefix: "evt_", page: "events", label: "Open event", to: "/w/$slug/events/$eventId", param: "eventId" }
] as const

const LEAST_TYPED = 2
const MOST_TYPED = 100

const themes: ReadonlyArray<Command> = [
  { id: "light", label: "Light theme", icon: "sun", run: () => setTheme("light") },
  { id: "dark", label: "Dark theme", icon: "moon", run: () => setTheme("dark") },
  { id: "system", label: "Theme of the system", icon: "screen", run: () => setTheme("system") }
]

/** Endpoints with this text in URL, description or external id. */
const useFound = (typed: string): ReadonlyArray<Command> => {
  const { hasPage, may, slug } = useSession()
  const navigate = useNavigate()
  const { data } = useOperation(
    "listWebhookEndpoints",
    { query: { limit: 8, search: typed, order: "recent" } },
    {
      enabled:
        hasPage("endpoints") &&
        may("listWebhookEndpoints") &&
        typed.length >= LEAST_TYPED &&
        typed.length <= MOST_TYPED
    }
  )
  return (data?.items ?? []).map(({ description, externalId, id, url }) => ({
    id,
    label: shortUrl(url),
    alias: `${url} ${description ?? ""} ${externalId ?? ""}`,
    icon: "endpoints" as const,
    run: () => navigate({ to: "/w/$slug/endpoints/$endpointId", params: { slug, endpointId: id } })
  }))
}

const useCommands = (typed: string): ReadonlyArray<Command> => {
  const { hasPage, may, slug } = useSession()
  const navigate = useNavigate()
  const places = usePlaces()
  const found = useFound(typed)
  const named = ids.find(({ page, prefix }) => typed.startsWith(prefix) && hasPage(page))
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
    ...found,
    ...places.map(({ icon, label, to }) => ({
      id: to,
      label,
      icon,
      run: () => navigate({ to, params: { slug } })
    })),
    ...(hasPage("endpoints") && may("createWebhookEndpoint")
      ? [
          {
            id: "new",
            label: "New endpoint",
            icon: "plus" as const,
            run: () => navigate({ to: "/w/$slug/endpoints/new", params: { slug } })
          }
        ]
      : []),
    ...(isEmbedded ? [] : themes)
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
            placeholder="A place, an endpoint, or an id such as whd_…"
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
              textValue={`${command.label} ${command.alias ?? ""}`}
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
