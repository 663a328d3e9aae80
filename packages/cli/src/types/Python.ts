/** Types for Python 3.11 and newer: `TypedDict`s, and a union of deliveries that a comparison of `eventType` tells apart. */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import { type Member, type Named, type Shape, shapesOf, type Value } from "./Shapes.ts"

const TYPES = ["Any", "Literal", "NotRequired", "TypeAlias", "TypedDict"]
const RESERVED = [...TYPES, "Delivery", "EventType", "None", "True", "False"]

const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " "
  )
)
/** Names that annotations of the same class would then find instead. */
const USED = new Set([...TYPES, "bool", "dict", "float", "int", "list", "str"])

const isPlain = ({ name }: Member) =>
  /^(?!__)[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name) && !USED.has(name)

export const comment = (about: string, indent = "") =>
  about === "" ? [] : about.split(/\r\n|[\n\r]/).map((line) => `${indent}# ${line}`.trimEnd())

export const literal = (value: Value) =>
  value === null ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value)

/** `Literal` takes no fractions. */
const valuesOf = (values: ReadonlyArray<Value>): string =>
  values.every((value) => typeof value !== "number" || Number.isSafeInteger(value))
    ? `Literal[${values.map(literal).join(", ")}]`
    : [
        ...new Set(
          values.map((value) => (typeof value === "number" ? "float" : `Literal[${literal(value)}]`))
        )
      ].join(" | ")

export const text = (shape: Shape): string => {
  switch (shape.kind) {
    case "any":
      return "Any"
    case "boolean":
      return "bool"
    case "integer":
      return "int"
    case "null":
      return "None"
    case "number":
      return "float"
    case "string":
      return "str"
    case "values":
      return valuesOf(shape.values)
    case "list":
      return `list[${text(shape.items)}]`
    case "map":
      return `dict[str, ${text(shape.values)}]`
    case "union":
      return shape.shapes.map(text).join(" | ")
    case "named":
      return shape.name
  }
}

/** As a string it may name what comes later. */
const quoted = (type: string) => (type.includes('"') ? `'${type.replaceAll("'", "\\'")}'` : `"${type}"`)

const typeOf = ({ isRequired, shape }: Member) => (isRequired ? text(shape) : `NotRequired[${text(shape)}]`)

const record = (name: string, members: ReadonlyArray<Member>) =>
  members.every(isPlain)
    ? [
        `class ${name}(TypedDict):`,
        ...members.flatMap((member) => [
          ...comment(member.about, "    "),
          `    ${member.name}: ${typeOf(member)}`
        ]),
        ...(members.length === 0 ? ["    pass"] : [])
      ]
    : [
        `${name} = TypedDict(`,
        `    "${name}",`,
        "    {",
        ...members.flatMap((member) => [
          ...comment(member.about, "        "),
          `        ${JSON.stringify(member.name)}: ${quoted(typeOf(member))},`
        ]),
        "    },",
        ")"
      ]

/** Declarations of the types. */
export const declared = (named: ReadonlyArray<Named>): ReadonlyArray<string> =>
  named.flatMap(({ about, is, name }) => [
    "",
    ...comment(about),
    ...("shape" in is ? [`${name}: TypeAlias = ${quoted(text(is.shape))}`] : record(name, is.members)),
    ""
  ])

export const python = (types: ReadonlyArray<DescribedType>): string => {
  const { events, named } = shapesOf(types, RESERVED)
  return [
    "# Made by `posthorn types --language python`. Make it again instead of changing it.",
    "from __future__ import annotations",
    "",
    `from typing import ${TYPES.join(", ")}`,
    "",
    ...declared(named),
    ...events.flatMap(({ about, delivery, eventType, payload }) => [
      "",
      ...comment(about),
      `class ${delivery}(TypedDict):`,
      "    # The same on every automatic retry.",
      "    deliveryId: str",
      `    eventType: Literal[${literal(eventType)}]`,
      `    payload: ${payload}`,
      ""
    ]),
    "",
    "# The body of a request that was verified; comparing its eventType tells the payload's type.",
    `Delivery: TypeAlias = ${events.length === 0 ? "Any" : quoted(events.map(({ delivery }) => delivery).join(" | "))}`,
    "",
    `EventType: TypeAlias = ${events.length === 0 ? "str" : `Literal[${events.map(({ eventType }) => literal(eventType)).join(", ")}]`}`,
    ""
  ].join("\n")
}
