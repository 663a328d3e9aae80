/**
 * Idempotency keys: which operations keep their answers under one, and what makes two calls the same.
 *
 * The same are: operation, path, query, and the text of the body without insignificant white space. REST and MCP come to
 * the same fingerprint. Source: decision §10 (`Idempotency-Key`).
 */
import { createHash } from "node:crypto"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { compact, JsonText, parseJson, stringify } from "@posthorn/domain/JsonText"
import { Either, Option, Schema } from "effect"
import type { RawRequest } from "./Decode.ts"

export const KEY_HEADER = "idempotency-key"

/** Whether the operation's answers are kept under keys by the common rule. */
export const keepsAnswers = ({ headersSchema, rules }: ContractEntry): boolean =>
  rules.ownKeys !== true &&
  Option.exists(headersSchema, (schema) => {
    const { ast } = Schema.encodedSchema(schema as Schema.Schema<unknown>)
    return "propertySignatures" in ast && ast.propertySignatures.some(({ name }) => name === KEY_HEADER)
  })

/** The body has been parsed once: it is bounded already. */
const UNBOUNDED = { rawDepth: 100_000, values: Number.POSITIVE_INFINITY }

/** An object's members, each as its exact text; what is no object, as a whole. */
const members = (json: string, without: ReadonlySet<string>): string => {
  const parsed: unknown = JSON.parse(json)
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return compact(json)
  const names = Object.keys(parsed)
  const cut = parseJson(
    json,
    names.map((name) => [name]),
    UNBOUNDED
  )
  const texts = Object.entries(Either.getOrElse(cut, () => parsed) as Readonly<Record<string, JsonText>>)
  return stringify(
    Object.fromEntries(
      texts
        .filter(([name]) => !without.has(name))
        .map(([name, { text }]) => [name, new JsonText(compact(text))])
    )
  )
}

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))

export const fingerprintOf = (entry: ContractEntry, { json, path, query }: RawRequest): Buffer => {
  const { slug: _, ...rest } = path
  const body = json === undefined ? "{}" : members(json.text, json.without)
  return createHash("sha256")
    .update(JSON.stringify([entry.name, sorted(rest), sorted(query)]))
    .update(body)
    .digest()
}
