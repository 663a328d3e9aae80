/**
 * JSON Schemas of tools, made from the contract's schemas: input from path, query and body in one flat object, output
 * from the answer. What the schema library adds for its own use (titles named after filters, `$id`, empty lists) is
 * taken away. Source: decision §4 (MCP).
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
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

const mapValues = (members: Json, clean: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, clean(value)]))

/** Members of a schema that hold other schemas by name. */
const BY_NAME = new Set(["properties", "patternProperties", "$defs"])
/** Members whose value is data, not a schema. */
const DATA = new Set(["enum", "const", "examples", "default", "required"])

const clean = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(clean)
  if (!isObject(schema)) return schema
  const kept = Object.entries(schema).filter(
    ([name, value]) =>
      name !== "title" && name !== "$id" && !(name === "required" && (value as []).length === 0)
  )
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      DATA.has(name) ? value : BY_NAME.has(name) ? mapValues(value as Json, clean) : clean(value)
    ])
  )
}

const jsonSchemaOf = (schema: Schema.Schema.Any): ObjectSchema => {
  const $defs: Record<string, JSONSchema.JsonSchema7> = {}
  const root = JSONSchema.fromAST(schema.ast, {
    definitions: $defs,
    definitionPath: "#/$defs/",
    topLevelReferenceStrategy: "skip",
    target: "jsonSchema2020-12"
  } as never) as unknown as Json
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

/** Names of a part's members. */
export const membersOf = (part: Option.Option<Schema.Schema.Any>): ReadonlyArray<string> =>
  Object.keys(partOf(part).properties)

/** Arguments of the tool: one flat object. Its `slug` is required only of callers who have no workspace of their own. */
export const inputSchemaOf = (entry: ContractEntry, needsSlug: boolean): ObjectSchema => {
  const parts = [entry.pathSchema, entry.querySchema, entry.bodySchema].map(partOf)
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

/** What the tool answers; an operation without an answer gives an empty object. */
export const outputSchemaOf = (entry: ContractEntry): ObjectSchema =>
  SchemaAST.isVoidKeyword(SchemaAST.encodedAST(entry.successSchema.ast))
    ? { ...NOTHING, additionalProperties: false }
    : jsonSchemaOf(entry.successSchema)
