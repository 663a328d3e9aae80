/** Head of a page, cards, and pairs of names and values. */
import type { ReactNode } from "react"
import { useEffect } from "react"

/** The page's only heading, also used as its title. */
export const Page = ({
  title,
  name = title,
  about,
  actions,
  back,
  children
}: {
  title: ReactNode
  name?: ReactNode
  about?: ReactNode
  actions?: ReactNode
  back?: ReactNode
  children: ReactNode
}) => {
  useEffect(() => {
    if (typeof name === "string")
      document.title = `${name} · ${document.documentElement.dataset.brand ?? "Posthorn"}`
  }, [name])
  return (
    <div className="mx-auto w-full max-w-7xl px-4 pt-6 pb-16 sm:px-8 sm:pt-9 embedded:px-1 embedded:pt-4 embedded:pb-2">
      {back === undefined ? null : <div className="mb-3">{back}</div>}
      <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 max-w-full">
          <h1 className="text-2xl font-semibold tracking-tight break-words text-balance">{title}</h1>
          {about === undefined ? null : <div className="mt-1.5 max-w-2xl text-soft">{about}</div>}
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export const Card = ({
  title,
  about,
  actions,
  children,
  flush = false,
  id
}: {
  title?: ReactNode
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** The content extends to the edges, like a table. */
  flush?: boolean
  id?: string
}) => (
  <section id={id} className="min-w-0 rounded-lg border bg-surface">
    {title === undefined ? null : (
      <div
        className={`flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-5 pt-4 ${flush ? "border-b pb-3.5" : ""}`}
      >
        <div className="min-w-0">
          <h2 className="text-base font-semibold">{title}</h2>
          {about === undefined ? null : <p className="mt-0.5 text-sm text-soft">{about}</p>}
        </div>
        {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
    )}
    <div className={flush ? "" : "px-5 py-4"}>{children}</div>
  </section>
)

/** `tight`: for little room beside the names. */
export const Facts = ({ children, tight = false }: { children: ReactNode; tight?: boolean }) => (
  <dl
    className={`grid gap-x-4 gap-y-2.5 ${tight ? "sm:grid-cols-[5rem_minmax(0,1fr)]" : "sm:grid-cols-[9rem_minmax(0,1fr)]"}`}
  >
    {children}
  </dl>
)

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    <dt className="text-sm text-faint">{name}</dt>
    <dd className="mb-1.5 min-w-0 text-sm break-words sm:mb-0">{children}</dd>
  </>
)

const bannerTones = {
  bad: "tint-bad text-bad",
  warn: "tint-warn text-warn",
  good: "tint-good text-good",
  idle: "tint-idle text-idle"
} as const

export const Banner = ({
  tone,
  title,
  children,
  actions
}: {
  tone: keyof typeof bannerTones
  title: ReactNode
  children?: ReactNode
  actions?: ReactNode
}) => (
  <div
    className={`mb-6 flex flex-wrap items-center justify-between gap-x-6 gap-y-3 rounded-lg px-5 py-4 ${bannerTones[tone]}`}
  >
    <div className="min-w-0 flex-1 basis-80">
      <p className="font-semibold">{title}</p>
      {children === undefined ? null : <div className="mt-0.5 text-sm text-ink">{children}</div>}
    </div>
    {actions === undefined ? null : <div className="flex flex-wrap gap-2">{actions}</div>}
  </div>
)
