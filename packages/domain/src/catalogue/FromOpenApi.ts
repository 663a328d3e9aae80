/**
 * Reads event types from the `webhooks` of an OpenAPI 3.1 document, also from those of `openApiDocument`, of whose bodies it takes
 * the payload. What a schema refers to in the document becomes a `$defs` of its own. Keywords that only OpenAPI has are left out,
 * because a strict judge refuses what it does not know. Pure.
 */
import type { DescribedType } from "./DescribedType.ts"
import { isObject, type JsonSchema, mapSubschemas, type SchemaObject } from "./JsonSchema.ts"

const METHODS = ["post", "put", "patch", "get", "delete"]
const ONLY_OPENAPI = /^(discriminator|example|externalDocs|nullable|xml|x-.*)$/

/** Undefined if it is no OpenAPI document with `webhooks`. */
export const describedTypes = (document: unknown): ReadonlyArray<DescribedType> | undefined => {
  if (!isObject(document) || !isObject(document.webhooks)) return undefined
  const find = finder(document)
  return Object.entries(document.webhooks).flatMap(([eventType, item]) => {
    const path = find(item)
    const operation = METHODS.map((method) => find(path?.[method])).find((one) => one !== undefined)
    if (operation === undefined) return []
    const content = find(find(operation.requestBody)?.content) ?? {}
    const media = find(content["application/json"] ?? Object.values(content)[0]) ?? {}
    const payload = payloadOf(media.schema, find)
    const [tag] = Array.isArray(operation.tags) ? operation.tags : []
    const text = operation.description ?? (operation.summary === eventType ? null : operation.summary)
    return [
      {
        eventType,
        description: typeof text === "string" ? text : null,
        group: typeof tag === "string" ? tag : null,
        schema: payload === undefined ? null : bundled(payload.schema, find),
        examples: examplesOf(media, find).map((one) =>
          payload?.isWrapped && isObject(one) ? one.payload : one
        ),
        deprecated: operation.deprecated === true,
        replacedBy: typeof operation["x-replaced-by"] === "string" ? operation["x-replaced-by"] : null
      }
    ]
  })
}

type Find = (value: unknown) => SchemaObject | undefined

/** An object of the document, or the one that its `$ref` leads to. */
const finder =
  (document: SchemaObject): Find =>
  (value) => {
    let found = value
    for (let steps = 0; isObject(found) && typeof found.$ref === "string" && steps < 100; steps++)
      found = at(document, found.$ref)
    return isObject(found) ? found : undefined
  }

const at = (document: unknown, reference: string): unknown => {
  if (!reference.startsWith("#/")) return undefined
  let value = document
  for (const name of reference.slice(2).split("/"))
    value = (value as SchemaObject | undefined)?.[
      decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")
    ]
  return value
}

/** Of a body with exactly Posthorn's three members, the payload. One that may be anything says nothing. */
const payloadOf = (schema: unknown, find: Find) => {
  const members = find(schema)?.properties
  const isWrapped = isObject(members) && Object.keys(members).sort().join() === "deliveryId,eventType,payload"
  const payload = isWrapped ? members.payload : schema
  const target = find(payload)
  if (target === undefined || Object.keys(target).length === 0)
    return isWrapped ? { isWrapped, schema: {} } : undefined
  return { isWrapped, schema: payload as SchemaObject }
}

const examplesOf = (media: SchemaObject, find: Find): ReadonlyArray<unknown> => [
  ...("example" in media ? [media.example] : []),
  ...(isObject(media.examples) ? Object.values(media.examples) : []).flatMap((one) => {
    const found = find(one)
    return found !== undefined && "value" in found ? [found.value] : []
  })
]

/** The schema with all that it refers to. */
const bundled = (root: SchemaObject, find: Find): JsonSchema | null => {
  const names = new Map<string, string>()
  const made = new Map<string, JsonSchema>()
  const waiting: Array<readonly [name: string, reference: string]> = []
  const nameOf = (reference: string) => {
    const known = names.get(reference)
    if (known !== undefined) return known
    const wanted = decodeURIComponent(reference.split("/").at(-1)!).replace(/[^\w.-]/g, "_")
    let name = wanted
    for (let count = 2; [...names.values()].includes(name); count++) name = `${wanted}_${count}`
    names.set(reference, name)
    waiting.push([name, reference])
    return name
  }
  const own = typeof root.$ref === "string" && Object.keys(root).length === 1 ? root.$ref : undefined
  const taken = (schema: JsonSchema): JsonSchema => {
    if (typeof schema === "boolean") return schema
    const { $defs: _, $ref, ...rest } = schema
    const kept = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !ONLY_OPENAPI.test(keyword)))
    return {
      ...($ref !== undefined && {
        $ref:
          typeof $ref !== "string" || !$ref.startsWith("#/")
            ? $ref
            : $ref === own
              ? "#"
              : `#/$defs/${nameOf($ref)}`
      }),
      ...mapSubschemas(kept, taken),
      ...("example" in schema && !("examples" in schema) && { examples: [schema.example] }),
      ...(schema.nullable === true && typeof schema.type === "string" && { type: [schema.type, "null"] })
    }
  }
  const schema = taken(own === undefined ? root : (find(root) ?? {}))
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    made.set(next[0], taken(find({ $ref: next[1] }) ?? {}))
  if (typeof schema === "boolean") return schema
  if (Object.keys(schema).length === 0) return null
  return made.size === 0 ? schema : { ...schema, $defs: Object.fromEntries(made) }
}
