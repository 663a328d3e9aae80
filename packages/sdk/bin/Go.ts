/**
 * Writes the Go client's `generated.go`: types, parameters and a method for each operation. Names of plain values, such as a
 * status, are their plain types, so that `posthorn.String` fits every optional member.
 */
import { clean, comment, declared, goType } from "@posthorn/cli/types/Go"
import type { Member, Named, Shape } from "@posthorn/cli/types/Shapes"
import { type Document, namesAt, type Operation, upper } from "./Document.ts"

export const RESERVED = [
  "Client",
  "Error",
  "Iterator",
  "New",
  "Options",
  "Answer",
  "String",
  "Int",
  "Bool",
  "Verified",
  "Verify"
]

const widest = (texts: ReadonlyArray<string>) => Math.max(...texts.map(({ length }) => length))

/** Names of what is no object become what they stand for. */
const plainer = (named: ReadonlyArray<Named>) => {
  const plain = new Map(named.flatMap(({ is, name }) => ("shape" in is ? [[name, is.shape] as const] : [])))
  const resolved = (shape: Shape): Shape => {
    switch (shape.kind) {
      case "named":
        return plain.has(shape.name) ? resolved(plain.get(shape.name)!) : { ...shape, isReference: false }
      case "list":
        return { ...shape, items: resolved(shape.items) }
      case "map":
        return { ...shape, values: resolved(shape.values) }
      case "union":
        return { ...shape, shapes: shape.shapes.map(resolved) }
      default:
        return shape
    }
  }
  const member = <M extends Member>(one: M): M => ({ ...one, shape: resolved(one.shape) })
  return { resolved, member, isPlain: (name: string) => plain.has(name) }
}

/** An optional map is pointed to: an empty one is sent, and only nil is left out. */
const emptiable = <M extends Member>(one: M): M =>
  one.shape.kind === "map" ? { ...one, shape: { kind: "union", shapes: [one.shape] } } : one

const slice = (names: ReadonlyArray<string>) =>
  names.length === 0 ? "nil" : `[]string{${names.map((name) => JSON.stringify(name)).join(", ")}}`

export const go = ({ errors, named, operations }: Document): string => {
  const { isPlain, member, resolved } = plainer(named)
  const kept = named
    .filter(({ name }) => !isPlain(name))
    .map((one) => ("members" in one.is ? { ...one, is: { members: one.is.members.map(member) } } : one))
  const paramsOf = (operation: Operation): ReadonlyArray<string> => {
    const isNullable = operation.parameters.some(
      ({ isRequired, place, shape }) =>
        place === "body" &&
        !isRequired &&
        shape.kind === "union" &&
        shape.shapes.some(({ kind }) => kind === "null")
    )
    const [first, ...rest] = declared([
      {
        name: `${upper(operation.id)}Params`,
        about: "",
        is: { members: operation.parameters.map(member).map(emptiable) }
      }
    ])
    const nulls = isNullable
      ? ['\t// Members that are sent as null, such as "description".', '\tNull []string `json:"-"`']
      : []
    return [
      `// ${upper(operation.id)}Params are what ${upper(operation.id)} takes.`,
      first!,
      ...rest.slice(0, -2),
      ...nulls,
      ...rest.slice(-2)
    ]
  }
  const methodOf = (operation: Operation): ReadonlyArray<string> => {
    const name = upper(operation.id)
    const [summary, ...more] = operation.about.split("\n")
    const about = comment([`${name}: ${summary}`, ...more].join("\n"))
    const head = `func (client *Client) ${name}(ctx context.Context, params ${name}Params)`
    const nulls = paramsOf(operation).some((line) => line.startsWith("\tNull ")) ? "params.Null" : "nil"
    const call = `client.call(ctx, operations["${operation.id}"], params, ${nulls}`
    if (operation.item !== undefined) {
      const item = goType(resolved(operation.item))
      return [
        ...about,
        `${head} *Iterator[${item}] {`,
        `\treturn list[${item}](ctx, client, operations["${operation.id}"], params)`,
        "}",
        ""
      ]
    }
    const shapes = operation.answers.map(({ shape, status }) => ({
      status,
      type: shape === null ? "" : goType(resolved(shape))
    }))
    if (shapes.length > 1) {
      const result = `${name}Answer`
      return [
        `// ${result} has one of its members, by the status of the answer.`,
        `type ${result} struct {`,
        ...shapes.map(({ type }) => `\t${type.padEnd(widest(shapes.map((one) => one.type)))} *${type}`),
        "}",
        "",
        ...about,
        `${head} (*${result}, error) {`,
        `\tvar answer ${result}`,
        `\treturn &answer, ${call}, func(status int) any {`,
        "\t\tswitch status {",
        ...shapes.flatMap(({ status, type }) => [
          `\t\tcase ${status}:`,
          `\t\t\tanswer.${type} = &${type}{}`,
          `\t\t\treturn answer.${type}`
        ]),
        "\t\t}",
        "\t\treturn nil",
        "\t})",
        "}",
        ""
      ]
    }
    const { type } = shapes[0]!
    return type === ""
      ? [...about, `${head} error {`, `\treturn ${call}, nil)`, "}", ""]
      : [
          ...about,
          `${head} (*${type}, error) {`,
          `\tvar answer ${type}`,
          `\tif err := ${call}, func(int) any { return &answer }); err != nil {`,
          "\t\treturn nil, err",
          "\t}",
          "\treturn &answer, nil",
          "}",
          ""
        ]
  }
  return clean(
    [
      "// Code generated by packages/sdk/bin/generate.ts from openapi.json. DO NOT EDIT.",
      "",
      "package posthorn",
      "",
      'import "context"',
      "",
      ...declared(kept),
      "// Tags of errors that Posthorn answers.",
      "const (",
      ...errors.map((tag) => `\t${`Tag${tag}`.padEnd(widest(errors) + 3)} = "${tag}"`),
      ")",
      "",
      ...operations.flatMap((operation) => [...paramsOf(operation), ...methodOf(operation)]),
      "var operations = map[string]operation{",
      ...operations.map(
        (operation) =>
          `\t${`"${operation.id}":`.padEnd(widest(operations.map(({ id }) => id)) + 3)} {"${operation.method}", "${operation.path}", ${slice(namesAt(operation, "query"))}, ${slice(namesAt(operation, "header"))}, ${operation.body}},`
      ),
      "}",
      ""
    ].join("\n")
  )
}
