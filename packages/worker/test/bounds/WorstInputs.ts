/**
 * The worst requests that the OpenAPI document allows, made from its schemas: longest strings, most members, deepest nesting,
 * largest pages. A new operation needs nothing here.
 *
 * Schemas do not say everything: what the server refuses is put right where its answer points, so that the rest stays at its worst.
 */
import { certificate } from "@posthorn/testkit/Certificates"

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: Schema | boolean
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly propertyNames?: Schema
  readonly maxProperties?: number
  readonly items?: Schema
  readonly maxItems?: number
  readonly maxLength?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly format?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly example?: unknown
}

/** One of each kind of value that has no schema: a long text, many members, many levels. */
export const KINDS = ["long", "many", "deep"] as const
export type Kind = (typeof KINDS)[number]

const DEEPEST = 100
const NESTED_ITEMS = 10
/** Below the 1 MiB that a body may have. */
const BODY_BYTES = 1_000_000

/** What is tried in turn in the place of what is refused. Many texts may be bounded together. */
const REPAIRS = ["shorter", "example", "omitted"] as const
const SHORTER = 8

/** What was wrong, by JSON pointer with `*` for each index. */
export type Repairs = Map<string, (typeof REPAIRS)[number]>

interface Making {
  readonly resolve: ($ref: string) => Schema
  readonly repairs: Repairs
  readonly kind: Kind
  /** Bytes of a text without a bound. */
  readonly fill: number
  /** Makes what must be unique unique. */
  readonly tag: string
  readonly known: Readonly<Record<string, unknown>>
  /** A real id for an example of one; other examples as they are. */
  readonly idLike: (example: string) => string
}

const OMITTED = Symbol("omitted")

const padded = (text: string, length: number) =>
  text === "" ? "" : text.repeat(Math.ceil(length / text.length)).slice(0, length)

const boundIn = (pattern = "") => {
  const bounds = [...pattern.matchAll(/\{\d+,(\d+)\}/g)].map(([, most]) => Number(most))
  return bounds.length === 0 ? undefined : Math.max(...bounds) + bounds.length - 1
}

const text = (schema: Schema, { fill, idLike, tag }: Making): string => {
  const { format, maxLength, pattern } = schema
  const example = String(schema.examples?.[0] ?? schema.example ?? "x")
  if (format === "email") return `${tag}${example}`
  if (format !== undefined) return example
  if (idLike(example) !== example) return idLike(example)
  const most = maxLength ?? boundIn(pattern) ?? fill
  const fits = (each: string) => pattern === undefined || new RegExp(pattern, "u").test(each)
  const tagged = (each: string) => `${each.slice(0, Math.max(0, most - tag.length))}${tag}`.slice(0, most)
  const long = [padded(example, most), padded("x", most)]
  return [...long.map(tagged), ...long, tagged(example)].find(fits) ?? example
}

const memberOf = (n: number) => `m${String(n).padStart(6, "0")}`

const anything = ({ fill, kind, tag }: Making): unknown => {
  if (kind === "long") return { long: "x".repeat(fill), tag }
  if (kind === "many")
    return Object.fromEntries(Array.from({ length: fill / 12 }, (_, n) => [memberOf(n), 0]))
  let value: unknown = tag
  for (let level = 1; level < DEEPEST; level++) value = [value]
  return value
}

const size = (value: unknown) => (JSON.stringify(value) ?? "").length

const make = (schema: Schema, at: string, name: string, making: Making): unknown => {
  const { known, repairs, resolve, tag } = making
  const repair = repairs.get(at.replace(/\/\d+(?=\/|$)/g, "/*"))
  if (repair === "omitted") return OMITTED
  if (schema.$ref !== undefined) return make(resolve(schema.$ref), at, name, making)
  if (name in known) return known[name]
  const example = schema.examples?.[0] ?? schema.example
  if (repair === "example" && example !== undefined) return example
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives !== undefined)
    return alternatives
      .map((each) => make(each, at, name, making))
      .filter((each) => each !== OMITTED)
      .reduce((a, b) => (size(b) > size(a) ? b : a), null)
  if (schema.enum !== undefined) return schema.enum.reduce((a, b) => (size(b) > size(a) ? b : a))
  if (schema.type === "string") {
    const made = text(schema, making)
    return repair === "shorter" ? made.slice(-Math.ceil(made.length / SHORTER)) : made
  }
  if (schema.type === "integer" || schema.type === "number") return schema.maximum ?? 1_000
  // Both ways: a dry run is another path.
  if (schema.type === "boolean") return making.kind !== "deep"
  if (schema.type === "null") return null
  if (schema.type === "array") {
    // Each alternative in turn.
    const kinds = schema.items?.anyOf ?? [schema.items ?? {}]
    // The lists of a list's items, all at their longest, are more than a body holds.
    const most = Math.min(schema.maxItems ?? 100, /\/\d/.test(at) ? NESTED_ITEMS : Number.POSITIVE_INFINITY)
    const made = Array.from({ length: most }, (_, n) =>
      make(kinds[n % kinds.length]!, `${at}/${n}`, name, { ...making, tag: `${tag}${n}` })
    ).filter((each) => each !== OMITTED)
    // Ids are real ones, of which there are few.
    return made.every((each) => typeof each === "string") ? [...new Set(made)] : made
  }
  if (schema.type === "object") {
    const values =
      schema.patternProperties?.[""] ??
      (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined)
    const members = Object.entries(schema.properties ?? {}).map(
      ([member, each]) => [member, make(each, `${at}/${member}`, member, making)] as const
    )
    const shown = Object.entries((example ?? {}) as Record<string, unknown>)
    const others =
      values === undefined
        ? []
        : Array.from({ length: schema.maxProperties ?? 100 }, (_, n) => {
            const [member, value] = shown[n] ?? [
              text({ maxLength: 64, ...schema.propertyNames }, { ...making, tag: `n${n}` }),
              "x"
            ]
            return [
              member,
              make({ ...values, examples: [value] }, `${at}/${member}`, member, making)
            ] as const
          })
    return Object.fromEntries([...members, ...others].filter(([, value]) => value !== OMITTED))
  }
  return anything(making)
}

/** Stands for what makes a request unique. */
export const TAG = "q0q0q0"

/** The text of a body as large as a body may be; `TAG` is in it wherever something must be unique. */
export const worstBody = (schema: Schema, making: Omit<Making, "fill">): string => {
  const filledBy = (fill: number) => {
    const value = make(schema, "", "", { ...making, fill })
    return JSON.stringify(value === OMITTED ? {} : value)
  }
  const [least, more] = [filledBy(16).length, filledBy(1_016).length]
  // Without text of any length, the fill means nothing.
  return filledBy(more === least ? 16 : Math.floor(((BODY_BYTES - least) / (more - least)) * 1_000))
}

export const worstText = (schema: Schema, name: string, making: Omit<Making, "fill">): string =>
  String(make(schema, `/${name}`, name, { ...making, fill: 4_000 }))

/** Learns from a refusal; false if there is nothing more to learn. */
export const learn = (repairs: Repairs, issues: ReadonlyArray<{ readonly path: string }>): boolean => {
  const before = JSON.stringify([...repairs])
  for (const { path } of issues) {
    let at = path.replace(/\/\d+(?=\/|$)/g, "/*")
    while (repairs.get(at) === "omitted") at = at.slice(0, at.lastIndexOf("/"))
    if (at === "") continue
    const repair = repairs.get(at)
    repairs.set(at, REPAIRS[repair === undefined ? 0 : REPAIRS.indexOf(repair) + 1]!)
  }
  return JSON.stringify([...repairs]) !== before
}

const filled = (pem: string, bytes: number) => pem.repeat(Math.floor(bytes / pem.length)).trim()

/** What must mean something, by the name of its member. */
export const knownFor = (receiver: string) => {
  const { cert, key } = certificate("valid")
  const url = `${receiver}${"x".repeat(2_048 - receiver.length)}`
  return {
    url,
    tokenUrl: url,
    certificate: filled(cert, 5 * cert.length),
    privateKey: key,
    alerts: Array.from({ length: 10 }, (_, n) => ({
      kind: "slack",
      url: `${url.slice(0, -1)}${n}`,
      on: ["endpoint.failing", "endpoint.disabled", "delivery.dead_lettered"]
    })),
    signatures: [{ scheme: "standard_v1" }, { scheme: "standard_v1a" }],
    waitSeconds: 0,
    enabled: true,
    hidden: false,
    "webhook-signature": Array.from({ length: 4_096 }, (_, n) => `v1a,${n.toString(36).padStart(4, "A")}`)
      .join(" ")
      .slice(0, 4_090),
    payloadPath: padded("/0", 500),
    schema: {
      properties: Object.fromEntries(
        Array.from({ length: 1_900 }, (_, n) => [memberOf(n), { type: "integer" }])
      )
    },
    // Refusing is cheaper.
    validation: "report"
  }
}
