/**
 * MCP tools, derived: each contract entry with a tool name becomes one tool over the very call its REST route makes.
 *
 * Arguments are the operation's path, query and body members in one flat object; `slug` may be left out with a
 * workspace's token. Answers and refusals are the JSON a REST client gets. Source: decision §4 (MCP).
 */
import { OpenApi } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { Context, JSONSchema, Option, type Schema } from "effect"
import type { RawRequest } from "../Decode.ts"

export interface Tool {
  readonly entry: ContractEntry
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: "object"; readonly [member: string]: unknown }
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

interface ObjectSchema {
  readonly properties?: Record<string, unknown>
  readonly required?: ReadonlyArray<string>
  readonly $defs?: Record<string, unknown>
}

/** Types of JSON Schema for a part of the request, inlined at the root because a tool's schema must be an object. */
const schemaOf = (part: Option.Option<Schema.Schema.Any>): ObjectSchema => {
  if (Option.isNone(part)) return {}
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const root = JSONSchema.fromAST(part.value.ast, {
    definitions,
    definitionPath: "#/$defs/",
    topLevelReferenceStrategy: "skip",
    target: "jsonSchema2020-12"
  } as never) as unknown as ObjectSchema
  return { ...root, $defs: definitions }
}

const annotation = (entry: ContractEntry, tag: Context.Tag<never, string> | unknown) =>
  Option.getOrElse(Context.getOption(entry.endpoint.annotations, tag as Context.Tag<never, string>), () => entry.name)

const inputSchemaOf = (entry: ContractEntry): Tool["inputSchema"] => {
  const parts = [entry.pathSchema, entry.querySchema, entry.bodySchema].map(schemaOf)
  const required = parts.flatMap((part) => part.required ?? []).filter((name) => name !== "slug")
  const $defs = Object.assign({}, ...parts.map((part) => part.$defs ?? {}))
  return {
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part.properties ?? {})),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys($defs).length === 0 ? {} : { $defs })
  }
}

const toolOf = (entry: ContractEntry, name: string): Tool => {
  const readOnly = entry.method === "GET"
  const title = annotation(entry, OpenApi.Summary)
  return {
    entry,
    name,
    title,
    description: `${title}. ${annotation(entry, OpenApi.Description)}`,
    inputSchema: inputSchemaOf(entry),
    annotations: {
      title,
      readOnlyHint: readOnly,
      destructiveHint: entry.rules.destructive ?? false,
      idempotentHint: entry.rules.idempotent ?? readOnly,
      openWorldHint: false
    }
  }
}

/** Every tool, in the order of the contract. */
export const tools: ReadonlyArray<Tool> = entries.flatMap((entry) =>
  entry.rules.tool === null ? [] : [toolOf(entry, entry.rules.tool)]
)

const membersOf = (part: Option.Option<Schema.Schema.Any>) => Object.keys(schemaOf(part).properties ?? {})

/** As a URL would carry it, so that the contract's own decoders clamp and default. */
const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

/** Deal a tool's flat arguments out to path, query and body; what is not known goes to the body and is refused there. */
export const dealerOf = ({ entry }: Tool) => {
  const path = new Set(membersOf(entry.pathSchema))
  const query = new Set(membersOf(entry.querySchema))
  return (args: Readonly<Record<string, unknown>>, slug: string): RawRequest => {
    const dealt = { path: { slug } as Record<string, string>, query: {} as Record<string, string>, body: {} }
    for (const [name, value] of Object.entries(args)) {
      if (path.has(name)) dealt.path[name] = asText(value)
      else if (query.has(name)) dealt.query[name] = asText(value)
      else Object.defineProperty(dealt.body, name, { value, enumerable: true })
    }
    return { ...dealt, headers: {} }
  }
}
