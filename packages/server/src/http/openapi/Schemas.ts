/**
 * Makes the schemas that the contract generates fit for readers and code generators.
 *
 * What only means something inside this program goes: titles such as `maxLength(128)`, `$id`s, the names of built-in
 * schemas. Answers may grow members in a later version, so only what callers send is closed to unknown members.
 */
export type Json = { readonly [key: string]: unknown }

/** Components of Effect's own; scalars are written out where they stand, the others are not used. */
const BUILT_IN =
  /^(?:Int|NonEmptyString|NonEmptyTrimmedString|NonNegativeInt|HttpApiDecodeError|PropertyKey)$/
const REF = "#/components/schemas/"

export const refOf = (name: string) => ({ $ref: `${REF}${name}` })

export const nameOfRef = (node: unknown): string | undefined => {
  const ref = (node as Json | null)?.$ref
  return typeof ref === "string" && ref.startsWith(REF) ? ref.slice(REF.length) : undefined
}

const isEmpty = (value: unknown) =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0

/** Whether this member of a schema is of use to nobody outside. */
const isNoise = (key: string, value: unknown, node: Json) =>
  key === "$id" ||
  (key === "title" && typeof value === "string") ||
  // What PostgreSQL cannot hold; a pattern that many validators cannot read.
  (key === "pattern" && typeof value === "string" && /\\0|\\p\{/.test(value)) ||
  (key === "required" && isEmpty(value)) ||
  (key === "properties" && isEmpty(value) && "additionalProperties" in node)

const asInteger = (node: Json): Json =>
  node.type === "number" && Array.isArray(node.enum) && node.enum.every(Number.isInteger)
    ? { ...node, type: "integer" }
    : node

/** Names of members are the caller's, not ours: `properties` is walked without looking at its keys. */
const cleanMembers = (members: Json, components: Json): Json =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, clean(schema, components)]))

export const clean = (node: unknown, components: Json): unknown => {
  if (Array.isArray(node)) return node.map((item) => clean(item, components))
  if (typeof node !== "object" || node === null) return node
  const name = nameOfRef(node)
  if (name !== undefined && BUILT_IN.test(name)) return clean(components[name], components)
  const kept = Object.entries(asInteger(node as Json)).filter(
    ([key, value]) => !isNoise(key, value, node as Json)
  )
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      key === "properties"
        ? cleanMembers(value as Json, components)
        : key === "examples"
          ? value
          : clean(value, components)
    ])
  )
}

export const cleanComponents = (components: Json): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(components)
      .filter(([name]) => !BUILT_IN.test(name))
      .map(([name, schema]) => [name, clean(schema, components) as Json])
  )

/** The names of all components that can be reached from here. */
export const reachable = (
  start: unknown,
  components: Record<string, Json>,
  into = new Set<string>()
): Set<string> => {
  if (typeof start !== "object" || start === null) return into
  const name = nameOfRef(start)
  if (name !== undefined && !into.has(name)) {
    into.add(name)
    reachable(components[name], components, into)
  }
  for (const value of Object.values(start)) reachable(value, components, into)
  return into
}

/** The same schema, open to members it does not know. */
export const opened = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(opened)
  if (typeof node !== "object" || node === null) return node
  const kept = Object.entries(node).filter(
    ([key, value]) => !(key === "additionalProperties" && value === false)
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, opened(value)]))
}
