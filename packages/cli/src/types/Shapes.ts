/**
 * The payloads of described event types as shapes that TypeScript, Python and Go all have, with a name for each object.
 *
 * A shape takes every payload that its schema takes: limits of values, `not` and `if` are left out, and what no shape says exactly is
 * `any`. `$ref` becomes a name of its own, so schemas may contain themselves.
 */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import {
  isObject,
  type JsonSchema,
  listOf,
  mapOf,
  oneOf,
  referencesOf,
  type SchemaObject
} from "@posthorn/domain/catalogue/JsonSchema"

export type Value = boolean | null | number | string

export type Shape =
  | { readonly kind: "any" | "boolean" | "integer" | "null" | "number" | "string" }
  | { readonly kind: "values"; readonly values: ReadonlyArray<Value> }
  | { readonly kind: "list"; readonly items: Shape }
  | { readonly kind: "map"; readonly values: Shape }
  | { readonly kind: "union"; readonly shapes: ReadonlyArray<Shape> }
  /** `isReference`: by `$ref`, so it may lead back to where it stands. */
  | { readonly kind: "named"; readonly name: string; readonly isReference: boolean }

export interface Member {
  readonly name: string
  readonly shape: Shape
  readonly isRequired: boolean
  readonly about: string
}

export interface Named {
  readonly name: string
  readonly about: string
  /** Of an object its members, in the order of the schema. */
  readonly is: { readonly members: ReadonlyArray<Member> } | { readonly shape: Shape }
}

export interface EventShape {
  readonly eventType: string
  readonly about: string
  /** Names of the payload's type, and of the delivery's. */
  readonly payload: string
  readonly delivery: string
}

export interface Shapes {
  readonly named: ReadonlyArray<Named>
  readonly events: ReadonlyArray<EventShape>
}

const ANY: Shape = { kind: "any" }

/** `customer.tax_id` becomes CustomerTaxId. */
const pascal = (text: string) => {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "")
  const joined = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("")
  return /^[A-Z]/.test(joined) ? joined : `Event${joined}`
}

const isValue = (value: unknown): value is Value => value === null || typeof value !== "object"

const unionOf = (shapes: ReadonlyArray<Shape>): Shape => {
  const flat = shapes.flatMap((shape) => (shape.kind === "union" ? shape.shapes : [shape]))
  if (flat.some(({ kind }) => kind === "any")) return ANY
  const hasNumber = flat.some(({ kind }) => kind === "number")
  const distinct = new Map(
    flat
      .filter(({ kind }) => !(hasNumber && kind === "integer"))
      .map((shape) => [JSON.stringify(shape), shape] as const)
  )
  const all = [...distinct.values()]
  return all.length === 0 ? ANY : all.length === 1 ? all[0]! : { kind: "union", shapes: all }
}

const aboutOf = ({ deprecated, description, title }: SchemaObject): string =>
  [
    ...(typeof description === "string" ? [description] : typeof title === "string" ? [title] : []),
    ...(deprecated === true ? ["Deprecated."] : [])
  ].join("\n")

/** Gives each name once: a taken one gets a number. */
const freshNames = (reserved: ReadonlyArray<string>) => {
  const taken = new Set(reserved)
  return (wanted: string) => {
    let name = wanted
    for (let count = 2; taken.has(name); count++) name = `${wanted}${count}`
    taken.add(name)
    return name
  }
}

/** `reserved` are names that the language's own words in the output need. */
export const shapesOf = (types: ReadonlyArray<DescribedType>, reserved: ReadonlyArray<string>): Shapes => {
  const fresh = freshNames(reserved)
  // Types before what is within them, so that an event's payload has the plain name.
  const events = types.map((type): EventShape => {
    const payload = fresh(pascal(type.eventType))
    const delivery = fresh(`${payload}Delivery`)
    const gone = type.deprecated
      ? [`Deprecated${type.replacedBy === null ? "" : `: use ${type.replacedBy}`}.`]
      : []
    return {
      eventType: type.eventType,
      about: [...(type.description === null ? [] : [type.description]), ...gone].join("\n"),
      payload,
      delivery
    }
  })
  const named = types.flatMap(({ schema }, index) => {
    const { about, payload } = events[index]!
    return namedOf(schema ?? true, [{ pointer: "", name: payload, about }], fresh)
  })
  return { named, events }
}

export interface Entry {
  /** Where in the root the schema is. */
  readonly pointer: string
  readonly name: string
  readonly about: string
}

/** Shapes of schemas that one document holds, such as the components of an OpenAPI document. They keep their names. */
export const shapesWithin = (
  root: SchemaObject,
  entries: ReadonlyArray<Entry>,
  reserved: ReadonlyArray<string>
): ReadonlyArray<Named> => {
  const fresh = freshNames([...reserved, ...entries.map(({ name }) => name)])
  return namedOf(root, entries, fresh)
}

const namedOf = (
  root: JsonSchema,
  entries: ReadonlyArray<Entry>,
  fresh: (wanted: string) => string
): ReadonlyArray<Named> => {
  const targetOf = referencesOf(root)
  const all: Array<Named> = []
  const names = new Map(entries.map(({ name, pointer }) => [pointer, name]))
  /** In the order in which they are first named. */
  const reserve = (name: string, about: string) => all.push({ name, about, is: { shape: ANY } }) - 1
  const settle = (at: number, is: Named["is"]) => {
    all[at] = { ...all[at]!, is }
  }

  /** A name for what the reference leads to. `level` are the references that stand for the same value. */
  const referred = (schema: SchemaObject, level: ReadonlyArray<string>): Shape => {
    const target = targetOf(schema)
    if (target === undefined || level.includes(target.pointer)) return ANY
    const known = names.get(target.pointer)
    if (known !== undefined) return { kind: "named", name: known, isReference: true }
    const name = fresh(entries[0]!.name + pascal(decodeURIComponent(target.pointer.split("/").at(-1)!)))
    names.set(target.pointer, name)
    const at = reserve(name, isObject(target.schema) ? aboutOf(target.schema) : "")
    settle(at, contentOf(target.schema, name, [...level, target.pointer]))
    return { kind: "named", name, isReference: true }
  }

  /** Members of the object that the schema describes; undefined if it describes none. */
  const membersOf = (schema: SchemaObject, depth = 0): SchemaObject | undefined => {
    if (depth > 20) return undefined
    const target = "$ref" in schema ? targetOf(schema)?.schema : undefined
    const parts = [schema, ...(target === undefined ? [] : [target]), ...listOf(schema, "allOf")]
    const found = parts.flatMap((part): ReadonlyArray<SchemaObject> => {
      if (typeof part === "boolean") return []
      if (part !== schema) return [membersOf(part, depth + 1) ?? []].flat()
      return mapOf(part, "properties").size > 0 ? [part] : []
    })
    if (found.length === 0) return undefined
    return {
      properties: Object.assign({}, ...found.map(({ properties }) => properties).reverse()),
      required: [...found, schema].flatMap(({ required }) => (Array.isArray(required) ? required : []))
    }
  }

  const contentOf = (schema: JsonSchema, name: string, level: ReadonlyArray<string>): Named["is"] => {
    const isPlain = isObject(schema) && (schema.type === undefined || schema.type === "object")
    const object =
      isPlain && !("$ref" in schema && Object.keys(schema).length === 1) ? membersOf(schema) : undefined
    if (object === undefined) return { shape: shapeOf(schema, name, level) }
    const required = new Set(object.required as ReadonlyArray<string>)
    const properties = mapOf(object, "properties")
    const members = [...new Set([...properties.keys(), ...required])].map((member): Member => {
      const inner = properties.get(member) ?? true
      return {
        name: member,
        shape: shapeOf(inner, name + pascal(member).replace(/^Event(?=\d|$)/, ""), []),
        isRequired: required.has(member),
        about: isObject(inner) ? aboutOf(inner) : ""
      }
    })
    return { members }
  }

  const objectOf = (schema: SchemaObject, name: string): Shape => {
    if (membersOf(schema) === undefined) {
      const patterns = mapOf(schema, "patternProperties")
      // The empty pattern matches every name.
      const every = patterns.size === 1 ? patterns.get("") : undefined
      const values = patterns.size === 0 ? oneOf(schema, "additionalProperties") : every
      return { kind: "map", values: values === undefined ? ANY : shapeOf(values, name, []) }
    }
    const given = fresh(name)
    const at = reserve(given, aboutOf(schema))
    settle(at, contentOf({ ...schema, type: "object" }, given, []))
    return { kind: "named", name: given, isReference: false }
  }

  const listed = (schema: SchemaObject, name: string): Shape => {
    const places = listOf(schema, "prefixItems")
    const items = oneOf(schema, "items")
    if (items === undefined) return { kind: "list", items: ANY }
    return {
      kind: "list",
      items: unionOf([
        ...places.map((each) => shapeOf(each, `${name}Item`, [])),
        ...(items === false ? [] : [shapeOf(items, `${name}Item`, [])])
      ])
    }
  }

  const shapeOf = (schema: JsonSchema, name: string, level: ReadonlyArray<string>): Shape => {
    if (typeof schema === "boolean") return ANY
    const values = "const" in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined
    if (values?.every(isValue)) return { kind: "values", values }
    const types = schema.type === undefined ? [] : [schema.type].flat().map(String)
    const branches = [...listOf(schema, "anyOf"), ...listOf(schema, "oneOf")]
    if ("$ref" in schema && types.length === 0 && listOf(schema, "allOf").length === 0)
      return referred(schema, level)
    if (types.length === 0 && membersOf(schema) !== undefined) types.push("object")
    if (types.length === 0 && branches.length > 0)
      return unionOf(branches.map((each) => shapeOf(each, name, level)))
    if (types.length === 0)
      return (
        listOf(schema, "allOf")
          .map((each) => shapeOf(each, name, level))
          .find(({ kind }) => kind !== "any") ?? ANY
      )
    return unionOf(
      types.map((type): Shape => {
        switch (type) {
          case "object":
            return objectOf(schema, name)
          case "array":
            return listed(schema, name)
          default:
            return { kind: type as "string" }
        }
      })
    )
  }

  const places = entries.map(({ about, name }) => reserve(name, about))
  for (const [index, { name, pointer }] of entries.entries()) {
    const schema = pointer === "" ? root : (targetOf({ $ref: `#${pointer}` })?.schema ?? true)
    settle(places[index]!, contentOf(schema, name, [pointer]))
  }
  return all
}
