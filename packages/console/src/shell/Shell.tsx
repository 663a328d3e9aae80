/** The frame of every page of a workspace: navigation, page-wide problems, keys. */
import { useQueryClient } from "@tanstack/react-query"
import { Link, Navigate, Outlet, useLocation, useParams, useRouter } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useRef, useState } from "react"
import { queryClient, setTrouble, useTrouble } from "../api/queries.ts"
import { isEmbedded, tellHost } from "../session/embedding.ts"
import { setLook } from "../session/look.ts"
import {
  fetchWelcome,
  type SessionInfo,
  SessionProvider,
  useSession,
  type Welcome
} from "../session/session.tsx"
import { useWelcome, welcomeKey } from "../session/useWelcome.ts"
import { Button, buttonClass } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Failed, Loading } from "../ui/States.tsx"
import { useKeys } from "./keys.ts"
import { EmbeddedNavigation, Navigation } from "./Navigation.tsx"
import { NotFound } from "./NotFound.tsx"
import { pageOf, usePlaces } from "./usePlaces.ts"

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

const Expired = () => (
  <p role="status" className="mb-2 flex items-center gap-2 rounded-md px-3 py-2 text-sm text-idle tint-idle">
    <Icon name="clock" size={14} />
    This page has expired. What you typed stays while it is renewed.
  </p>
)

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

/** `/console/w/…/`: redirects to where the session begins, or to the first page that it has. */
export const FirstPage = () => {
  const { session, slug } = useSession()
  const router = useRouter()
  const [first] = usePlaces()
  const to = session.to ?? (first && pageOf(first))
  useEffect(() => {
    if (to !== undefined) router.history.replace(`/console/w/${slug}/${to}`)
  }, [router, slug, to])
  return to === undefined ? <NotFound /> : <Loading />
}

const Frame = ({ slug }: { slug: string }) => {
  const [opened, setOpened] = useState<"palette" | "sheet" | null>(null)
  const trouble = useTrouble()
  const { pathname } = useLocation()
  const keys = useKeys(slug, { palette: () => setOpened("palette"), sheet: () => setOpened("sheet") })
  const close = () => setOpened(null)
  const { hasPage } = useSession()
  const [, page = ""] = pathname.split(`/w/${slug}/`)
  const isHidden = page !== "" && !hasPage(page.split("/", 1)[0]!)
  const shown = useRef("")
  useEffect(() => {
    if (shown.current !== "") tellHost({ posthorn: "moved" })
    shown.current = page === "" ? "" : pathname
  }, [page, pathname])
  if (trouble === "ended" && !isEmbedded) return <Ended slug={slug} />
  return (
    <div className={isEmbedded ? "" : "min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]"}>
      <a
        href="#main"
        className="absolute z-30 -translate-y-full rounded-md bg-accent px-3 py-2 text-accent-ink focus:translate-y-2"
      >
        Skip to the content
      </a>
      {isEmbedded ? (
        <EmbeddedNavigation />
      ) : (
        <Navigation openPalette={() => setOpened("palette")} openSheet={() => setOpened("sheet")} />
      )}
      <main id="main" tabIndex={-1} className="min-w-0">
        {trouble === "away" ? <Away /> : null}
        {trouble === "ended" ? <Expired /> : null}
        <Suspense key={pathname} fallback={<Loading />}>
          {isHidden ? <NotFound /> : <Outlet />}
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
  // A link of another workspace was handed over.
  if (isEmbedded) return <Navigate to="/w/$slug" params={{ slug: other.workspace.slug }} replace />
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
        <Link to="/w/$slug" params={{ slug: open }} className={buttonClass("primary")}>
          Go to {name}
        </Link>
        <Link to="/sign-in" search={{ to: asked }} className={buttonClass("plain")}>
          Sign in to {slug}
        </Link>
      </div>
    </main>
  )
}

const SignedIn = (signedIn: { readonly session: SessionInfo; readonly welcome: Welcome }) => {
  const { theme } = signedIn.session
  useEffect(() => {
    setLook(theme)
    return () => setLook(null)
  }, [theme])
  return (
    <SessionProvider value={signedIn}>
      <Frame slug={signedIn.session.workspace.slug} />
    </SessionProvider>
  )
}

export const Shell = () => {
  const { slug } = useParams({ from: "/w/$slug" })
  const { data, error, refetch } = useWelcome()
  if (data === undefined) return error === null ? <Loading /> : <Failed error={error} retry={refetch} />
  const session = data.sessions.find(({ workspace }) => workspace.slug === slug)
  if (session === undefined) return <NoSession slug={slug} sessions={data.sessions} />
  return <SignedIn session={session} welcome={data} />
}
