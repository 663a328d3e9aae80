/**
 * The parts of a JSON Schema 2020-12 document that are schemas again, and where its references lead. Pure, without `ajv`: whether
 * a schema is valid, and whether a payload fits it, is judged elsewhere.
 */

export type JsonSchema = boolean | SchemaObject
export interface SchemaObject {
  readonly [keyword: string]: unknown
}

const ONE = [
  "items",
  "contains",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else"
]
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"]
const MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isSchema = (value: unknown): value is JsonSchema => typeof value === "boolean" || isObject(value)

/** The schemas of a keyword that holds a list of them. */
export const listOf = (schema: SchemaObject, keyword: string): ReadonlyArray<JsonSchema> => {
  const value = schema[keyword]
  return Array.isArray(value) ? value.filter(isSchema) : []
}

/** The schemas of a keyword that holds them by name. */
export const mapOf = (schema: SchemaObject, keyword: string): ReadonlyMap<string, JsonSchema> => {
  const value = schema[keyword]
  return new Map(
    isObject(value)
      ? Object.entries(value).flatMap(([name, one]) => (isSchema(one) ? [[name, one]] : []))
      : []
  )
}

export const oneOf = (schema: SchemaObject, keyword: string): JsonSchema | undefined => {
  const value = schema[keyword]
  return isSchema(value) ? value : undefined
}

/** A step of a JSON Pointer. */
export const step = (name: string | number): string =>
  `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** The same schema with each schema directly within it replaced; the pointer is relative to it. */
export const mapSubschemas = (
  schema: SchemaObject,
  change: (inner: JsonSchema, pointer: string) => JsonSchema
): SchemaObject =>
  Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      const at = step(keyword)
      if (ONE.includes(keyword)) return [keyword, isSchema(value) ? change(value, at) : value]
      if (LISTS.includes(keyword) && Array.isArray(value))
        return [keyword, value.map((one, index) => (isSchema(one) ? change(one, `${at}/${index}`) : one))]
      if (MAPS.includes(keyword) && isObject(value))
        return [
          keyword,
          Object.fromEntries(
            Object.entries(value).map(([name, one]) => [
              name,
              isSchema(one) ? change(one, `${at}${step(name)}`) : one
            ])
          )
        ]
      return [keyword, value]
    })
  )

export interface Target {
  /** JSON Pointer from the root. */
  readonly pointer: string
  readonly schema: JsonSchema
}

const ROOT = "https://schema.invalid/"

const resolved = (reference: string, base: string): URL | undefined =>
  URL.canParse(reference, base) ? new URL(reference, base) : undefined

/** Resolves the `$ref` of a schema within the root, by `$id`, `$anchor` and JSON Pointer; undefined where it leads elsewhere. */
export const referencesOf = (root: JsonSchema): ((from: SchemaObject) => Target | undefined) => {
  const bases = new Map<SchemaObject, string>()
  const named = new Map<string, Target>([[ROOT, { pointer: "", schema: root }]])
  const visit = (schema: JsonSchema, pointer: string, outer: string): JsonSchema => {
    if (typeof schema === "boolean") return schema
    const own = typeof schema.$id === "string" ? resolved(schema.$id, outer) : undefined
    const base = own === undefined ? outer : own.href.replace(/#$/, "")
    bases.set(schema, base)
    if (own !== undefined) named.set(base, { pointer, schema })
    if (typeof schema.$anchor === "string") named.set(`${base}#${schema.$anchor}`, { pointer, schema })
    mapSubschemas(schema, (inner, at) => visit(inner, pointer + at, base))
    return schema
  }
  visit(root, "", ROOT)
  return (from) => {
    const url = typeof from.$ref === "string" ? resolved(from.$ref, bases.get(from) ?? ROOT) : undefined
    if (url === undefined) return undefined
    const fragment = fragmentOf(url)
    const resource = named.get(url.href.replace(/#.*$/, ""))
    if (fragment === "" || resource === undefined) return resource
    if (!fragment.startsWith("/")) return named.get(`${url.href.replace(/#.*$/, "")}#${fragment}`)
    let value: unknown = resource.schema
    for (const name of fragment.slice(1).split("/"))
      value = (value as SchemaObject | null)?.[name.replaceAll("~1", "/").replaceAll("~0", "~")]
    return isSchema(value) ? { pointer: resource.pointer + fragment, schema: value } : undefined
  }
}

const fragmentOf = (url: URL): string => {
  try {
    return decodeURIComponent(url.hash.slice(1))
  } catch {
    return ""
  }
}
