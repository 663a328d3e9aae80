/** Turns the schema library's findings into sentences for people that repeat nothing of the input. */
import { entries } from "@posthorn/api-contract/Contract"
import type { Issue } from "@posthorn/domain/Errors"
import { Option, SchemaAST } from "effect"

export const UNKNOWN = "is not known here: check the spelling, or leave it out"

/** One step of a JSON pointer; a very long name is cut. */
export const pointer = (key: PropertyKey) =>
  `/${String(key).slice(0, 100).replace(/~/g, "~0").replace(/\//g, "~1")}`

export const MAX_ISSUES = 50

interface Found {
  readonly _tag: string
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

/** The library's findings, one sentence for each position. */
export const issuesOf = (found: ReadonlyArray<Found>): ReadonlyArray<Issue> => {
  const places = new Map<string, Set<string>>()
  // Unknown members come last: one may be a missing member, misspelt.
  const inOrder = [
    ...found.filter(({ _tag }) => _tag !== "Unexpected"),
    ...found.filter(({ _tag }) => _tag === "Unexpected")
  ]
  for (const { _tag, message, path } of inOrder) {
    const place = path.map(pointer).join("")
    const said = places.get(place)
    if (said !== undefined) said.add(sentence(_tag, message))
    else if (places.size < MAX_ISSUES) places.set(place, new Set([sentence(_tag, message)]))
  }
  const paths = [...places.keys()]
  // "Expected null" adds nothing to what is wrong within an object that may be null.
  return [...places]
    .filter(([path, said]) => ![...said].every(isNothing) || !paths.some((one) => one.startsWith(`${path}/`)))
    .map(([path, said]) => ({ path, message: joined([...said]) }))
}

const isNothing = (message: string) => message === "Expected null" || message === "Expected undefined"

const KIND: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\{ .*\}$/s, "an object"],
  [/^boolean$/, "true or false"],
  [/^a string matching the pattern \^\[\^\\0\\p\{Cs\}\]\*\$$/, "text without NUL and lone surrogates"],
  [/^string$/, "a text"],
  [/^number$/, "a number"]
]

const COUNT = /^an? string (at (?:least|most)) (\d+) character\(s\) long$/

const ITEMS = /^an array of (at (?:least|most)) (\d+) item\(s\)$/

const bodies: ReadonlySet<string> = new Set(
  entries.flatMap(({ bodySchema }) =>
    Option.toArray(Option.flatMap(bodySchema, ({ ast }) => SchemaAST.getIdentifierAnnotation(ast)))
  )
)

const kindOf = (type: string) => {
  if (bodies.has(type)) return "an object"
  const [, least, items] = ITEMS.exec(type) ?? []
  if (items !== undefined) return `${least} ${items} item${items === "1" ? "" : "s"}`
  const [, bound, count] = COUNT.exec(type) ?? []
  if (count !== undefined) return `${bound} ${count} character${count === "1" ? "" : "s"}`
  return KIND.find(([pattern]) => pattern.test(type))?.[1] ?? type
}

/** Without the received value, which the formatter adds. */
const sentence = (tag: string, message: string) => {
  if (tag === "Missing") return "is missing"
  if (tag === "Unexpected") return UNKNOWN
  const cut = message.indexOf(", actual ")
  return cut < 0 ? message : `Expected ${kindOf(message.slice("Expected ".length, cut))}`
}

/** Alternatives in one sentence, without `undefined` for an optional member. */
const joined = (messages: ReadonlyArray<string>) => {
  const said = messages.filter((message) => message !== "Expected undefined")
  return said.length < 2
    ? (said[0] ?? messages[0]!)
    : said.map((message, index) => (index === 0 ? message : message.replace(/^Expected /, ""))).join(", or ")
}
