/**
 * MCP tools, derived from the contract: each entry is one tool that makes the same call as its REST route.
 *
 * Name, title, description, schemas and hints come from the entry; this file names no operation. A model reads the whole list
 * before it does anything, so a test bounds its length. Source: spec §1, §4 and §4.7.
 */
import { OpenApi } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { type OperationRules, type Toolset, toolsets } from "@posthorn/api-contract/Operation"
import { InvalidRequest } from "@posthorn/domain/Errors"
import { Context, Either, Option } from "effect"
import { type Caller, permissionsOf } from "../gate/AuthenticatedCaller.ts"
import { inputSchemaOf, type ObjectSchema, outputSchemaOf, sharing } from "./ToolSchemas.ts"

export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  /** Only when asked for: together they are as long as everything else. */
  readonly outputSchema?: ObjectSchema
  readonly _meta: { readonly toolset: Toolset }
  readonly annotations: {
    readonly readOnlyHint: boolean
    /** Meaningless for a tool that only reads. */
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
    readonly openWorldHint: boolean
  }
}

interface Tool {
  readonly entry: ContractEntry
  readonly listed: ListedTool
  /** For the operator's token, which must name a workspace. */
  readonly listedForOperator: ListedTool
  readonly outputSchema: ObjectSchema
}

/** The part of the list that a caller asks for, in the query of `/mcp`. */
export interface Choice {
  readonly names: ReadonlySet<string> | null
  readonly outputSchemas: boolean
}

const annotation = (entry: ContractEntry, tag: typeof OpenApi.Summary | typeof OpenApi.Description) =>
  Option.getOrElse(Context.getOption(entry.endpoint.annotations, tag as typeof OpenApi.Summary), () => "")

const sentence = (text: string) => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`)

/** What its title does not say, when to use it, and what to do next. */
const descriptionOf = (entry: ContractEntry) =>
  [sentence(annotation(entry, OpenApi.Description)), entry.rules.guidance ?? ""]
    .filter((part) => part !== "")
    .join(" ")

/** Whether it makes Posthorn send something to receivers. */
const REACHES_OUT: ReadonlySet<string> = new Set(["event:publish", "webhook:replay", "webhook:test"])

const annotationsOf = (entry: ContractEntry): ListedTool["annotations"] => {
  if (entry.method === "GET" || entry.rules.readOnly === true)
    return { readOnlyHint: true, openWorldHint: entry.rules.reachesOut === true }
  const removes = entry.method === "DELETE"
  return {
    readOnlyHint: false,
    destructiveHint: entry.rules.destructive ?? removes,
    idempotentHint: entry.rules.idempotent ?? removes,
    openWorldHint: REACHES_OUT.has(entry.rules.permission)
  }
}

const toolOf = (entry: ContractEntry, name: string): Tool => {
  const title = annotation(entry, OpenApi.Summary) || entry.name
  const listed = {
    name,
    title,
    description: descriptionOf(entry),
    inputSchema: inputSchemaOf(entry, false),
    annotations: annotationsOf(entry),
    _meta: { toolset: entry.rules.toolset }
  }
  return {
    entry,
    listed,
    listedForOperator: { ...listed, inputSchema: inputSchemaOf(entry, true) },
    outputSchema: outputSchemaOf(entry)
  }
}

export const tools: ReadonlyArray<Tool> = entries.map((entry) => toolOf(entry, entry.rules.tool))

const namesOf = (wanted: (tool: Tool) => boolean) => tools.filter(wanted).map(({ listed }) => listed.name)

/** Toolsets and tools, by the name under which `?tools=` takes them. */
const byName: ReadonlyMap<string, ReadonlyArray<string>> = new Map<string, ReadonlyArray<string>>([
  ...toolsets.map((toolset) => [toolset, namesOf((tool) => tool.entry.rules.toolset === toolset)] as const),
  ...tools.map(({ listed }) => [listed.name, [listed.name]] as const)
])

const unknownName = new InvalidRequest({
  issues: [
    {
      path: "/tools",
      message: `Expected names of toolsets (${toolsets.join(", ")}) or of tools, separated by commas; tools/list without it has all`
    }
  ]
})

/** The query of `/mcp`: `tools` narrows what the caller may see and call, `outputSchemas=true` adds the shapes of answers. */
export const choiceOf = (query: URLSearchParams): Either.Either<Choice, InvalidRequest> => {
  const outputSchemas = query.get("outputSchemas") === "true"
  const wanted = query.get("tools")
  if (wanted === null) return Either.right({ names: null, outputSchemas })
  const found = wanted.split(",").map((name) => byName.get(name.trim()))
  return found.includes(undefined)
    ? Either.left(unknownName)
    : Either.right({ names: new Set(found.flatMap((names) => names ?? [])), outputSchemas })
}

const isVisibleTo = (caller: Caller, { permission }: OperationRules) =>
  caller.kind === "operator" || permission === "any" || permissionsOf(caller).has(permission as never)

export const toolsFor = (caller: Caller, { names, outputSchemas }: Choice): ReadonlyArray<ListedTool> => {
  const share = sharing()
  return tools
    .filter(
      ({ entry, listed }) => (names === null || names.has(listed.name)) && isVisibleTo(caller, entry.rules)
    )
    .map(({ listed, listedForOperator, outputSchema }) => ({
      ...(caller.kind === "operator" ? listedForOperator : listed),
      ...(outputSchemas ? { outputSchema: share(outputSchema, listed.name) } : {})
    }))
}
