/**
 * Adapts the generated schemas for readers and code generators, where annotations cannot.
 *
 * It removes titles made from filters (`maxLength(128)`), the `$id` of built-in schemas, and empty lists. The library closes
 * every object; since answers may gain members in later versions, only request schemas stay closed. An operation shows an
 * example of its whole answer, so the members' examples are removed, which saves 4 % of the document. Components that nothing
 * refers to, such as the library's own refusals, are removed too.
 */
export type Json = { readonly [key: string]: unknown }

const REF = "#/components/schemas/"

export const refOf = (name: string) => ({ $ref: `${REF}${name}` })

export const nameOfRef = (node: unknown): string | undefined => {
  const ref = (node as Json).$ref
  return typeof ref === "string" && ref.startsWith(REF) ? ref.slice(REF.length) : undefined
}

const isEmpty = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0

/** An object's members may have these names too; then they hold a schema. */
const isNoise = (key: string, value: unknown) =>
  key === "$id" ||
  (key === "title" && typeof value === "string") ||
  ((key === "required" || key === "properties") && isEmpty(value))

/** Kept only in request schemas. */
const isOfRequests = (key: string, value: unknown) =>
  (key === "additionalProperties" && value === false) || (key === "examples" && Array.isArray(value))

/** The schema without parts that are meaningful only inside this program; an answer's schema also allows further members. */
export const tidy = (node: unknown, isAnswer: boolean): unknown => {
  if (Array.isArray(node)) return node.map((each) => tidy(each, isAnswer))
  if (typeof node !== "object" || node === null) return node
  const kept = Object.entries(node).filter(
    ([key, value]) => !isNoise(key, value) && !(isAnswer && isOfRequests(key, value))
  )
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === "examples" ? value : tidy(value, isAnswer)])
  )
}

/** The names of all components that are referred to from here, directly or indirectly. */
export const reachable = (start: unknown, components: Json, into = new Set<string>()): Set<string> => {
  if (typeof start !== "object" || start === null) return into
  const name = nameOfRef(start)
  if (name !== undefined && !into.has(name)) reachable(components[name], components, into.add(name))
  for (const value of Object.values(start)) reachable(value, components, into)
  return into
}
