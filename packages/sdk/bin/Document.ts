/**
 * Posthorn's operations and the shapes they speak of, read from `openapi.json` for the writers of the clients.
 *
 * An operation's parameters are one flat list: those of its path, query and headers, and the members of its body. The slug of the
 * workspace is `workspace`, as in the tools. Where the header and the body have a member of the same name, such as a publish's
 * idempotency key, the parameter is the body's.
 */
import { readFileSync } from "node:fs"
import { type Member, type Named, type Shape, shapesWithin } from "@posthorn/cli/types/Shapes"
import {
  isObject,
  listOf,
  mapOf,
  oneOf,
  referencesOf,
  type SchemaObject
} from "@posthorn/domain/catalogue/JsonSchema"

export interface Parameter extends Member {
  readonly place: "body" | "header" | "path" | "query"
  /** What the wire calls it. */
  readonly wire: string
}

export interface Answer {
  readonly status: number
  /** Null: without a body. */
  readonly shape: Shape | null
}

export interface Operation {
  readonly id: string
  readonly about: string
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  /** 0: none, 1: where one of its members is given, 2: always, also when it is empty. */
  readonly body: 0 | 1 | 2
  readonly answers: ReadonlyArray<Answer>
  /** Of a list: what a page holds. */
  readonly item: Shape | undefined
}

export interface Document {
  readonly version: string
  readonly operations: ReadonlyArray<Operation>
  readonly named: ReadonlyArray<Named>
  readonly errors: ReadonlyArray<string>
}

/** The names of the parameters that stand there. */
export const namesAt = ({ parameters }: Operation, place: Parameter["place"]): ReadonlyArray<string> =>
  parameters.filter((one) => one.place === place).map(({ name }) => name)

const METHODS = ["get", "put", "post", "patch", "delete"]
const SCHEMAS = "/components/schemas/"

const camel = (header: string) => header.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `reserved`: names of the language that no type may have. */
export const readDocument = (reserved: ReadonlyArray<string>): Document => {
  const document = JSON.parse(
    readFileSync(new URL("../../api-contract/openapi.json", import.meta.url), "utf8")
  ) as SchemaObject
  const at = referencesOf(document)
  const followed = (one: unknown): SchemaObject => {
    if (!isObject(one)) return {}
    const target = "$ref" in one ? at(one)?.schema : one
    return isObject(target) ? target : {}
  }
  const inside = (one: unknown, ...names: ReadonlyArray<string>): unknown =>
    names.reduce((value: unknown, name) => followed(value)[name], one)

  const wanted = new Set<string>()
  const operations: Array<SchemaObject & { readonly method: string; readonly path: string }> = []
  for (const [path, methods] of Object.entries(followed(document.paths)))
    for (const method of METHODS) {
      const operation = inside(methods, method)
      if (isObject(operation)) operations.push({ ...operation, method: method.toUpperCase(), path })
    }

  const collect = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null) return
    if (isRef(schema) && schema.$ref.startsWith(`#${SCHEMAS}`)) {
      const name = schema.$ref.slice(SCHEMAS.length + 1)
      if (wanted.has(name)) return
      wanted.add(name)
      collect(followed(schema))
    } else Object.values(schema).forEach(collect)
  }
  const bodyOf = (one: unknown) => inside(one, "content", "application/json", "schema")
  const successes = (operation: SchemaObject) =>
    Object.entries(followed(operation.responses)).filter(([status]) => Number(status) < 300)

  /** What a page of the answer holds, if it is one. */
  const itemsOf = (answer: unknown) => {
    const members = mapOf(followed(bodyOf(answer)), "properties")
    return members.has("nextCursor") ? oneOf(followed(members.get("items")), "items") : undefined
  }

  for (const operation of operations) {
    collect(followed(bodyOf(operation.requestBody)))
    for (const [, answer] of successes(operation)) collect(itemsOf(answer) ?? bodyOf(answer))
  }

  // Bodies and parameters become shapes of their own, under names that no answer has.
  const components = Object.keys(followed(inside(document, "components", "schemas"))).filter((name) =>
    wanted.has(name)
  )
  const parametersOf = (operation: SchemaObject) =>
    (Array.isArray(operation.parameters) ? operation.parameters : []).map(followed)
  const bodies = new Map(
    operations.map((operation) => {
      const parameters = parametersOf(operation)
      const body = followed(bodyOf(operation.requestBody))
      const properties = Object.fromEntries([
        ...parameters.map((one): [string, unknown] => [
          nameOf(one),
          {
            ...followed(one.schema),
            ...(isRef(one.schema) ? { $ref: one.schema.$ref, type: undefined, pattern: undefined } : {}),
            description: one.description
          }
        ]),
        ...mapOf(body, "properties")
      ])
      return [
        String(operation.operationId),
        {
          type: "object",
          properties,
          required: [
            ...parameters.filter(({ required, name }) => required === true && name !== "slug").map(nameOf),
            ...(Array.isArray(body.required) ? body.required : [])
          ]
        }
      ] as const
    })
  )
  const root: SchemaObject = { ...document, flat: Object.fromEntries(bodies) }
  const entryOf = (pointer: string, name: string, about: unknown) => ({
    pointer,
    name,
    about: typeof about === "string" ? about : ""
  })
  const all = shapesWithin(
    root,
    [
      ...components.map((name) =>
        entryOf(`${SCHEMAS}${name}`, name, followed({ $ref: `#${SCHEMAS}${name}` }).description)
      ),
      ...operations.map(({ operationId }) =>
        entryOf(`/flat/${operationId}`, `${upper(String(operationId))}Params`, "")
      )
    ],
    reserved
  )

  return {
    version: String(inside(document, "info", "version")),
    errors: [
      ...new Set(operations.flatMap((operation) => tagsOf(followed(operation.responses), followed)))
    ].sort(),
    named: all.filter(({ name }) => !name.endsWith("Params")),
    operations: operations.map((operation): Operation => {
      const id = String(operation.operationId)
      const flat = all.find(({ name }) => name === `${upper(id)}Params`)!.is
      const places = new Map(
        parametersOf(operation).map((one) => [nameOf(one), [String(one.in), String(one.name)]] as const)
      )
      const inBody = mapOf(followed(bodyOf(operation.requestBody)), "properties")
      const answers = distinct(
        successes(operation).map(([status, answer]) => ({
          status: Number(status),
          shape: shapeOfAnswer(bodyOf(answer))
        }))
      )
      const items = itemsOf(successes(operation)[0]?.[1])
      return {
        id,
        about: [operation.summary, operation.description]
          .filter((text) => typeof text === "string")
          .join("\n\n"),
        method: operation.method,
        path: operation.path.replace("{slug}", "{workspace}"),
        parameters: ("members" in flat ? flat.members : []).map((member): Parameter => {
          const [place, wire] = inBody.has(member.name)
            ? ["body", member.name]
            : (places.get(member.name) ?? ["body", member.name])
          return {
            ...member,
            place: place as Parameter["place"],
            wire: member.name === "workspace" ? "workspace" : wire!
          }
        }),
        body: followed(operation.requestBody).required === true ? 2 : inBody.size > 0 ? 1 : 0,
        answers,
        item: isObject(items) ? shapeOfAnswer(items)! : undefined
      }
    })
  }
}

export const upper = (name: string) => name[0]!.toUpperCase() + name.slice(1)

const isRef = (schema: unknown): schema is { readonly $ref: string } =>
  isObject(schema) && typeof schema.$ref === "string"

const nameOf = (parameter: SchemaObject) => {
  const name = String(parameter.name)
  return name === "slug" ? "workspace" : parameter.in === "header" ? camel(name) : name
}

const shapeOfAnswer = (schema: unknown): Shape | null => {
  if (!isObject(schema)) return null
  if (typeof schema.$ref !== "string") return { kind: "any" }
  return { kind: "named", name: schema.$ref.slice(SCHEMAS.length + 1), isReference: false }
}

const distinct = (answers: ReadonlyArray<Answer>): ReadonlyArray<Answer> => [
  ...new Map(answers.map((answer) => [JSON.stringify(answer.shape), answer])).values()
]

/** The `_tag`s of the problems that the answers may be. */
const tagsOf = (responses: SchemaObject, followed: (one: unknown) => SchemaObject): ReadonlyArray<string> =>
  Object.values(responses).flatMap((answer) => {
    const content = followed(followed(answer).content)
    const schema = followed(followed(content["application/problem+json"]).schema)
    return [
      schema,
      ...listOf(schema, "oneOf").map(followed),
      ...listOf(schema, "anyOf").map(followed)
    ].flatMap((one) => {
      const tag = mapOf(one, "properties").get("_tag")
      return isObject(tag) && Array.isArray(tag.enum) ? tag.enum.map(String) : []
    })
  })
