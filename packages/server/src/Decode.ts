/**
 * From what a door received to the request an operation takes, by the contract's own schemas.
 *
 * What does not fit is one `InvalidRequest` that lists every problem with a JSON pointer, and repeats nothing of what was
 * sent: it might be a secret. Unknown members of a body are refused, unknown query members are ignored.
 * Source: decision §4 and §5.
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { InvalidRequest, type Issue } from "@posthorn/domain/Errors"
import { Either, Option, ParseResult, Schema } from "effect"

/** What a door received, still as it came. */
export interface RawRequest {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Parsed JSON, raw members as `JsonText`; undefined when there was none. */
  readonly body: unknown
  /** The same as it was sent, and members of it that belong elsewhere; undefined when there was none. */
  readonly json?: { readonly text: string; readonly without: ReadonlySet<string> } | undefined
}

export interface DecodedRequest {
  readonly path: never
  readonly query: never
  readonly headers: never
  readonly body: never
}

export type Decoder = (raw: RawRequest) => Either.Either<DecodedRequest, InvalidRequest>

type Part = (input: unknown) => Either.Either<unknown, ReadonlyArray<Issue>>

const part = (schema: Option.Option<Schema.Schema.Any>, onExcessProperty: "error" | "ignore"): Part =>
  Option.match(schema, {
    onNone: () => () => Either.right(undefined),
    onSome: (some) => {
      const decode = Schema.decodeUnknownEither(some as Schema.Schema<unknown>, {
        errors: "all",
        onExcessProperty,
        exact: true
      })
      return (input) => Either.mapLeft(decode(input), (error) => issuesOf(error.issue))
    }
  })

/** Compile the decoders of one operation; once, at start. */
export const decoderOf = (entry: ContractEntry): Decoder => {
  const parts = [
    ["path", part(entry.pathSchema, "ignore")],
    ["query", part(entry.querySchema, "ignore")],
    ["headers", part(entry.headersSchema, "ignore")],
    ["body", part(entry.bodySchema, "error")]
  ] as const
  return (raw) => {
    const request: Record<string, unknown> = {}
    const issues: Array<Issue> = []
    for (const [name, decode] of parts) {
      const result = decode(name === "query" ? withoutEmptyCursor(raw.query) : raw[name])
      if (Either.isRight(result)) request[name] = result.right
      else issues.push(...result.left)
    }
    return issues.length === 0
      ? Either.right(request as unknown as DecodedRequest)
      : Either.left(new InvalidRequest({ issues: issues.slice(0, MAX_ISSUES) }))
  }
}

/** An empty cursor is none, as an empty limit is none. */
const withoutEmptyCursor = ({ cursor, ...query }: RawRequest["query"]) =>
  cursor === undefined || cursor === "" ? query : { ...query, cursor }

const MAX_ISSUES = 50

const escapePointer = (key: PropertyKey) => String(key).slice(0, 100).replace(/~/g, "~0").replace(/\//g, "~1")

const issuesOf = (issue: ParseResult.ParseIssue): ReadonlyArray<Issue> => {
  const byPath = new Map<string, Set<string>>()
  for (const { _tag, message, path } of ParseResult.ArrayFormatter.formatIssueSync(issue)) {
    const pointer = path.map((key) => `/${escapePointer(key)}`).join("")
    const messages = byPath.get(pointer) ?? new Set()
    byPath.set(pointer, messages.add(sentence(_tag, message)))
  }
  return Array.from(byPath, ([path, messages]) => ({ path, message: joined([...messages]) }))
}

/** Names of types as a person would say them. */
const KIND: ReadonlyArray<readonly [RegExp, string]> = [
  [/^ReadonlyArray<.*>$/s, "a list"],
  [/^\{ .*\}$/s, "an object"],
  [/^(?:Add|Create|Publish|Update)[A-Z]\w*$/, "an object"],
  [/^boolean$/, "true or false"],
  [/^a string matching the pattern \^\[\^\\0\\p\{Cs\}\]\*\$$/, "text without NUL and lone surrogates"],
  [/^string$/, "a text"],
  [/^number$/, "a number"]
]

const COUNT = /^an? (?:string|array)(?: of)? (at (?:least|most)) (\d+) (character|item)\(s\)(?: long)?$/

const kindOf = (type: string) => {
  const [, bound, count, unit] = COUNT.exec(type) ?? []
  if (count !== undefined) return `${bound} ${count} ${unit}${count === "1" ? "" : "s"}`
  return KIND.find(([pattern]) => pattern.test(type))?.[1] ?? type
}

/** Without the received value that the formatter adds. */
const sentence = (tag: string, message: string) => {
  if (tag === "Missing") return "is missing"
  if (tag === "Unexpected") return "is not known here: check the spelling, or leave it out"
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
