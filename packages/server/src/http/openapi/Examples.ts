/**
 * An example of a whole shape, put together from the examples that the contract gives its members. Nothing is made up: a test
 * fails for a member without one, and decodes what comes out.
 */
import { type Json, nameOfRef } from "./Schemas.ts"

interface Node {
  readonly default?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly examples?: ReadonlyArray<unknown>
  readonly items?: unknown
  readonly properties?: Json
}

/** The shape's own example; else its members', its items', its first value, or its default. */
export const exampleOf = (schema: unknown, components: Json): unknown => {
  const name = nameOfRef(schema)
  const node = (name === undefined ? schema : components[name]) as Node
  if (node.examples !== undefined) return node.examples[0]
  if (node.properties !== undefined) {
    const members = Object.entries(node.properties)
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, components)]))
  }
  return node.items === undefined ? (node.enum?.[0] ?? node.default) : [exampleOf(node.items, components)]
}
