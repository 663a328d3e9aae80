/**
 * Tells of input that is good as it stands, in a fraction of the time that the schema library takes: for what it says yes to,
 * decoding would give the same again. Where it says no, the library judges, and says why.
 *
 * It knows texts, numbers, literals, choices, lists, objects, filters, and steps that leave what comes in as it is. A part that
 * is changed on its way in (a number written as text) is not good as it stands; where there are defaults, or what is not known
 * here, all is left to the library.
 */
import { Either, Option, SchemaAST } from "effect"

type Test = (value: unknown) => boolean

const NO_OPTIONS: SchemaAST.ParseOptions = {}

const simple: Readonly<Record<string, Test>> = {
  StringKeyword: (value) => typeof value === "string",
  NumberKeyword: (value) => typeof value === "number",
  BooleanKeyword: (value) => typeof value === "boolean",
  UndefinedKeyword: (value) => value === undefined,
  UnknownKeyword: () => true
}

/** Whether members without a name may be there, in the object itself; never in what it holds. */
export type Others = "ignored" | "refused"

/** Undefined where only the library can tell. */
export const asItStands = (ast: SchemaAST.AST, others: Others = "refused"): Test | undefined => {
  if (SchemaAST.isLiteral(ast)) return (value) => value === ast.literal
  if (SchemaAST.isUnion(ast)) return choice(ast)
  if (SchemaAST.isRefinement(ast)) return filtered(ast, others)
  if (SchemaAST.isTupleType(ast)) return list(ast)
  if (SchemaAST.isTransformation(ast)) return unchanged(ast)
  if (SchemaAST.isTypeLiteral(ast)) return object(ast, others)
  return simple[ast._tag]
}

/** Of members that leave what comes in as it is: of others the first that fits would change it, although a later one says yes. */
const choice = ({ types }: SchemaAST.Union): Test | undefined => {
  const tests = types.some((type) => SchemaAST.encodedBoundAST(type) !== type) ? undefined : ofAll(types)
  return tests && ((value) => tests.some((test) => test(value)))
}

const filtered = (ast: SchemaAST.Refinement, others: Others): Test | undefined => {
  const test = asItStands(ast.from, others)
  return test && ((value) => test(value) && Option.isNone(ast.filter(value, NO_OPTIONS, ast)))
}

const unchanged = (ast: SchemaAST.Transformation): Test | undefined => {
  const { from, to, transformation } = ast
  const [comes, goes] = [asItStands(from), asItStands(to)]
  if (comes === undefined || goes === undefined || !SchemaAST.isFinalTransformation(transformation))
    return undefined
  return (value) => {
    if (!comes(value) || !goes(value)) return false
    const step = transformation.decode(value, NO_OPTIONS, ast, value)
    return Either.isEither(step) && Either.isRight(step) && step.right === value
  }
}

const list = ({ elements, rest: [item, ...more] }: SchemaAST.TupleType): Test | undefined => {
  if (item === undefined || more.length > 0 || elements.length > 0) return undefined
  const test = asItStands(item.type)
  return test && ((value) => Array.isArray(value) && value.every(test))
}

const object = (
  { indexSignatures, propertySignatures }: SchemaAST.TypeLiteral,
  others: Others
): Test | undefined => {
  if (indexSignatures.length > 0) return undefined
  const tests = ofAll(propertySignatures.map(({ type }) => type))
  if (tests === undefined) return undefined
  const members = propertySignatures.map(({ isOptional, name }, n) => ({
    name: String(name),
    isOptional,
    test: tests[n]!
  }))
  const names = new Set(members.map(({ name }) => name))
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false
    for (const { isOptional, name, test } of members) {
      if (!(Object.hasOwn(value, name) ? test((value as Record<string, unknown>)[name]) : isOptional))
        return false
    }
    if (others === "refused") for (const name in value) if (!names.has(name)) return false
    return true
  }
}

/** Undefined when there is one of which only the library can tell. */
const ofAll = (asts: ReadonlyArray<SchemaAST.AST>): ReadonlyArray<Test> | undefined => {
  const tests = asts.map((ast) => asItStands(ast)).filter((test) => test !== undefined)
  return tests.length === asts.length ? tests : undefined
}
