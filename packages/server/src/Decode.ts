/**
 * From what a door received to the request an operation takes, by the contract's own schemas.
 *
 * What does not fit is one `InvalidRequest` that lists the problems with JSON pointers, and repeats nothing of what was
 * sent: it might be a secret. Members of a body or query that the contract does not name are refused.
 * Source: decision §4, §5 and §10.
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { InvalidRequest, type Issue, invalid } from "@posthorn/domain/Errors"
import { rawProblem } from "@posthorn/domain/JsonText"
import { Either, Option, type Schema } from "effect"
import { type Judgement, judgementOf, MAX_ISSUES, membersOf, nothing } from "./Judge.ts"

/** What a door received, still as it came. */
export interface RawRequest {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Parsed JSON, raw members as `JsonText` whose syntax is not judged yet; undefined when there was none. */
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

type Part = Option.Option<Schema.Schema.Any>

const open = (part: Part): Judgement =>
  Option.match(part, {
    onNone: () => () => Either.right(undefined),
    onSome: (schema) => judgementOf(schema, "ignored")
  })

const closed = (part: Part): Judgement =>
  Option.match(part, { onNone: () => nothing, onSome: (schema) => judgementOf(schema, "refused") })

/** An empty cursor is none, as an empty limit is none. */
const queryOf = (part: Part): Judgement => {
  const judge = closed(part)
  if (!Option.exists(part, (schema) => membersOf(schema).includes("cursor"))) return judge
  return (query) => {
    if ((query as RawRequest["query"]).cursor !== "") return judge(query)
    const { cursor: _, ...rest } = query as RawRequest["query"]
    return judge(rest)
  }
}

/** Compile the decoders of one operation; once, at start. */
export const decoderOf = (entry: ContractEntry): Decoder => {
  const { rules } = entry
  const parts = [
    ["path", open(entry.pathSchema)],
    ["query", queryOf(entry.querySchema)],
    ["headers", open(entry.headersSchema)],
    ["body", closed(entry.bodySchema)]
  ] as const
  return (raw) => {
    const request: Record<string, unknown> = {}
    const issues: Array<Issue> = []
    for (const [name, decode] of parts) {
      const result = decode(raw[name])
      if (Either.isRight(result)) request[name] = result.right
      else issues.push(...result.left)
    }
    if (issues.length > 0) return Either.left(new InvalidRequest({ issues: issues.slice(0, MAX_ISSUES) }))
    // Last, because it is the dearest: a payload of 1 MiB takes up to 80 ms.
    const wrong = rawProblem(raw.body, rules.raw ?? [])
    return wrong === undefined
      ? Either.right(request as unknown as DecodedRequest)
      : Either.left(invalid(wrong.path, wrong.message))
  }
}
