/** Writes the TypeScript client's `generated.ts`: types, the interface of all operations, and where each operation's parts go. */
import { comment, declared, key, text } from "@posthorn/cli/types/TypeScript"
import { type Document, namesAt, type Operation, upper } from "./Document.ts"

export const RESERVED = ["Listed", "CallOptions", "Operations", "ErrorTag", "ReadonlyArray", "Promise"]

const paramsOf = ({ id }: Operation) => `${upper(id)}Params`

const answerOf = ({ answers, item }: Operation) =>
  item === undefined
    ? `Promise<${answers.map(({ shape }) => (shape === null ? "void" : text(shape))).join(" | ")}>`
    : `Listed<${text(item)}>`

export const typeScript = ({ errors, named, operations }: Document): string =>
  [
    "// Written by bin/generate.ts from openapi.json: run `npm run clients` instead of changing it.",
    "",
    'import type { CallOptions, Listed } from "./Call.ts"',
    "",
    ...declared(named),
    ...operations.flatMap((operation) => [
      `export interface ${paramsOf(operation)} {`,
      ...operation.parameters.flatMap(({ about, isRequired, name, shape }) => [
        ...comment(about, "  "),
        `  readonly ${key(name)}${isRequired ? "" : "?"}: ${text(shape)}`
      ]),
      "}",
      ""
    ]),
    "/** `tag` of a PosthornError that Posthorn answered. */",
    `export type ErrorTag = ${errors.map((tag) => `\n  | "${tag}"`).join("")}`,
    "",
    "export interface Operations {",
    ...operations.flatMap((operation) => [
      ...comment(operation.about, "  "),
      `  readonly ${operation.id}: (params${operation.parameters.some(({ isRequired }) => isRequired) ? "" : "?"}: ${paramsOf(operation)}, options?: CallOptions) => ${answerOf(operation)}`
    ]),
    "}",
    "",
    "/** Method, path, names in the query, names in headers, whether there is a body, whether it is a list. */",
    "export const operations = {",
    ...operations.map(
      (operation) =>
        `  ${operation.id}: [${[
          JSON.stringify(operation.method),
          JSON.stringify(operation.path),
          JSON.stringify(namesAt(operation, "query")),
          JSON.stringify(namesAt(operation, "header")),
          operation.body,
          operation.item !== undefined
        ].join(", ")}],`
    ),
    "} as const",
    ""
  ].join("\n")
