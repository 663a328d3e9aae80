/**
 * MCP tools, derived from the contract: each entry is one tool that makes the same call as its REST route.
 *
 * Name, title, description, schemas and hints come from the entry; this file names no operation. A model reads the whole list
 * before it does anything, so a test bounds its length. Source: spec §1, §4 and §4.7.
 */
import { OpenApi } from "@effect/platform"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { Context, Option } from "effect"
import { type Caller, permissionsOf } from "../gate/AuthenticatedCaller.ts"
import { inputSchemaOf, type ObjectSchema, outputSchemaOf, sharing } from "./ToolSchemas.ts"

/** A tool in `tools/list`. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
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
}

const annotation = (entry: ContractEntry, tag: typeof OpenApi.Summary | typeof OpenApi.Description) =>
  Option.getOrElse(Context.getOption(entry.endpoint.annotations, tag as typeof OpenApi.Summary), () => "")

const sentence = (text: string) => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`)

/** Its purpose, when to use it, and what to do next. */
const descriptionOf = (entry: ContractEntry) =>
  [
    sentence(annotation(entry, OpenApi.Summary)),
    sentence(annotation(entry, OpenApi.Description)),
    entry.rules.guidance ?? ""
  ]
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

/** The tools that this caller may call, in the order of the contract. */
export const toolsFor = (caller: Caller): ReadonlyArray<ListedTool> => {
  const share = sharing()
  return visibleTo(caller).map((tool) => ({ ...tool, outputSchema: share(tool.outputSchema, tool.name) }))
}
