/** The navigation: at the side, or behind a button on narrow screens; above the page in a frame of another page. */
import { useQueryClient } from "@tanstack/react-query"
import { Link, useLocation, useNavigate } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { useOperation } from "../api/queries.ts"
import { Brand } from "../session/Brand.tsx"
import { signOut, useSession } from "../session/session.tsx"
import { setTheme, type Theme, useTheme } from "../session/theme.ts"
import { welcomeKey } from "../session/useWelcome.ts"
import { IconButton } from "../ui/Button.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { COMMAND_K } from "./keys.ts"
import { usePlaces } from "./usePlaces.ts"

/** `inRows`: beside each other, in as many rows as they need. */
const Places = ({ inRows = false }: { inRows?: boolean }) => {
  const { may, slug } = useSession()
  const places = usePlaces()
  const overview = useOperation("getOverview", {}, { enabled: may("getOverview"), everyMs: 15_000 })
  const unread = overview.data?.unreadNotifications ?? 0
  return (
    <ul className={inRows ? "flex flex-wrap gap-x-1 gap-y-0.5" : "grid gap-0.5"}>
      {places.map(({ icon, key, label, to }) => (
        <li key={to}>
          <Link
            to={to}
            params={{ slug }}
            data-place={key}
            activeOptions={{ exact: false, includeSearch: false }}
            className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm font-medium text-soft hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:text-ink"
          >
            {inRows ? null : <Icon name={icon} className="text-faint" />}
            {label}
            {key === "n" && unread > 0 ? (
              <span
                aria-hidden="true"
                className="ms-auto rounded-full px-1.5 text-xs text-accent-text tint-accent"
              >
                {unread > 99 ? "99+" : unread}
              </span>
            ) : null}
          </Link>
        </li>
      ))}
    </ul>
  )
}

const themes: ReadonlyArray<{ id: Theme; label: string; icon: IconName }> = [
  { id: "system", label: "Theme of the system", icon: "screen" },
  { id: "light", label: "Light theme", icon: "sun" },
  { id: "dark", label: "Dark theme", icon: "moon" }
]

const Themes = () => {
  const theme = useTheme()
  return (
    <div className="flex rounded-md border p-0.5" role="group" aria-label="Theme">
      {themes.map(({ icon, id, label }) => (
        <button
          key={id}
          type="button"
          aria-pressed={theme === id}
          aria-label={label}
          title={label}
          onClick={() => setTheme(id)}
          className="grid size-6 place-items-center rounded text-faint hover:text-ink aria-pressed:bg-hover aria-pressed:text-ink"
        >
          <Icon name={icon} size={13} />
        </button>
      ))}
    </div>
  )
}

const WorkspaceName = () => {
  const { session, slug, welcome } = useSession()
  const others = welcome.sessions.filter(({ workspace }) => workspace.slug !== slug)
  return (
    <div className="grid gap-0.5 px-2.5">
      <span className="truncate text-sm font-medium" title={session.workspace.name}>
        {session.workspace.name}
      </span>
      <span className="truncate font-mono text-xs text-faint">{slug}</span>
      {others.length === 0 ? null : (
        <ul aria-label="Other workspaces" className="mt-1 grid gap-0.5">
          {others.map(({ workspace }) => (
            <li key={workspace.slug}>
              <Link
                to="/w/$slug"
                params={{ slug: workspace.slug }}
                className="inline-flex min-h-6 items-center gap-1 rounded text-xs text-accent-text hover:underline"
              >
                <Icon name="right" size={12} />
                {workspace.name}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const Foot = ({ openSheet }: { openSheet: () => void }) => {
  const { session, slug } = useSession()
  const navigate = useNavigate()
  const client = useQueryClient()
  const leave = async () => {
    await signOut(slug).catch(() => undefined)
    await navigate({ to: "/sign-in", replace: true })
    client.removeQueries({ queryKey: [slug] })
    client.resetQueries({ queryKey: welcomeKey })
  }
  const { actor } = session
  return (
    <div className="grid gap-3 border-t pt-3">
      <div className="flex items-center justify-between gap-2 px-1">
        <Themes />
        <IconButton icon="keyboard" label="Keyboard shortcuts" onPress={openSheet} />
      </div>
      <div className="flex items-center justify-between gap-2 ps-2.5">
        <span className="min-w-0">
          <span className="block truncate text-sm">{actor.name ?? "Operator"}</span>
          <span className="block text-xs text-faint">
            {actor.type === "member"
              ? "Member"
              : actor.type === "api_token"
                ? "By API token"
                : "By the operator’s link"}
          </span>
        </span>
        <IconButton icon="out" label="Sign out" onPress={leave} />
      </div>
    </div>
  )
}

export const Navigation = ({
  openPalette,
  openSheet
}: {
  openPalette: () => void
  openSheet: () => void
}) => {
  const { welcome } = useSession()
  const [isOpen, setOpen] = useState(false)
  const { pathname } = useLocation()
  useEffect(() => setOpen(false), [pathname])
  return (
    <header className="border-b bg-surface lg:sticky lg:top-0 lg:h-dvh lg:border-e lg:border-b-0">
      <div className="flex h-14 items-center justify-between gap-3 px-4 lg:hidden">
        <Brand brand={welcome.brand} />
        <IconButton
          icon={isOpen ? "cross" : "menu"}
          label={isOpen ? "Close the navigation" : "Open the navigation"}
          aria-expanded={isOpen}
          aria-controls="navigation"
          onPress={() => setOpen(!isOpen)}
        />
      </div>
      <div
        id="navigation"
        className={`${isOpen ? "flex" : "hidden"} h-full flex-col gap-5 overflow-y-auto px-3 pt-2 pb-4 lg:flex lg:pt-5`}
      >
        <div className="hidden px-2.5 lg:block">
          <Brand brand={welcome.brand} />
        </div>
        <WorkspaceName />
        <button
          type="button"
          onClick={openPalette}
          className="flex h-8 items-center justify-between gap-2 rounded-md border bg-canvas px-2.5 text-sm text-faint hover:text-ink"
        >
          <span className="flex items-center gap-2">
            <Icon name="search" size={14} />
            Go to …
          </span>
          <kbd className="text-xs" aria-hidden="true">
            {COMMAND_K}
          </kbd>
        </button>
        <nav aria-label="Main" className="flex-1">
          <Places />
        </nav>
        <Foot openSheet={openSheet} />
      </div>
    </header>
  )
}

/** The page around it has a name, a theme, and whoever is signed in. A single page needs no navigation. */
export const EmbeddedNavigation = () =>
  usePlaces().length < 2 ? null : (
    <nav aria-label="Webhooks" className="border-b pb-2">
      <Places inRows />
    </nav>
  )
