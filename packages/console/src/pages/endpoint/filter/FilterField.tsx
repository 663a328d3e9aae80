/** An endpoint's filter, as JSON: written with what recent payloads have, and tried on them while it is written. */
import { useState } from "react"
import { useSession } from "../../../session/session.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Select, TextField } from "../../../ui/Field.tsx"
import { Loading, Refusal } from "../../../ui/States.tsx"
import { problemsOf, type Seen, withCondition } from "./draft.ts"
import { TriedEvents } from "./Tried.tsx"
import { useSeen, useTried } from "./useTried.ts"

const pathOf = ({ steps }: Seen) => `/${steps.join("/")}`

/** What can be asked of a member: each value that it has had, of numbers also a bound. */
const conditionsOf = ({ values }: Seen) => [
  ...[...values].flatMap((value) => [
    { id: value, label: `is ${value}` },
    ...(/^[-\d]/.test(value) ? [{ id: `{"$gte":${value}}`, label: `is at least ${value}` }] : [])
  ]),
  { id: '{"$exist":true}', label: "is there" }
]

/** Adds a condition without typing it. */
const Suggestions = ({
  add,
  isDisabled,
  seen
}: {
  seen: ReadonlyArray<Seen>
  isDisabled: boolean
  add: (one: Seen, condition: string) => void
}) => {
  const [path, setPath] = useState("")
  const [condition, setCondition] = useState("")
  const one = seen.find((each) => pathOf(each) === path) ?? seen[0]!
  const conditions = conditionsOf(one)
  const chosen = conditions.find(({ id }) => id === condition)?.id ?? conditions[0]!.id
  return (
    <div className="grid items-end gap-2 sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto]">
      <Select
        label="In recent payloads"
        choices={seen.map((each) => ({ id: pathOf(each), label: pathOf(each) }))}
        value={pathOf(one)}
        onChange={setPath}
      />
      <Select label="Condition" choices={conditions} value={chosen} onChange={setCondition} />
      <Button className="h-9! w-fit" isDisabled={isDisabled} onPress={() => add(one, chosen)}>
        Add condition
      </Button>
    </div>
  )
}

const Editor = ({
  change,
  eventTypes,
  text
}: {
  text: string
  eventTypes: ReadonlyArray<string>
  change: (text: string) => void
}) => {
  const { may } = useSession()
  const problems = problemsOf(text)
  const isValid = problems.length === 0
  const tried = useTried(text, eventTypes, isValid)
  const seen = useSeen(tried.data?.events.flatMap(({ eventId }) => eventId ?? []) ?? [])
  return (
    <div className="grid gap-3">
      <TextField
        label="Filter"
        value={text}
        onChange={change}
        lines={8}
        mono
        placeholder={'{"amount": {"$gte": 1000}, "currency": "EUR"}'}
        about="A condition on the payload, as JSON. Empty: every payload."
        error={isValid ? undefined : problems.join("; ")}
      />
      {seen.length === 0 ? null : (
        <Suggestions
          seen={seen}
          isDisabled={!isValid}
          add={({ steps }, condition) => change(withCondition(text, steps, condition))}
        />
      )}
      {!may("tryFilter") || eventTypes.length === 0 ? null : tried.data === undefined ? (
        tried.error === null && isValid ? (
          <Loading rows={3} />
        ) : null
      ) : (
        <div className={isValid && !tried.isPlaceholderData ? "" : "opacity-60"} aria-busy={tried.isFetching}>
          <TriedEvents tried={tried.data} />
        </div>
      )}
      <Refusal error={tried.error} />
    </div>
  )
}

export const FilterField = (props: {
  text: string
  eventTypes: ReadonlyArray<string>
  change: (text: string) => void
}) => {
  const [isOpen, setOpen] = useState(props.text !== "")
  if (isOpen) return <Editor {...props} />
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">Filter</p>
      <p className="text-xs text-faint">None: every payload of these types comes through.</p>
      <div>
        <Button small icon="plus" onPress={() => setOpen(true)}>
          Add a filter
        </Button>
      </div>
    </div>
  )
}
