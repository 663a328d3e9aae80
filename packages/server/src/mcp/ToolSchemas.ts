/**
 * JSON Schemas of tools, made from the contract's schemas: input from path, query and body in one flat object, output
 * from the answer. What the schema library adds for its own use (titles named after filters, `$id`, empty lists) is
 * taken away. Source: spec §4.7.
 */
import { type ContractEntry, keepsAnswers } from "@posthorn/api-contract/Walk"
import { DEFAULT_LIMIT, MAX_LIMIT } from "@posthorn/domain/Page"
import { JSONSchema, Option, type Schema, SchemaAST } from "effect"

export interface ObjectSchema {
  readonly type: "object"
  readonly properties: Readonly<Record<string, unknown>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: unknown
  readonly $defs?: Readonly<Record<string, unknown>>
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = (members: Json, change: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]))

/** Members of a schema that hold other schemas by name. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs"])
/** Members whose value is data, not a schema. */
const DATA = new Set(["enum", "const", "default", "required"])
/** What only people and generators of documents read. */
const NOISE = new Set(["title", "$id", "examples"])

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0

/** `anyOf` of one plain type and null, as one schema of both types. */
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
  if (!isObject(schema)) return schema
  const kept = Object.entries(schema).filter(
    ([name, value]) => !NOISE.has(name) && !(name === "required" && isEmptyList(value))
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

/** An optional member is a union with undefined. */
const descriptionOf = (type: SchemaAST.AST): Option.Option<string> =>
  SchemaAST.isUnion(type)
    ? Option.orElse(SchemaAST.getDescriptionAnnotation(type), () =>
        Option.firstSomeOf(type.types.map(descriptionOf))
      )
    : Option.filter(SchemaAST.getDescriptionAnnotation(type), () => !SchemaAST.isUndefinedKeyword(type))

/** Descriptions of a part's members; the library drops them where a JSON Schema is given by hand. */
const descriptionsOf = ({ ast }: Schema.Schema.Any): Readonly<Record<string, string>> => {
  const from = SchemaAST.isTransformation(ast) ? ast.from : ast
  if (!SchemaAST.isTypeLiteral(from)) return {}
  return Object.fromEntries(
    from.propertySignatures.flatMap(({ name, type }) =>
      Option.toArray(descriptionOf(type)).map((text) => [String(name), text])
    )
  )
}

const describe = (schema: Schema.Schema.Any): ObjectSchema => {
  const descriptions = descriptionsOf(schema)
  const root = jsonSchemaOf(schema)
  const properties = Object.entries(root.properties).map(([name, member]) => {
    const description = descriptions[name]
    return [name, isObject(member) && description !== undefined ? { description, ...member } : member]
  })
  return { ...root, properties: Object.fromEntries(properties) }
}

const partOf = (part: Option.Option<Schema.Schema.Any>): ObjectSchema =>
  Option.match(part, { onNone: () => NOTHING, onSome: describe })

/** A page of payloads can have megabytes: `ToolCalls` leaves them out unless they are asked for. */
const PAYLOAD = {
  enum: ["include", "omit"],
  default: "omit",
  description: "Payloads are null unless included."
}

/** Members that most tools have, in the few words that an agent needs. */
const COMMON: Json = {
  limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  cursor: { type: "string", description: "nextCursor of the page before." },
  payload: PAYLOAD,
  slug: { type: "string", description: "The workspace." }
}
const withCommon = (part: ObjectSchema, needsSlug: boolean): ObjectSchema => ({
  ...part,
  properties: Object.fromEntries(
    Object.entries(part.properties)
      .filter(([name]) => needsSlug || name !== "slug")
      .map(([name, member]) => [name, COMMON[name] ?? member])
  )
})

const KEY: ObjectSchema = {
  type: "object",
  properties: { idempotencyKey: { type: "string", description: "Makes it safe to repeat the call." } }
}

/** Arguments of the tool: one flat object. `slug` is only for callers who have no workspace of their own. */
export const inputSchemaOf = (entry: ContractEntry, needsSlug: boolean): ObjectSchema => {
  const parts = [
    withCommon(partOf(entry.pathSchema), needsSlug),
    withCommon(partOf(entry.querySchema), needsSlug),
    partOf(entry.bodySchema),
    keepsAnswers(entry) ? KEY : NOTHING
  ]
  const required = parts.flatMap((part) => part.required ?? []).filter((name) => needsSlug || name !== "slug")
  const $defs: Json = Object.assign({}, ...parts.map((part) => part.$defs ?? {}))
  return {
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys($defs).length === 0 ? {} : { $defs })
  }
}

/** Longer enumerations may grow, and cost more to read than they tell. */
const MOST_VALUES = 6
const LEFT_OUT = new Set(["additionalProperties", "description", "format", "required"])

/**
 * An answer's names and types, open to what is not named: a newer server may add members and values. Every member is
 * there, null when absent: the instructions say so once. What members mean is in the tool's description where it matters,
 * and in `posthorn://openapi`: said here, all this was half of `tools/list`.
 */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened)
  if (!isObject(schema)) return schema
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

/** What the tool answers; an operation without an answer gives an empty object. */
export const outputSchemaOf = (entry: ContractEntry): ObjectSchema =>
  SchemaAST.isVoidKeyword(SchemaAST.encodedAST(entry.successSchema.ast))
    ? NOTHING
    : // The protocol wants the word at the top, also above alternatives.
      { ...(opened(jsonSchemaOf(entry.successSchema)) as ObjectSchema), type: "object" }

/** Shorter shapes cost less than pointing at them. */
const WORTH_SHARING = 150

/**
 * Shares shapes among the tools of one list: a shape that an earlier tool's answer has is named by that tool. JSON Schema
 * can only point inside one tool's schema, so the words do it; the schema then takes any object.
 */
export const sharing = () => {
  const given = new Map<string, string>()
  const share = (schema: unknown, tool: string): unknown => {
    if (Array.isArray(schema)) return schema.map((each) => share(each, tool))
    if (!isObject(schema)) return schema
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
