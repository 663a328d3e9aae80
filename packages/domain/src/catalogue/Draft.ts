/**
 * A JSON Schema drafted from payloads. Every one of them fits it; it names each member with its types, and requires those that
 * were always there. It has no `enum` and no limits: a few payloads do not show them.
 *
 * Whatever the payloads are, the draft has at most `MOST_SUBSCHEMAS` subschemas and `MOST_BYTES` bytes, so that it can be put into
 * the catalogue. What is beyond these bounds, or deeper than `MOST_DEPTH` levels, is left open. Pure.
 */
import type { JsonSchema, SchemaObject } from "./JsonSchema.ts"

const MOST_DEPTH = 16
const MOST_SUBSCHEMAS = 1_500
const MOST_BYTES = 48 * 1024

/** An object with more names than these has ids for names: then only the names that are always there are members. */
const MOST_MEMBERS = 200

type Kind = "array" | "boolean" | "integer" | "null" | "number" | "object" | "string"

/** What was seen at one place. */
interface Seen {
  readonly kinds: Set<Kind>
  /** A value came that cannot be described, or there is no more room: anything fits. */
  isOpen: boolean
  /** How many payloads or objects had it. */
  count: number
  objects: number
  readonly members: Map<string, Seen>
  hasMore: boolean
  items: Seen | undefined
}

/** Bytes of a schema around its members' names, and of each further type. */
const BYTES_EACH = 64

/** Text that the catalogue refuses in a name. */
const UNSTORABLE = /[\0\p{Cs}]/u

const kindOf = (value: unknown): Kind | undefined => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (typeof value !== "number") return typeof value as Kind
  // 1e999 is read as Infinity, which is no number to a judge.
  if (!Number.isFinite(value)) return undefined
  return Number.isInteger(value) ? "integer" : "number"
}

export class Draft {
  #subschemas = 0
  #bytes = 0
  readonly #root = this.#make("")!

  add(payload: unknown): void {
    this.#see(this.#root, payload, 0)
  }

  schema(): JsonSchema {
    return schemaOf(this.#root)
  }

  #take(name: string): boolean {
    // A name stands among the properties and among the required.
    const bytes = BYTES_EACH + 2 * new TextEncoder().encode(JSON.stringify(name)).length
    if (this.#subschemas >= MOST_SUBSCHEMAS || this.#bytes + bytes > MOST_BYTES) return false
    this.#subschemas += 1
    this.#bytes += bytes
    return true
  }

  #make(name: string): Seen | undefined {
    if (!this.#take(name)) return undefined
    return {
      kinds: new Set(),
      isOpen: false,
      count: 0,
      objects: 0,
      members: new Map(),
      hasMore: false,
      items: undefined
    }
  }

  #see(seen: Seen, value: unknown, depth: number): void {
    seen.count += 1
    const kind = kindOf(value)
    // Several types stand in subschemas of their own.
    if (
      kind === undefined ||
      (!seen.kinds.has(kind) && seen.kinds.size > 0 && !(this.#take("") && this.#take("")))
    )
      seen.isOpen = true
    if (kind === undefined || seen.isOpen) return
    seen.kinds.add(kind)
    if (depth >= MOST_DEPTH) return
    if (kind === "array") {
      const items = value as ReadonlyArray<unknown>
      if (items.length > 0) seen.items ??= this.#make("")
      if (seen.items !== undefined) for (const item of items) this.#see(seen.items, item, depth + 1)
    } else if (kind === "object") {
      seen.objects += 1
      for (const [name, inner] of Object.entries(value as object)) {
        let member = seen.members.get(name)
        if (member === undefined && name !== "__proto__" && !UNSTORABLE.test(name)) {
          if (seen.members.size < MOST_MEMBERS) member = this.#make(name)
          if (member === undefined) seen.hasMore = true
          else seen.members.set(name, member)
        }
        if (member !== undefined) this.#see(member, inner, depth + 1)
      }
    }
  }
}

/** All at once. */
export const draft = (payloads: Iterable<unknown>): JsonSchema => {
  const made = new Draft()
  for (const payload of payloads) made.add(payload)
  return made.schema()
}

const objectOf = (seen: Seen): SchemaObject => {
  const required = [...seen.members].flatMap(([name, { count }]) => (count === seen.objects ? [name] : []))
  const shown = [...seen.members].filter(([name]) => !seen.hasMore || required.includes(name))
  return {
    type: "object",
    ...(shown.length > 0 && {
      properties: Object.fromEntries(shown.map(([name, inner]) => [name, schemaOf(inner)]))
    }),
    ...(required.length > 0 && { required })
  }
}

const schemaOf = (seen: Seen): SchemaObject => {
  if (seen.isOpen || seen.kinds.size === 0) return {}
  const kinds = [...seen.kinds].filter((kind) => kind !== "integer" || !seen.kinds.has("number"))
  const variants = kinds.map((kind): SchemaObject => {
    if (kind === "object") return objectOf(seen)
    return kind === "array" && seen.items !== undefined
      ? { type: kind, items: schemaOf(seen.items) }
      : { type: kind }
  })
  if (variants.length === 1) return variants[0]!
  const other = variants.filter(({ type }) => type !== "null")
  return variants.length === 2 && other.length === 1
    ? { ...other[0], type: [other[0]!.type, "null"] }
    : { anyOf: variants }
}
