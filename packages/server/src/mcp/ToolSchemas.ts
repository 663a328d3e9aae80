/**
 * JSON Schemas of tools, made from the contract's schemas: input from path, query and body in one flat object, output
 * from the answer. Parts that the schema library adds for itself (titles named after filters, `$id`, empty lists) are removed.
 * Source: spec §4.7.
 */
import { type ContractEntry, keepsAnswers } from "@posthorn/api-contract/Contract"
import { JSONSchema, Option, Predicate, type Schema, SchemaAST } from "effect"

export interface ObjectSchema {
  readonly type: "object"
  readonly properties: Readonly<Record<string, unknown>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: unknown
  readonly $defs?: Readonly<Record<string, unknown>>
}

type Json = Readonly<Record<string, unknown>>

const mapValues = (members: Json, change: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]))

/** Members of a schema that hold other schemas by name. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs"])
/** Members whose value is data, not a schema. */
const DATA = new Set(["enum", "const", "default", "required"])
/** Parts for people and document generators, and limits, which descriptions name in words and refusals explain. */
const NOISE = new Set([
  "title",
  "$id",
  "examples",
  "pattern",
  "patternProperties",
  "propertyNames",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties"
])

/** What the library says of a length by itself. */
const isGenerated = (description: unknown) => /^an? (string|array) /.test(String(description))

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0

/** Turns `anyOf` of one plain type and null into one schema with both types. */
const joinNull = (schema: Json): Json => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== "null") return schema
  const [some] = anyOf as ReadonlyArray<Json>
  if (typeof some?.type !== "string") return schema
  const values = some.enum === undefined ? {} : { enum: [...(some.enum as ReadonlyArray<unknown>), null] }
  return { ...some, ...rest, type: [some.type, "null"], ...values }
}

const clean = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(clean)
  if (!Predicate.isRecord(schema)) return schema
  const kept = Object.entries(schema).filter(
    ([name, value]) =>
      !NOISE.has(name) &&
      !(name === "required" && isEmptyList(value)) &&
      !(name === "description" && isGenerated(value))
  )
  return joinNull(
    Object.fromEntries(
      kept.map(([name, value]) => [
        name,
        DATA.has(name) ? value : BY_NAME.has(name) ? mapValues(value as Json, clean) : clean(value)
      ])
    )
  )
}

const jsonSchemaOf = (schema: Schema.Schema.Any): ObjectSchema => {
  const $defs: Record<string, JSONSchema.JsonSchema7> = {}
  const generated = JSONSchema.fromAST(schema.ast, {
    definitions: $defs,
    definitionPath: "#/$defs/",
    topLevelReferenceStrategy: "skip",
    target: "jsonSchema2020-12"
  } as never)
  const root: Json = { ...generated }
  const used = JSON.stringify([root, $defs]).includes('"#/$defs/')
  return clean(used ? { ...root, $defs } : root) as ObjectSchema
}

const NOTHING: ObjectSchema = { type: "object", properties: {} }

/** Optional members are unions with undefined. */
const descriptionOf = (type: SchemaAST.AST): Option.Option<string> =>
  SchemaAST.isUnion(type)
    ? Option.orElse(SchemaAST.getDescriptionAnnotation(type), () =>
        Option.firstSomeOf(type.types.map(descriptionOf))
      )
    : Option.filter(SchemaAST.getDescriptionAnnotation(type), () => !SchemaAST.isUndefinedKeyword(type))

/** The descriptions of a part's members. The library drops them for members with a hand-written JSON Schema. */
const descriptionsOf = ({ ast }: Schema.Schema.Any): Readonly<Record<string, string>> => {
  const from = SchemaAST.isTransformation(ast) ? ast.from : ast
  if (!SchemaAST.isTypeLiteral(from)) return {}
  return Object.fromEntries(
    from.propertySignatures.flatMap(({ name, type }) =>
      Option.toArray(descriptionOf(type)).map((text) => [String(name), text])
    )
  )
}

/** Says no more than the name does: `endpointId`, "Id of the endpoint." */
const isIdOf = (name: string, description: string) =>
  name.endsWith("Id") && /^Id of the [a-z ]+\.$/.test(description)

const describe = (schema: Schema.Schema.Any): ObjectSchema => {
  const descriptions = descriptionsOf(schema)
  const root = jsonSchemaOf(schema)
  const properties = Object.entries(root.properties).map(([name, member]) => {
    const description = descriptions[name]
    if (!Predicate.isRecord(member) || description === undefined) return [name, member]
    return [name, isIdOf(name, description) ? { type: member.type } : { description, ...member }]
  })
  return { ...root, properties: Object.fromEntries(properties) }
}

const partOf = (part: Option.Option<Schema.Schema.Any>): ObjectSchema =>
  Option.match(part, { onNone: () => NOTHING, onSome: describe })

/** Members that most tools have. The instructions say once what they mean. */
const COMMON: Json = {
  limit: { type: "integer" },
  cursor: { type: "string" },
  payload: { enum: ["include", "omit"] },
  slug: { type: "string", description: "The workspace." }
}

/** A larger shape is described in a line, and not as a schema: two of them made up a quarter of `tools/list`. */
const WORTH_A_LINE = 700

interface Described {
  readonly anyOf?: ReadonlyArray<unknown>
  readonly enum?: ReadonlyArray<unknown>
  readonly items?: unknown
  readonly maximum?: number
  readonly minimum?: number
  readonly properties?: Json
  readonly required?: ReadonlyArray<string>
  readonly type?: string | ReadonlyArray<string>
}

const listOf = (parts: ReadonlyArray<string>) => parts.join(" | ")

/** The shape in TypeScript's notation, which models read as well at a tenth of the length. */
const lineOf = (schema: unknown): string => {
  if (!Predicate.isRecord(schema)) return "unknown"
  const {
    anyOf,
    enum: values,
    items,
    maximum,
    minimum,
    properties,
    required = [],
    type = []
  } = schema as Described
  if (anyOf !== undefined) return listOf(anyOf.map(lineOf))
  if (values !== undefined) return listOf(values.map((value) => JSON.stringify(value)))
  const types = typeof type === "string" ? [type] : type
  const plain = types.map((one) => {
    if (one === "array") return `(${lineOf(items)})[]`
    if (one !== "object" || properties === undefined)
      return minimum === undefined || one === "null" ? one : `${one} ${minimum} to ${maximum}`
    const members = Object.entries(properties).map(
      ([name, member]) => `${name}${required.includes(name) ? "" : "?"}: ${lineOf(member)}`
    )
    return `{${members.join(", ")}}`
  })
  return listOf(plain)
}

const isListOfKinds = ({ items }: Described) => Predicate.isRecord(items) && items.anyOf !== undefined

const shortened = (member: unknown): unknown => {
  if (
    !Predicate.isRecord(member) ||
    !(Predicate.isRecord(member.properties) || isListOfKinds(member)) ||
    JSON.stringify(member).length < WORTH_A_LINE
  )
    return member
  const { description, type } = member
  return { type, description: `${description} Shape: ${lineOf(member)}` }
}

const withCommon = (part: ObjectSchema, needsSlug: boolean): ObjectSchema => ({
  ...part,
  properties: Object.fromEntries(
    Object.entries(part.properties)
      .filter(([name]) => needsSlug || name !== "slug")
      .map(([name, member]) => [name, COMMON[name] ?? shortened(member)])
  )
})

const shortenedBody = (part: ObjectSchema): ObjectSchema => ({
  ...part,
  properties: mapValues(part.properties, shortened)
})

const KEY: ObjectSchema = { type: "object", properties: { idempotencyKey: { type: "string" } } }

const without = (schema: ObjectSchema, names: ReadonlyArray<string> = []): ObjectSchema =>
  names.length === 0
    ? schema
    : {
        ...schema,
        properties: Object.fromEntries(
          Object.entries(schema.properties).filter(([name]) => !names.includes(name))
        )
      }

export const inputSchemaOf = (entry: ContractEntry, needsSlug: boolean): ObjectSchema => {
  const parts = [
    withCommon(partOf(entry.pathSchema), needsSlug),
    withCommon(partOf(entry.querySchema), needsSlug),
    shortenedBody(without(partOf(entry.bodySchema), entry.rules.notInTool?.body)),
    keepsAnswers(entry) ? KEY : NOTHING
  ]
  const required = parts.flatMap((part) => part.required ?? []).filter((name) => needsSlug || name !== "slug")
  const $defs: Json = Object.assign({}, ...parts.map((part) => part.$defs ?? {}))
  return {
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    ...(required.length === 0 ? {} : { required }),
    ...(Object.keys($defs).length === 0 ? {} : { $defs })
  }
}

/** Longer enumerations are omitted: they may grow, and cost more to read than they are worth. */
const MOST_VALUES = 6
const LEFT_OUT = new Set(["additionalProperties", "description", "format", "required"])

/**
 * The names and types of an answer's members. It is open, since a newer server may add members and values. Every member is
 * present, possibly null: the instructions say so once. The meaning of members is in the tool's description where it matters,
 * and in `posthorn://openapi`; repeating it here made up half of `tools/list`.
 */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened)
  if (!Predicate.isRecord(schema)) return schema
  const kept = Object.entries(schema).filter(
    ([name, value]) =>
      !LEFT_OUT.has(name) && !(name === "enum" && (value as ReadonlyArray<unknown>).length > MOST_VALUES)
  )
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      DATA.has(name) ? value : BY_NAME.has(name) ? mapValues(value as Json, opened) : opened(value)
    ])
  )
}

export const outputSchemaOf = (entry: ContractEntry): ObjectSchema =>
  SchemaAST.isVoidKeyword(SchemaAST.encodedAST(entry.successSchema.ast))
    ? NOTHING
    : // The protocol requires `type` at the top, even above alternatives.
      {
        ...without(opened(jsonSchemaOf(entry.successSchema)) as ObjectSchema, entry.rules.notInTool?.answer),
        type: "object"
      }

/** A shorter shape costs less than a reference to it. */
const WORTH_SHARING = 150

/**
 * Shares shapes among the tools of one list: a shape that an earlier tool's answer already has is described by that tool's
 * name. JSON Schema references work only within one tool's schema, so the description refers to it in words, and the schema
 * accepts any object.
 */
export const sharing = () => {
  const given = new Map<string, string>()
  const share = (schema: unknown, tool: string): unknown => {
    if (Array.isArray(schema)) return schema.map((each) => share(each, tool))
    if (!Predicate.isRecord(schema)) return schema
    const text = schema.type === "object" ? JSON.stringify(schema) : ""
    if (text.length >= WORTH_SHARING) {
      const before = given.get(text)
      if (before !== undefined) return { type: "object", description: `As ${before} gives it.` }
      given.set(text, tool)
    }
    return mapValues(schema, (value) => share(value, tool))
  }
  return (schema: ObjectSchema, tool: string) => share(schema, tool) as ObjectSchema
}
