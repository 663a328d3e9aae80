/** A list with filters above. The page's address holds their values, so that a view can be shared. */
import type { ComponentProps, ReactNode } from "react"
import { Button } from "./Button.tsx"
import { Select } from "./Field.tsx"
import { Card } from "./Layout.tsx"
import { List } from "./List.tsx"
import { SearchField } from "./SearchField.tsx"
import { NothingMatches } from "./States.tsx"

type Values = Readonly<Record<string, string | undefined>>

export const filtersOf = (values: Values, show: (search: Record<string, string>) => unknown) => ({
  values,
  isFiltered: Object.keys(values).length > 0,
  clear: () => show({}),
  change: (next: Values) =>
    show(
      Object.fromEntries(
        Object.entries({ ...values, ...next }).flatMap(([name, value]) => (value ? [[name, value]] : []))
      )
    )
})

interface Filter {
  readonly filters: ReturnType<typeof filtersOf>
  /** In the address. */
  readonly name: string
}

export const FilterChoice = ({
  filters: { change, values },
  name,
  ...select
}: Filter & Pick<ComponentProps<typeof Select>, "choices" | "label">) => (
  <Select
    {...select}
    hideLabel
    small
    value={values[name] ?? ""}
    onChange={(value) => change({ [name]: value })}
  />
)

export const FilterText = ({
  filters: { change, values },
  name,
  ...field
}: Filter & Omit<ComponentProps<typeof SearchField>, "apply" | "value">) => (
  <SearchField {...field} value={values[name] ?? ""} apply={(value) => change({ [name]: value })} />
)

const MINUTES: Record<string, number> = { "1h": 60, "24h": 1440, "7d": 10_080 }

const withinChoices = [
  { id: "", label: "Any time" },
  { id: "1h", label: "Last hour" },
  { id: "24h", label: "Last 24 hours" },
  { id: "7d", label: "Last 7 days" }
]

/** At minute precision, so that the query stays the same while the page is open. */
export const sinceOf = (within: string | undefined) =>
  within === undefined || MINUTES[within] === undefined
    ? undefined
    : new Date(Math.floor(Date.now() / 60_000 - MINUTES[within]) * 60_000).toISOString()

export const FilterTime = ({ filters }: Pick<Filter, "filters">) => (
  <FilterChoice filters={filters} name="within" label="Time" choices={withinChoices} />
)

const EVENT_TYPE = /^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$/

export const FilterEventType = ({ filters }: Pick<Filter, "filters">) => (
  <FilterText
    filters={filters}
    name="eventType"
    label="Event type"
    placeholder="Event type, such as invoice.paid"
    problemOf={(text) =>
      EVENT_TYPE.test(text)
        ? undefined
        : "Write the whole type, dotted words such as invoice.paid: parts of it and * find nothing here."
    }
  />
)

export const FilteredList = <Row extends { readonly id: string }>({
  bar,
  empty,
  filters: { clear, isFiltered },
  what,
  ...list
}: ComponentProps<typeof List<Row>> & {
  readonly filters: Filter["filters"]
  readonly bar: ReactNode
  /** What no match is called. */
  readonly what: string
}) => (
  <Card flush>
    <div className="flex flex-wrap items-center gap-2 border-b p-3">
      {bar}
      {isFiltered ? (
        <Button look="quiet" onPress={clear}>
          Clear filters
        </Button>
      ) : null}
    </div>
    <List {...list} empty={isFiltered ? <NothingMatches what={what} clear={clear} /> : empty} />
  </Card>
)
