/** Types for TypeScript: interfaces, and a union of deliveries that a `switch` on `eventType` tells apart. */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import { type Named, type Shape, shapesOf, type Value } from "./Shapes.ts"

const RESERVED = ["Delivery", "EventType", "ReadonlyArray", "Record"]

export const comment = (about: string, indent = "") =>
  about === ""
    ? []
    : about.includes("\n")
      ? [
          `${indent}/**`,
          ...about.split(/\r\n|[\n\r]/).map((line) => `${indent} * ${safe(line)}`.trimEnd()),
          `${indent} */`
        ]
      : [`${indent}/** ${safe(about)} */`]

const safe = (line: string) => line.replaceAll("*/", "* /")

export const key = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
const literal = (value: Value) => JSON.stringify(value)

export const text = (shape: Shape): string => {
  switch (shape.kind) {
    case "any":
      return "unknown"
    case "integer":
      return "number"
    case "values":
      return shape.values.map(literal).join(" | ")
    case "list":
      return `ReadonlyArray<${text(shape.items)}>`
    case "map":
      return `{ readonly [name: string]: ${text(shape.values)} }`
    case "union":
      return shape.shapes.map(text).join(" | ")
    case "named":
      return shape.name
    default:
      return shape.kind
  }
}

/** Declarations of the types. */
export const declared = (named: ReadonlyArray<Named>): ReadonlyArray<string> =>
  named.flatMap(({ about, is, name }) => [
    ...comment(about),
    ...("shape" in is
      ? [`export type ${name} = ${text(is.shape)}`]
      : [
          `export interface ${name} {`,
          ...is.members.flatMap((member) => [
            ...comment(member.about, "  "),
            `  readonly ${key(member.name)}${member.isRequired ? "" : "?"}: ${text(member.shape)}`
          ]),
          "}"
        ]),
    ""
  ])

export const typeScript = (types: ReadonlyArray<DescribedType>): string => {
  const { events, named } = shapesOf(types, RESERVED)
  return [
    "// Made by `posthorn types --language typescript`. Make it again instead of changing it.",
    "",
    ...declared(named),
    ...events.flatMap(({ about, delivery, eventType, payload }) => [
      ...comment(about),
      `export interface ${delivery} {`,
      "  /** The same on every automatic retry. */",
      "  readonly deliveryId: string",
      `  readonly eventType: ${literal(eventType)}`,
      `  readonly payload: ${payload}`,
      "}",
      ""
    ]),
    "/** The body of a request that was verified; a `switch` on its `eventType` tells the payload's type. */",
    `export type Delivery = ${events.length === 0 ? "never" : events.map(({ delivery }) => `\n  | ${delivery}`).join("")}`,
    "",
    'export type EventType = Delivery["eventType"]',
    ""
  ].join("\n")
}
