/** The event catalogue, as documentation: groups in a list beside the type that is shown. */
import { useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { Link } from "../../session/Link.tsx"
import { useSession } from "../../session/session.tsx"
import { inputClass } from "../../ui/Field.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { Page } from "../../ui/Layout.tsx"
import { Empty, Failed, Loading } from "../../ui/States.tsx"
import { EventTypeDetail } from "./EventTypeDetail.tsx"
import { type EventType, groupsOf, matching, useEventTypes } from "./useEventTypes.ts"

/** `default`: shown where there is room beside the list, although nobody asked for it. */
type Shown = "asked" | "default" | undefined

const looks = {
  asked: "font-medium text-accent-text tint-accent",
  default: "hover:bg-hover lg:font-medium lg:text-accent-text lg:tint-accent"
}

const Entry = ({ shown, type }: { type: EventType; shown: Shown }) => {
  const { slug } = useSession()
  return (
    <Link
      to="/w/$slug/event-types"
      params={{ slug }}
      search={{ eventType: type.eventType }}
      aria-current={shown === "asked" ? "page" : undefined}
      className={`block min-h-7 rounded-md px-2.5 py-1 ${shown === undefined ? "hover:bg-hover" : looks[shown]}`}
    >
      <span className={`font-mono text-xs break-all ${type.deprecated ? "line-through" : ""}`}>
        {type.eventType}
      </span>
      {type.deprecated ? <span className="sr-only"> deprecated</span> : null}
      {type.description === null ? null : (
        <span className="line-clamp-2 text-xs text-faint lg:hidden">{type.description}</span>
      )}
    </Link>
  )
}

const Index = ({
  isAsked,
  shown,
  types
}: {
  types: ReadonlyArray<EventType>
  shown: string
  isAsked: boolean
}) => {
  const [words, setWords] = useState("")
  const found = matching(types, words.trim())
  return (
    <div className="grid min-w-0 content-start gap-4 lg:sticky lg:top-6 lg:max-h-[calc(100dvh-3rem)] embedded:max-h-none lg:grid-rows-[auto_minmax(0,1fr)]">
      <input
        type="search"
        aria-label="Find an event type"
        placeholder="Find by name or description"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        className={`${inputClass} h-9`}
      />
      <nav
        aria-label="Event types"
        className="grid content-start gap-4 lg:-me-3 lg:overflow-y-auto lg:pe-3 lg:pb-4"
      >
        {groupsOf(found).map(({ name, types }) => (
          <section key={name ?? ""} aria-label={name ?? "Other"}>
            <h2 className="px-2.5 pb-1 text-xs font-semibold text-faint">{name ?? "Other"}</h2>
            <ul className="grid gap-px">
              {types.map((type) => (
                <li key={type.eventType}>
                  <Entry
                    type={type}
                    shown={type.eventType !== shown ? undefined : isAsked ? "asked" : "default"}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {found.length === 0 ? (
          <p role="status" className="px-2.5 text-sm text-soft">
            No event type has these words.
          </p>
        ) : null}
      </nav>
    </div>
  )
}

export const EventTypes = () => {
  const { slug } = useSession()
  const { eventType: asked } = useSearch({ from: "/w/$slug/event-types" })
  const { error, items, refetch } = useEventTypes()
  const first = items === undefined ? undefined : groupsOf(items)[0]?.types[0]?.eventType
  const shown = asked ?? first
  const summary = items?.find(({ eventType }) => eventType === shown)
  return (
    <Page
      title="Event types"
      about="What can happen, and what a receiver then gets."
      name={asked ?? "Event types"}
    >
      {items === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <Failed error={error} retry={refetch} />
        )
      ) : shown === undefined ? (
        <Empty icon="eventTypes" title="No event type yet">
          <p className="text-soft">
            Types appear here once they are described, or once an event is published.
          </p>
        </Empty>
      ) : (
        <div className="grid gap-x-8 gap-y-6 lg:grid-cols-[15rem_minmax(0,1fr)]">
          {/* On a narrow screen the list is a page, and each type another. */}
          <div className={asked === undefined ? "" : "hidden lg:block"}>
            <Index types={items} shown={shown} isAsked={asked !== undefined} />
          </div>
          <div className={asked === undefined ? "hidden min-w-0 lg:block" : "min-w-0"}>
            <Link
              to="/w/$slug/event-types"
              params={{ slug }}
              className="mb-4 inline-flex min-h-6 items-center gap-1.5 rounded text-sm text-soft hover:text-ink lg:hidden"
            >
              <Icon name="back" size={14} />
              All event types
            </Link>
            <EventTypeDetail key={shown} eventType={shown} summary={summary} />
          </div>
        </div>
      )}
    </Page>
  )
}
