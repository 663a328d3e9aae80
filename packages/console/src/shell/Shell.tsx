/** The frame of every page of a workspace: navigation, page-wide problems, keys. */
import { useQueryClient } from "@tanstack/react-query"
import { Link, Outlet, useLocation, useParams, useRouter } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useState } from "react"
import { queryClient, setTrouble, useTrouble } from "../api/queries.ts"
import { fetchWelcome, SessionProvider, type Welcome } from "../session/session.tsx"
import { useWelcome, welcomeKey } from "../session/useWelcome.ts"
import { Button, buttonClass } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Failed, Loading } from "../ui/States.tsx"
import { useKeys } from "./keys.ts"
import { Navigation } from "./Navigation.tsx"

const Palette = lazy(() => import("./Palette.tsx"))
const Sheet = lazy(() => import("./Sheet.tsx"))

const AGAIN_MS = 2_000

/** Shows that the server is unreachable, polls until it is back, and then refetches everything on the page. */
const Away = () => {
  useEffect(() => {
    const timer = setInterval(
      () =>
        fetchWelcome().then(
          () => {
            setTrouble(null)
            queryClient.invalidateQueries()
          },
          () => undefined
        ),
      AGAIN_MS
    )
    return () => clearInterval(timer)
  }, [])
  return (
    <div
      role="alert"
      className="sticky top-0 z-20 flex items-center justify-center gap-2 bg-warn px-4 py-2 text-sm font-medium text-surface"
    >
      <Icon name="warning" size={14} />
      The server does not answer. What you see may be old; this page goes on by itself when it is back.
    </div>
  )
}

const Ended = ({ slug }: { slug: string }) => {
  const client = useQueryClient()
  const again = () => {
    setTrouble(null)
    client.removeQueries({ queryKey: [slug] })
    client.resetQueries({ queryKey: welcomeKey })
  }
  return (
    <main className="mx-auto grid min-h-dvh max-w-md content-center justify-items-start gap-4 px-6">
      <Icon name="key" size={22} className="text-faint" />
      <h1 className="text-2xl font-semibold tracking-tight">Your session has ended</h1>
      <p className="text-soft" role="alert">
        You signed out, or were away for long, or what you signed in with was revoked. Nothing that you did is
        lost.
      </p>
      <Button look="primary" onPress={again}>
        Sign in
      </Button>
    </main>
  )
}

const Frame = ({ slug }: { slug: string }) => {
  const [opened, setOpened] = useState<"palette" | "sheet" | null>(null)
  const trouble = useTrouble()
  const { pathname } = useLocation()
  const keys = useKeys(slug, { palette: () => setOpened("palette"), sheet: () => setOpened("sheet") })
  const close = () => setOpened(null)
  if (trouble === "ended") return <Ended slug={slug} />
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="absolute z-30 -translate-y-full rounded-md bg-accent px-3 py-2 text-accent-ink focus:translate-y-2"
      >
        Skip to the content
      </a>
      <Navigation openPalette={() => setOpened("palette")} openSheet={() => setOpened("sheet")} />
      <main id="main" tabIndex={-1} className="min-w-0">
        {trouble === "away" ? <Away /> : null}
        <Suspense key={pathname} fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <Suspense>
        {opened === "palette" ? <Palette close={close} /> : null}
        {opened === "sheet" ? <Sheet close={close} enabled={keys.enabled} change={keys.change} /> : null}
      </Suspense>
    </div>
  )
}

/** Not signed in to this workspace: the sign-in remembers the requested page. */
const NoSession = ({ sessions, slug }: { slug: string; sessions: Welcome["sessions"] }) => {
  const router = useRouter()
  // Only once: while the sign-in loads, the location is already its own.
  const [asked] = useState(() => router.state.location.href)
  const [other] = sessions
  const isOut = other === undefined
  useEffect(() => {
    if (isOut) router.navigate({ to: "/sign-in", search: { to: asked }, replace: true })
  }, [asked, isOut, router])
  if (other === undefined) return <Loading />
  const { name, slug: open } = other.workspace
  return (
    <main className="mx-auto grid min-h-dvh max-w-md content-center justify-items-start gap-4 px-6">
      <Icon name="key" size={22} className="text-faint" />
      <h1 className="text-2xl font-semibold tracking-tight">Another workspace</h1>
      <p className="text-soft">
        You are signed in to {name}, not to {slug}. Sign in there with one of its API tokens, or open a link
        to it.
      </p>
      <div className="flex flex-wrap gap-2">
        <Link to="/w/$slug/overview" params={{ slug: open }} className={buttonClass("primary")}>
          Go to {name}
        </Link>
        <Link to="/sign-in" search={{ to: asked }} className={buttonClass("plain")}>
          Sign in to {slug}
        </Link>
      </div>
    </main>
  )
}

export const Shell = () => {
  const { slug } = useParams({ from: "/w/$slug" })
  const { data, error, refetch } = useWelcome()
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  const session = data.sessions.find(({ workspace }) => workspace.slug === slug)
  if (session === undefined) return <NoSession slug={slug} sessions={data.sessions} />
  return (
    <SessionProvider value={{ session, welcome: data }}>
      <Frame slug={slug} />
    </SessionProvider>
  )
}
