/** The fields of an endpoint. Its URL is validated while it is typed, by the server's own rule. */
import { nothingAllowed, parseAllowedTargets } from "@posthorn/domain/AllowedTargets"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { Either } from "effect"
import { useDeferredValue, useState } from "react"
import { useSession } from "../../session/session.tsx"
import { Checkbox, Radios, TextField } from "../../ui/Field.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { groupsOf, matching, useEventTypes } from "../eventTypes/useEventTypes.ts"
import { problemsOf } from "./filter/draft.ts"
import { FilterField } from "./filter/FilterField.tsx"

export interface Draft {
  readonly url: string
  readonly description: string
  readonly eventTypes: ReadonlyArray<string>
  /** As JSON; empty for none. */
  readonly filter: string
}

const PATTERN = /^(?:\*|[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*(\.\*)?)$/

const ALL = "all"
const SOME = "some"

/** Refusals that DELIVERY_ALLOWED_TARGETS and DELIVERY_ALLOW_HTTP can lift; only the server knows whether they do. */
const everythingAllowed = (url: string) => {
  if (!URL.canParse(url)) return nothingAllowed
  return Either.getOrElse(parseAllowedTargets(new URL(url).hostname, true), () => nothingAllowed)
}

interface Verdict {
  /** Empty if the URL is valid, or nothing is typed. */
  readonly problem?: string
  /** Not an error if the operator allows it. */
  readonly maybe?: string
  readonly fine?: boolean
}

const judge = (url: string): Verdict => {
  if (url === "") return {}
  const judged = validateWebhookUrl(url, nothingAllowed)
  if (Either.isRight(judged)) return { fine: true }
  const problem = describeReason(judged.left)
  return Either.isRight(validateWebhookUrl(url, everythingAllowed(url)))
    ? { maybe: `${problem} This server takes others only where its operator allows it.` }
    : { problem }
}

const UrlField = ({
  change,
  saved,
  url
}: {
  url: string
  /** A URL that the server has already accepted needs no verdict. */
  saved: string | undefined
  change: (url: string) => void
}) => {
  const typed = useDeferredValue(url.trim())
  const { fine, maybe, problem } = typed === saved ? {} : judge(typed)
  return (
    <TextField
      label="URL"
      value={url}
      onChange={change}
      mono
      placeholder="https://example.com/webhooks"
      error={problem}
      about={
        fine ? (
          <span className="inline-flex items-center gap-1 text-good">
            <Icon name="check" size={12} /> Can be delivered to
          </span>
        ) : (
          (maybe ?? "A public https address, or another that this server's operator allows.")
        )
      }
    />
  )
}

/** The types of a group, with what they mean. */
const Choices = ({
  eventTypes,
  name,
  toggle,
  types
}: {
  name: string
  types: ReadonlyArray<{ readonly eventType: string; readonly description: string | null }>
  eventTypes: ReadonlyArray<string>
  toggle: (type: string, on: boolean) => void
}) => (
  <section {...(name !== "" && { "aria-label": name })}>
    {name === "" ? null : <h2 className="pb-1.5 text-xs font-semibold text-faint">{name}</h2>}
    <ul className="grid gap-1.5 sm:grid-cols-2">
      {types.map(({ description, eventType }) => (
        <li key={eventType}>
          <Checkbox
            label={<span className="font-mono text-xs break-all">{eventType}</span>}
            about={description === null ? undefined : <span className="line-clamp-2">{description}</span>}
            isSelected={eventTypes.includes(eventType)}
            onChange={(on) => toggle(eventType, on)}
          />
        </li>
      ))}
    </ul>
  </section>
)

const TypesField = ({
  change,
  eventTypes
}: {
  eventTypes: ReadonlyArray<string>
  change: (types: ReadonlyArray<string>) => void
}) => {
  const { may } = useSession()
  const { items = [] } = useEventTypes({ enabled: may("listEventTypes") })
  const [typed, setTyped] = useState("")
  const all = eventTypes.includes("*")
  const own = eventTypes.filter((type) => type !== "*" && !items.some(({ eventType }) => eventType === type))
  const needle = typed.trim().toLowerCase()
  const groups = groupsOf(matching(items, needle))
  const shownOwn = own.filter((type) => type.toLowerCase().includes(needle))
  const add = () => {
    const type = typed.trim()
    if (!PATTERN.test(type) || eventTypes.includes(type)) return
    change(type === "*" ? ["*"] : [...eventTypes.filter((each) => each !== "*"), type])
    setTyped("")
  }
  const toggle = (type: string, on: boolean) =>
    change(
      on ? [...eventTypes.filter((each) => each !== "*"), type] : eventTypes.filter((each) => each !== type)
    )
  return (
    <div className="grid gap-3">
      <Radios
        label="Which events"
        value={all ? ALL : SOME}
        onChange={(choice) => change(choice === ALL ? ["*"] : [])}
        choices={[
          { id: ALL, label: "All events", about: "Also types that do not exist yet." },
          { id: SOME, label: "Only these types" }
        ]}
      />
      <div className="grid gap-2">
        <div className="flex items-end gap-2">
          <div
            className="min-w-0 flex-1"
            onKeyDownCapture={(event) => {
              if (event.key !== "Enter") return
              // It would submit the form, with all events.
              event.preventDefault()
              add()
            }}
          >
            <TextField
              label="Event types"
              value={typed}
              onChange={setTyped}
              mono
              placeholder="Find, or type one such as invoice.paid or invoice.*"
              error={
                needle !== "" && !PATTERN.test(typed.trim())
                  ? "Write a type such as invoice.paid, a prefix such as invoice.*, or *"
                  : undefined
              }
            />
          </div>
          {needle !== "" && PATTERN.test(typed.trim()) && !eventTypes.includes(typed.trim()) ? (
            <button
              type="button"
              onClick={add}
              className="mb-0.5 h-8 rounded-md px-2 text-sm font-medium text-accent-text hover:bg-hover"
            >
              Add {typed.trim()}
            </button>
          ) : null}
        </div>
        {groups.length === 0 && shownOwn.length === 0 ? (
          <p className="text-xs text-faint">
            {items.length === 0 && own.length === 0
              ? "No event type is described, and none was published in the last 30 days: type the ones that will come."
              : "No event type has this name."}
          </p>
        ) : (
          <div
            tabIndex={0}
            role="region"
            aria-label="Known event types"
            className="relative grid max-h-80 gap-4 overflow-y-auto rounded-md border p-3"
          >
            {shownOwn.length === 0 ? null : (
              <Choices
                name="Chosen"
                types={shownOwn.map((eventType) => ({ eventType, description: null }))}
                {...{ eventTypes, toggle }}
              />
            )}
            {groups.map(({ name, types }) => (
              <Choices
                key={name ?? ""}
                name={name ?? (groups.length + shownOwn.length > 1 ? "Other" : "")}
                {...{ eventTypes, toggle, types }}
              />
            ))}
          </div>
        )}
      </div>
    </div>
  )
}

export const EndpointFields = ({
  change,
  draft,
  saved
}: {
  draft: Draft
  saved?: Draft
  change: (draft: Draft) => void
}) => (
  <div className="grid gap-5">
    <UrlField url={draft.url} saved={saved?.url} change={(url) => change({ ...draft, url })} />
    <TextField
      label="Description"
      value={draft.description}
      onChange={(description) => change({ ...draft, description })}
      about="For people: whose it is, what it is for."
    />
    <TypesField eventTypes={draft.eventTypes} change={(eventTypes) => change({ ...draft, eventTypes })} />
    <FilterField
      text={draft.filter}
      eventTypes={draft.eventTypes}
      change={(filter) => change({ ...draft, filter })}
    />
  </div>
)

export const isComplete = ({ eventTypes, filter, url }: Draft) =>
  url.trim() !== "" && eventTypes.length > 0 && problemsOf(filter).length === 0
