/**
 * A filter as text: what is wrong with it, and conditions that are added to it. Numbers keep their digits, and members their order.
 * Judged while it is typed, by the server's own rule.
 */
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { compact, JsonText } from "@posthorn/domain/JsonText"
import { Either } from "effect"
import { inLines, isObject, lineOf, partsOf } from "../../../ui/json.ts"
import { problemOfJson } from "../../publishBody.ts"

export interface Issue {
  /** A JSON Pointer within the filter. */
  readonly path: string
  readonly message: string
}

/** "Line 3, /amount: Expected …" */
const placed = (text: string, { message, path }: Issue) =>
  path === "" ? message : `Line ${lineOf(text, path)}, ${path}: ${message}`

/** What is wrong with a filter's text, each with its place. No text is no filter. */
export const problemsOf = (text: string): ReadonlyArray<string> => {
  if (text.trim() === "") return []
  const problem = problemOfJson(text)
  if (problem !== undefined) return [problem]
  return Either.match(parseFilter(text), {
    onLeft: (issues) => issues.map((issue) => placed(text, issue)),
    onRight: () => []
  })
}

/** What is sent for it: null for no filter. */
export const sentOf = (text: string) => (text.trim() === "" ? null : new JsonText(compact(text)))

export const isSame = (text: string, other: string) => sentOf(text)?.text === sentOf(other)?.text

/** A member of a payload, and values that it has had. */
export interface Seen {
  readonly steps: ReadonlyArray<string>
  readonly values: ReadonlySet<string>
}

const MOST_PATHS = 60
const MOST_VALUES = 12
const MOST_STEPS = 9
/** Of one array or object. */
const MOST_PARTS = 60
const LONGEST_VALUE = 80

/** The members of these payloads, in the order of the first one. Of arrays the elements' members, as a filter reads them. */
export const seenIn = (payloads: ReadonlyArray<string>): ReadonlyArray<Seen> => {
  const seen = new Map<string, { steps: ReadonlyArray<string>; values: Set<string> }>()
  const look = (text: string, steps: ReadonlyArray<string>) => {
    if (isObject(text)) {
      for (const { name, text: value } of partsOf(text, MOST_PARTS))
        if (steps.length < MOST_STEPS && !name.startsWith("$")) look(value, [...steps, name])
    } else if (text.startsWith("[")) {
      for (const element of partsOf(text, MOST_PARTS)) look(element.text, steps)
    } else if (steps.length > 0) {
      const key = JSON.stringify(steps)
      const known = seen.get(key) ?? { steps, values: new Set<string>() }
      if (!seen.has(key) && seen.size >= MOST_PATHS) return
      seen.set(key, known)
      if (known.values.size < MOST_VALUES && text.length <= LONGEST_VALUE) known.values.add(text)
    }
  }
  for (const payload of payloads) look(payload.trim(), [])
  return [...seen.values()]
}

const written = (members: ReadonlyArray<readonly [name: string, text: string]>) =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`

const takes = (text: string) => isObject(text) && !partsOf(text).some(({ name }) => name.startsWith("$"))

const put = (filter: string, [name, ...rest]: ReadonlyArray<string>, condition: string): string => {
  if (name === undefined) return condition
  const members = partsOf(filter).map((part) => [part.name, part.text] as const)
  const before = members.findLast(([known]) => known === name)
  const next = put(before !== undefined && takes(before[1]) ? before[1] : "{}", rest, condition)
  return written(
    before === undefined
      ? [...members, [name, next]]
      : members.map((member) => (member === before ? [name, next] : member))
  )
}

/** A valid filter with one more condition. It replaces the one that stands there. */
export const withCondition = (text: string, steps: ReadonlyArray<string>, condition: string) =>
  inLines(put(text.trim() === "" ? "{}" : text, steps, condition))
