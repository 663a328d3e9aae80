/**
 * An example of a whole shape, built from its members' examples in the contract. A test fails for a member without one, and
 * decodes the results.
 */
import { type Json, nameOfRef } from "./Schemas.ts"

/** The shape's own example; otherwise one built from its members, its items, its first value, or its default. */
export const exampleOf = (schema: unknown, components: Json): unknown => {
  const name = nameOfRef(schema)
  const node = (name === undefined ? schema : components[name]) as Json
  if (node.examples !== undefined) return (node.examples as ReadonlyArray<unknown>)[0]
  if (node.items !== undefined) return [exampleOf(node.items, components)]
  if (node.properties === undefined)
    return node.enum === undefined ? node.default : (node.enum as ReadonlyArray<unknown>)[0]
  const members = Object.entries(node.properties as Json)
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, components)]))
}
