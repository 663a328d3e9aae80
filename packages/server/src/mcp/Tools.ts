/**
 * MCP tools, derived: each contract entry with a tool name is one tool over the very call its REST route makes.
 *
 * Name, title, description, schemas and hints all come from the entry; nothing here knows a single operation. A tool
 * without a declared name does not exist, and a test fails when a workspace's operation has none.
 * Source: spec §1 and §4, decision §4 (MCP).
 */
import { OpenApi } from "@effect/platform"
import { problems } from "@posthorn/api-contract/Problem"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { Context, Option, SchemaAST } from "effect"
import type { Caller } from "../Gate.ts"
import { inputSchemaOf, type ObjectSchema, outputSchemaOf } from "./ToolSchemas.ts"

/** As `tools/list` shows it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ObjectSchema
  readonly outputSchema: ObjectSchema
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
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

/** The error tags that this operation declares, beyond those that any call may get. */
const declaredErrors = (entry: ContractEntry): ReadonlyArray<string> => {
  const { ast } = entry.endpoint.errorSchema
  const members = SchemaAST.isUnion(ast) ? ast.types : [ast]
  return members.flatMap((member) =>
    Option.toArray(
      Option.filter(
        SchemaAST.getIdentifierAnnotation(SchemaAST.typeAST(member)),
        (tag) => tag in problems && tag !== "WorkspaceNotFound"
      )
    )
  )
}

const refusals = (entry: ContractEntry) => {
  const tags = declaredErrors(entry).map((tag) => `${tag} (${problems[tag as keyof typeof problems].title})`)
  return tags.length === 0 ? "" : `Refuses with ${tags.join(", ")}.`
}

/** When to use it, what it refuses, and what the token must hold. */
const descriptionOf = (entry: ContractEntry) =>
  [
    sentence(annotation(entry, OpenApi.Summary)),
    sentence(annotation(entry, OpenApi.Description)),
    refusals(entry),
    `Needs the permission ${entry.rules.permission}.`
  ]
    .filter((part) => part !== "")
    .join(" ")

/** Whether it makes Posthorn send something to a receiver. */
const REACHES_OUT: ReadonlySet<string> = new Set(["event:publish", "webhook:replay", "webhook:test"])

const annotationsOf = (entry: ContractEntry, title: string): ListedTool["annotations"] => {
  const readOnlyHint = entry.method === "GET"
  const removes = entry.method === "DELETE"
  return {
    title,
    readOnlyHint,
    destructiveHint: entry.rules.destructive ?? removes,
    idempotentHint: entry.rules.idempotent ?? (readOnlyHint || removes),
    openWorldHint: !readOnlyHint && REACHES_OUT.has(entry.rules.permission)
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
    annotations: annotationsOf(entry, title)
  }
  return { entry, listed, listedForOperator: { ...listed, inputSchema: inputSchemaOf(entry, true) } }
}

/** Every tool, in the order of the contract. */
export const tools: ReadonlyArray<Tool> = entries.flatMap((entry) =>
  entry.rules.tool === null ? [] : [toolOf(entry, entry.rules.tool)]
)

/** What this caller may call. */
export const toolsFor = (caller: Caller): ReadonlyArray<ListedTool> =>
  caller.kind === "operator"
    ? tools.map((tool) => tool.listedForOperator)
    : tools
        .filter(({ entry }) => caller.identity.permissions.has(entry.rules.permission as never))
        .map((tool) => tool.listed)
