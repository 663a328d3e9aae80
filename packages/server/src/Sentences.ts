/** What the schema library finds wrong, in sentences for people that repeat nothing of what was sent. */
import type { Issue } from "@posthorn/domain/Errors"
import { ParseResult } from "effect"

export const UNKNOWN = "is not known here: check the spelling, or leave it out"

/** One step of a JSON pointer; of a very long name the beginning. */
export const pointer = (key: PropertyKey) =>
  `/${String(key).slice(0, 100).replace(/~/g, "~0").replace(/\//g, "~1")}`

/** What is wrong with one value. */
export const messageOf = (issue: ParseResult.ParseIssue): string => {
  const found = ParseResult.ArrayFormatter.formatIssueSync(issue)
  return joined([...new Set(found.map(({ _tag, message }) => sentence(_tag, message)))])
}

/** The first thing that is wrong with a value that has parts, and where. */
export const issueOf = (issue: ParseResult.ParseIssue): Issue => {
  const [{ _tag, message, path }] = ParseResult.ArrayFormatter.formatIssueSync(issue) as [
    ParseResult.ArrayFormatterIssue
  ]
  return { path: path.map(pointer).join(""), message: sentence(_tag, message) }
}

/** Names of types as a person would say them. */
const KIND: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\{ .*\}$/s, "an object"],
  [/^boolean$/, "true or false"],
  [/^a string matching the pattern \^\[\^\\0\\p\{Cs\}\]\*\$$/, "text without NUL and lone surrogates"],
  [/^string$/, "a text"],
  [/^number$/, "a number"]
]

const COUNT = /^an? string (at (?:least|most)) (\d+) character\(s\) long$/

const kindOf = (type: string) => {
  const [, bound, count] = COUNT.exec(type) ?? []
  if (count !== undefined) return `${bound} ${count} character${count === "1" ? "" : "s"}`
  return KIND.find(([pattern]) => pattern.test(type))?.[1] ?? type
}

/** Without the received value that the formatter adds. */
const sentence = (tag: string, message: string) => {
  if (tag === "Missing") return "is missing"
  if (tag === "Unexpected") return UNKNOWN
  const cut = message.indexOf(", actual ")
  return cut < 0 ? message : `Expected ${kindOf(message.slice("Expected ".length, cut))}`
}

/** Alternatives in one sentence; that a member may be left out goes without saying. */
const joined = (messages: ReadonlyArray<string>) => {
  const said = messages.filter((message) => message !== "Expected undefined")
  return said.length < 2
    ? (said[0] ?? messages[0]!)
    : said.map((message, index) => (index === 0 ? message : message.replace(/^Expected /, ""))).join(", or ")
}
