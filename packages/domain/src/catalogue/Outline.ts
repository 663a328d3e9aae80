/**
 * A JSON Schema as people read it: members with their types, whether they are required, and in words what limits their values.
 * Members of members are made when they are asked for, so a schema that contains itself is no problem. Pure.
 */
import {
  isObject,
  type JsonSchema,
  listOf,
  mapOf,
  oneOf,
  referencesOf,
  type SchemaObject
} from "./JsonSchema.ts"

export interface Member {
  /** As it is in the payload; `*` for any other name. */
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly isDeprecated: boolean
  readonly description: string | undefined
  /** Sentences without a full stop. */
  readonly limits: ReadonlyArray<string>
  readonly hasMembers: boolean
  readonly members: () => ReadonlyArray<Member>
}

const MEMBERS = ["properties", "patternProperties"]

/** Of the payload itself; its name is empty. */
export const outlineOf = (schema: JsonSchema): Member => {
  const targetOf = referencesOf(schema)

  /** The schema with what `$ref` and `allOf` add to it. */
  const whole = (one: JsonSchema, depth = 0): SchemaObject => {
    if (typeof one === "boolean") return one ? {} : { not: {} }
    const target = "$ref" in one ? targetOf(one)?.schema : undefined
    const added = [...(target === undefined ? [] : [target]), ...listOf(one, "allOf")]
    if (added.length === 0 || depth > 20) return one
    const { $ref: _, allOf: _1, ...own } = one
    return [...added.map((each) => whole(each, depth + 1)), own].reduce(joined)
  }

  const branchesOf = (one: SchemaObject) =>
    [...listOf(one, "anyOf"), ...listOf(one, "oneOf")].map((each) => whole(each))

  const typeOf = (one: SchemaObject, depth = 0): string => {
    const types = one.type === undefined ? [] : [one.type].flat().map(String)
    const named = types.map((type) => {
      const items = type === "array" ? oneOf(one, "items") : undefined
      if (items !== undefined && depth < 3) {
        const inner = typeOf(whole(items), depth + 1)
        return inner === "any" ? "array" : `array of ${inner.includes(" or ") ? `(${inner})` : inner}`
      }
      return type === "string" && typeof one.format === "string" ? `string (${one.format})` : type
    })
    if (named.length === 0)
      named.push(...(depth < 3 ? branchesOf(one).map((each) => typeOf(each, depth + 1)) : []))
    if (named.length === 0 && Array.isArray(one.enum)) named.push(...one.enum.map(kindOf))
    if (named.length === 0 && "const" in one) named.push(kindOf(one.const))
    if (named.length === 0 && isObject(one.properties)) named.push("object")
    const told = [...new Set(named)]
    return (
      [...told.filter((type) => type !== "null"), ...told.filter((type) => type === "null")].join(" or ") ||
      ("not" in one ? "nothing" : "any")
    )
  }

  const membersOf = (one: SchemaObject, depth = 0): ReadonlyArray<Member> => {
    if (depth > 3) return []
    const required = new Set(Array.isArray(one.required) ? one.required : [])
    const named = [...mapOf(one, "properties")].map(([name, inner]) =>
      member(name, inner, required.has(name))
    )
    const others = oneOf(one, "additionalProperties")
    const patterns = [...mapOf(one, "patternProperties")].map(([name, inner]) =>
      member(`/${name}/`, inner, false)
    )
    const items = oneOf(one, "items")
    const places = listOf(one, "prefixItems").map((inner, index) => member(`[${index}]`, inner, false))
    const branches = branchesOf(one).filter((each) => each.type !== "null")
    return [
      ...named,
      ...patterns,
      ...(isObject(others) ? [member("*", others, false)] : []),
      ...places,
      ...(items === undefined ? [] : membersOf(whole(items), depth + 1)),
      ...(branches.length === 1
        ? membersOf(branches[0]!, depth + 1)
        : branches.flatMap((each, index) =>
            hasMembers(each, depth + 1)
              ? [member(typeof each.title === "string" ? each.title : `option ${index + 1}`, each, false)]
              : []
          ))
    ]
  }

  const member = (name: string, given: JsonSchema, isRequired: boolean): Member => {
    const one = whole(given)
    return {
      name,
      type: typeOf(one),
      isRequired,
      isDeprecated: one.deprecated === true,
      description: textOf(one.description) ?? (one.title === name ? undefined : textOf(one.title)),
      limits: limitsOf(one),
      hasMembers: hasMembers(one),
      members: () => membersOf(one)
    }
  }

  const hasMembers = (one: SchemaObject, depth = 0): boolean => {
    if (depth > 3) return false
    const items = oneOf(one, "items")
    return (
      MEMBERS.some((keyword) => mapOf(one, keyword).size > 0) ||
      isObject(one.additionalProperties) ||
      listOf(one, "prefixItems").length > 0 ||
      (items !== undefined && hasMembers(whole(items), depth + 1)) ||
      branchesOf(one).some((each) => hasMembers(each, depth + 1))
    )
  }

  return member("", schema, true)
}

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)

const kindOf = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Both hold: members and requirements of both, of everything else the second's. */
const joined = (one: SchemaObject, two: SchemaObject): SchemaObject => ({
  ...one,
  ...two,
  ...("properties" in one &&
    "properties" in two && {
      properties: { ...(one.properties as object), ...(two.properties as object) }
    }),
  ...(Array.isArray(one.required) &&
    Array.isArray(two.required) && { required: [...one.required, ...two.required] })
})

const number = (value: unknown) => (typeof value === "number" ? value.toLocaleString("en") : undefined)

/** "1 to 20 characters", "at most 1 character". */
const between = (least: unknown, most: unknown, one: string, many = `${one}s`) => {
  const [from, to] = [number(least), number(most)]
  if (from === undefined && to === undefined) return []
  if (from === to) return [`exactly ${from} ${from === "1" ? one : many}`]
  if (from === undefined) return [`at most ${to} ${to === "1" ? one : many}`]
  if (to === undefined) return [`at least ${from} ${from === "1" ? one : many}`]
  return [`${from} to ${to} ${many}`]
}

const MOST_VALUES = 20

const limitsOf = (one: SchemaObject): ReadonlyArray<string> => {
  const values = "const" in one ? [one.const] : Array.isArray(one.enum) ? one.enum : []
  const shown = values.slice(0, MOST_VALUES).map((value) => JSON.stringify(value))
  const items = oneOf(one, "items")
  return [
    ...(values.length === 1 ? [`always ${shown[0]}`] : []),
    ...(values.length > 1
      ? [
          `one of ${shown.join(", ")}${values.length > MOST_VALUES ? ` and ${values.length - MOST_VALUES} more` : ""}`
        ]
      : []),
    ...between(one.minLength, one.maxLength, "character"),
    ...(typeof one.pattern === "string" ? [`matches ${one.pattern}`] : []),
    ...(one.minimum !== undefined && one.maximum !== undefined
      ? [`${number(one.minimum)} to ${number(one.maximum)}`]
      : [
          ...(one.minimum === undefined ? [] : [`at least ${number(one.minimum)}`]),
          ...(one.maximum === undefined ? [] : [`at most ${number(one.maximum)}`])
        ]),
    ...(one.exclusiveMinimum === undefined ? [] : [`more than ${number(one.exclusiveMinimum)}`]),
    ...(one.exclusiveMaximum === undefined ? [] : [`less than ${number(one.exclusiveMaximum)}`]),
    ...(one.multipleOf === undefined ? [] : [`a multiple of ${number(one.multipleOf)}`]),
    ...between(one.minItems, one.maxItems, "element"),
    ...(one.uniqueItems === true ? ["no two elements alike"] : []),
    ...between(one.minProperties, one.maxProperties, "member"),
    ...(one.additionalProperties === false ? ["no other members"] : []),
    ...(isObject(items) ? limitsOf(items).map((limit) => `each: ${limit}`) : [])
  ]
}
