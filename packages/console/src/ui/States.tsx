/** The states of a page without content: loading, failed, no match, empty. */
import type { ReactNode } from "react"
import { Problem } from "../api/client.ts"
import { Button } from "./Button.tsx"
import { Icon, type IconName } from "./Icon.tsx"

export const Loading = ({ rows = 6 }: { rows?: number }) => (
  <div role="status" aria-label="Loading" className="p-4">
    <div className="grid gap-3 motion-safe:animate-pulse" aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="h-5 rounded bg-sunken" />
      ))}
    </div>
  </div>
)

const Frame = ({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) => (
  <div className="mx-auto grid max-w-xl justify-items-center gap-3 px-6 py-14 text-center">
    <span className="grid size-10 place-items-center rounded-full bg-sunken text-faint">
      <Icon name={icon} size={18} />
    </span>
    <p className="text-base font-semibold text-ink">{title}</p>
    {children}
  </div>
)

export const Failed = ({ error, retry }: { error: unknown; retry: () => void }) => {
  const problem = error instanceof Problem ? error : new Problem("Unknown", 0, String(error))
  const traceId = problem.facts.traceId
  return (
    <div role="alert">
      <Frame
        icon="warning"
        title={problem.status === 403 ? "You may not see this" : "This could not be loaded"}
      >
        <p className="text-soft">{problem.message}</p>
        {typeof traceId === "string" ? <p className="font-mono text-xs text-faint">trace {traceId}</p> : null}
        {problem.status === 403 ? null : (
          <Button icon="retry" onPress={retry}>
            Try again
          </Button>
        )}
      </Frame>
    </div>
  )
}

export const NothingMatches = ({ what, clear }: { what: string; clear?: (() => void) | undefined }) => (
  <Frame icon="search" title={`No ${what} match`}>
    <p className="text-soft">Nothing on record fits these filters.</p>
    {clear === undefined ? null : <Button onPress={clear}>Clear filters</Button>}
  </Frame>
)

export const Empty = ({
  icon = "inbox",
  title,
  children
}: {
  icon?: IconName
  title: string
  children?: ReactNode
}) => (
  <Frame icon={icon} title={title}>
    {children}
  </Frame>
)

/** The error of an action, shown next to it. */
export const Refusal = ({ error }: { error: unknown }) =>
  error === null || error === undefined ? null : (
    <p role="alert" className="flex items-start gap-2 rounded-md px-3 py-2 text-sm text-bad tint-bad">
      <Icon name="warning" className="mt-0.5" />
      <span className="min-w-0 break-words">{error instanceof Error ? error.message : String(error)}</span>
    </p>
  )
