/** How many of the newest events a filter would have let through, which, and why not the others. */
import { useState } from "react"
import type { Answer } from "../../../api/contract.ts"
import { Link } from "../../../session/Link.tsx"
import { useSession } from "../../../session/session.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Icon } from "../../../ui/Icon.tsx"
import { Time } from "../../../ui/Time.tsx"
import { Unmet } from "./Unmet.tsx"

type Tried = Answer<"tryFilter">

const FEW = 5

/** An id begins with its time: thirteen hexadecimal digits of microseconds. */
const timeOf = (eventId: string) =>
  new Date(Number.parseInt(eventId.slice("evt_".length, "evt_".length + 13), 16) / 1_000).toISOString()

const summaryOf = ({ examined, matching }: Tried) => {
  if (examined === 0) return "No event of these types is on record: it will be judged by those that come."
  const events = examined === 1 ? "the last event" : `the last ${examined.toLocaleString()} events`
  return `${matching.toLocaleString()} of ${events} would have come through.`
}

/** How many events failed at the same condition, most first. */
const reasonsOf = ({ events }: Tried) => {
  const counts = new Map<
    string,
    { because: NonNullable<Tried["events"][number]["because"]>; count: number }
  >()
  for (const { because } of events) {
    if (because === null) continue
    const key = JSON.stringify(because)
    counts.set(key, { because, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts].sort(([, one], [, other]) => other.count - one.count).slice(0, FEW)
}

const One = ({ because, eventId, matches }: Tried["events"][number] & { eventId: string }) => {
  const { slug } = useSession()
  return (
    <li className="flex items-start gap-2 text-sm">
      <Icon
        name={matches ? "check" : "cross"}
        size={14}
        className={`mt-1 ${matches ? "text-good" : "text-faint"}`}
      />
      <span className="min-w-0 break-words">
        <Link
          to="/w/$slug/events/$eventId"
          params={{ slug, eventId }}
          target="_blank"
          className="inline-block min-h-6 rounded font-mono text-xs leading-6 text-accent-text hover:underline"
        >
          …{eventId.slice(-8)}
        </Link>{" "}
        <span className="text-soft">
          <Time at={timeOf(eventId)} />
          {", "}
          {because === null ? "comes through" : <Unmet {...because} />}
        </span>
      </span>
    </li>
  )
}

export const TriedEvents = ({ tried }: { tried: Tried }) => {
  const [isWhole, setWhole] = useState(false)
  const reasons = reasonsOf(tried)
  const shown = isWhole ? tried.events : tried.events.slice(0, FEW)
  return (
    <div className="grid gap-3 rounded-md bg-sunken p-3">
      <p role="status" className="text-sm font-medium">
        {summaryOf(tried)}
      </p>
      {reasons.length === 0 ? null : (
        <ul aria-label="Why not the others" className="grid gap-1 text-sm text-soft">
          {reasons.map(([key, { because, count }]) => (
            <li key={key} className="break-words">
              {count === 1 ? "1 event" : `${count.toLocaleString()} events`}: <Unmet {...because} />
            </li>
          ))}
        </ul>
      )}
      {tried.events.length === 0 ? null : (
        <ul aria-label="The newest events" className="grid gap-0.5 border-t pt-2">
          {shown.map((event) => (
            <One key={event.eventId} {...event} eventId={event.eventId ?? ""} />
          ))}
        </ul>
      )}
      {tried.events.length > FEW ? (
        <div>
          <Button small onPress={() => setWhole(!isWhole)}>
            {isWhole ? "Show fewer" : `Show all ${tried.events.length}`}
          </Button>
        </div>
      ) : null}
    </div>
  )
}
