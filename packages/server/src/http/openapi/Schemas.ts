/**
 * Makes the schemas that the library generates fit for readers and code generators, where no annotation can.
 *
 * Each filter's name becomes a title (`maxLength(128)`), each built-in schema has an `$id`, and lists are written though they
 * are empty: these go. Every object is closed; answers may grow members in a later version, so only what callers send stays
 * closed. An answer is shown whole with its operation, so its members' examples are not told again: the document would be
 * 4 % longer. And the library's own refusals, which we never give, are among the components: what nothing points at goes.
 */
export type Json = { readonly [key: string]: unknown }

const REF = "#/components/schemas/"

export const refOf = (name: string) => ({ $ref: `${REF}${name}` })

export const nameOfRef = (node: unknown): string | undefined => {
  const ref = (node as Json).$ref
  return typeof ref === "string" && ref.startsWith(REF) ? ref.slice(REF.length) : undefined
}

const isEmpty = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0

/** Members of an object may have these names too: then they hold a schema, and not what is judged here. */
const isNoise = (key: string, value: unknown) =>
  key === "$id" ||
  (key === "title" && typeof value === "string") ||
  ((key === "required" || key === "properties") && isEmpty(value))

/** What is told of what callers send alone. */
const isOfRequests = (key: string, value: unknown) =>
  (key === "additionalProperties" && value === false) || (key === "examples" && Array.isArray(value))

/** The schema without what only means something inside this program; that of an answer also open to further members. */
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

/** The names of all components that can be reached from here. */
export const reachable = (start: unknown, components: Json, into = new Set<string>()): Set<string> => {
  if (typeof start !== "object" || start === null) return into
  const name = nameOfRef(start)
  if (name !== undefined && !into.has(name)) reachable(components[name], components, into.add(name))
  for (const value of Object.values(start)) reachable(value, components, into)
  return into
}
