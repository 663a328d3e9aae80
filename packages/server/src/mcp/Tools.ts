/**
 * MCP tools, derived: each contract entry with a tool name is one tool over the very call its REST route makes.
 *
 * Name, title, description, schemas and hints all come from the entry; nothing here knows a single operation. A tool
 * without a declared name does not exist, and a test fails when a workspace's operation has none. The whole list is read
 * by a model before it does anything, so it is kept short: a test bounds it. Source: spec §1, §4 and §4.7.
 */
import { OpenApi } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { Context, Option } from "effect"
import { type Caller, permissionsOf } from "../gate/Caller.ts"
import { inputSchemaOf, type ObjectSchema, outputSchemaOf, sharing } from "./ToolSchemas.ts"

/** As `tools/list` shows it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  readonly annotations: {
    readonly readOnlyHint: boolean
    /** Means nothing of a tool that only reads. */
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
    readonly openWorldHint: boolean
  }
}

export interface Tool {
  readonly entry: ContractEntry
  readonly listed: ListedTool
  /** The same for the operator's token, which must name a workspace. */
  readonly listedForOperator: ListedTool
}

const annotation = (entry: ContractEntry, tag: typeof OpenApi.Summary | typeof OpenApi.Description) =>
  Option.getOrElse(Context.getOption(entry.endpoint.annotations, tag as typeof OpenApi.Summary), () => "")

const sentence = (text: string) => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`)

/** What it is for, when to use it, and what to do next. */
const descriptionOf = (entry: ContractEntry) =>
  [
    sentence(annotation(entry, OpenApi.Summary)),
    sentence(annotation(entry, OpenApi.Description)),
    entry.rules.guidance ?? ""
  ]
    .filter((part) => part !== "")
    .join(" ")

/** Whether it makes Posthorn send something to a receiver. */
const REACHES_OUT: ReadonlySet<string> = new Set(["event:publish", "webhook:replay", "webhook:test"])

const annotationsOf = (entry: ContractEntry): ListedTool["annotations"] => {
  if (entry.method === "GET" || entry.rules.readOnly === true)
    return { readOnlyHint: true, openWorldHint: false }
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
    outputSchema: outputSchemaOf(entry),
    annotations: annotationsOf(entry)
  }
  return { entry, listed, listedForOperator: { ...listed, inputSchema: inputSchemaOf(entry, true) } }
}

/** Every tool, in the order of the contract. */
export const tools: ReadonlyArray<Tool> = entries.map((entry) => toolOf(entry, entry.rules.tool))

const visibleTo = (caller: Caller): ReadonlyArray<ListedTool> =>
  caller.kind === "operator"
    ? tools.map((tool) => tool.listedForOperator)
    : tools
        .filter(
          ({ entry: { rules } }) =>
            rules.permission === "any" || permissionsOf(caller).has(rules.permission as never)
        )
        .map((tool) => tool.listed)

/** What this caller may call, in the order of the contract. */
export const toolsFor = (caller: Caller): ReadonlyArray<ListedTool> => {
  const share = sharing()
  return visibleTo(caller).map((tool) => ({ ...tool, outputSchema: share(tool.outputSchema, tool.name) }))
}
