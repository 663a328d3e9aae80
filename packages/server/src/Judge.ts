/**
 * Says what is wrong with a part of a request, at a cost that the sender cannot raise.
 *
 * The schema library collects every problem before anybody can count them: 500,000 wrong scopes in one request of 1 MiB
 * took 160 s and 3.9 GB. So lists are counted before anything in them is looked at, and collecting ends at `MAX_ISSUES`.
 * Objects and lists are walked here, after the contract's own schemas; what they are made of is judged by the library.
 */
import type { Issue } from "@posthorn/domain/Errors"
import { Either, Option, type ParseResult, Schema, SchemaAST } from "effect"
import { asItStands, type Others } from "./AsItStands.ts"
import { issueOf, messageOf, pointer, UNKNOWN } from "./Sentences.ts"

export const MAX_ISSUES = 50

interface Node {
  /** Whether all lists have lengths that the contract allows, so that decoding costs no more than it does for good input. */
  readonly fits: (value: unknown) => boolean
  /** Adds what is wrong to `issues`, until there are `MAX_ISSUES`. */
  readonly judge: (value: unknown, path: string, issues: Array<Issue>) => void
}

type Members = Readonly<Record<string, unknown>>

const isFull = (issues: ReadonlyArray<Issue>) => issues.length >= MAX_ISSUES

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nodeOf = (ast: SchemaAST.AST): Node => {
  const list = listOf(ast)
  if (list !== undefined) return listNode(list)
  const object = objectOf(ast)
  if (object !== undefined) return objectNode(object)
  const [only, ...others] = SchemaAST.isUnion(ast) ? ast.types.filter((type) => !isNothing(type)) : []
  if (only !== undefined && others.length === 0 && isComposite(only)) {
    const { fits, judge } = nodeOf(only)
    // Of what may be left out or null, only the other case has anything to judge.
    return { fits, judge: (value, path, issues) => (value === null ? undefined : judge(value, path, issues)) }
  }
  return leaf(ast)
}

const isNothing = (ast: SchemaAST.AST) =>
  SchemaAST.isUndefinedKeyword(ast) || (SchemaAST.isLiteral(ast) && ast.literal === null)

const isComposite = (ast: SchemaAST.AST) => (listOf(ast) ?? objectOf(ast)) !== undefined

/** What the library judges by itself. */
const leaf = (ast: SchemaAST.AST): Node => {
  const decode = Schema.decodeUnknownEither(Schema.make(ast) as Schema.Schema<unknown>, { errors: "all" })
  return {
    fits: () => true,
    judge: (value, path, issues) => {
      const result = decode(standIn(value))
      if (Either.isLeft(result)) issues.push({ path, message: messageOf(result.left.issue) })
    }
  }
}

/** The library writes what it refuses into its messages, which are cut off here: of an object that takes long. */
const standIn = (value: unknown) => (Array.isArray(value) ? [] : isObject(value) ? {} : value)

interface Listed {
  readonly item: SchemaAST.AST
  readonly min: number
  readonly max: number
  readonly message: string | undefined
}

/** A list and what its filters say of its length. */
const listOf = (ast: SchemaAST.AST): Listed | undefined => {
  if (SchemaAST.isTupleType(ast)) {
    const [rest] = ast.rest
    return rest === undefined || ast.elements.length > 0
      ? undefined
      : { item: rest.type, min: 0, max: Number.POSITIVE_INFINITY, message: undefined }
  }
  const inner = SchemaAST.isRefinement(ast) ? listOf(ast.from) : undefined
  if (inner === undefined) return undefined
  const said = Option.getOrElse(SchemaAST.getJSONSchemaAnnotation(ast), () => ({})) as Partial<
    Record<"maxItems" | "minItems", number>
  >
  const message = SchemaAST.getMessageAnnotation(ast).pipe(
    Option.map((say) => say({} as ParseResult.ParseIssue)),
    Option.filter((text) => typeof text === "string"),
    Option.getOrElse(() => inner.message)
  )
  return { ...inner, min: said.minItems ?? inner.min, max: said.maxItems ?? inner.max, message }
}

const counted = (word: string, count: number) => `Expected at ${word} ${count} item${count === 1 ? "" : "s"}`

const listNode = ({ item, max, message, min }: Listed): Node => {
  const each = nodeOf(item)
  return {
    fits: (value) => !Array.isArray(value) || (value.length <= max && value.every(each.fits)),
    judge: (value, path, issues) => {
      if (!Array.isArray(value)) return void issues.push({ path, message: "Expected a list" })
      if (value.length > max) return void issues.push({ path, message: message ?? counted("most", max) })
      if (value.length < min) return void issues.push({ path, message: message ?? counted("least", min) })
      for (let index = 0; index < value.length && !isFull(issues); index++) {
        each.judge(value[index], `${path}/${index}`, issues)
      }
    }
  }
}

/** An object as it is sent: of one with defaults, the side before they are filled in. */
const objectOf = (ast: SchemaAST.AST): SchemaAST.TypeLiteral | undefined => {
  if (SchemaAST.isTransformation(ast)) return objectOf(ast.from)
  return SchemaAST.isTypeLiteral(ast) && ast.indexSignatures.length === 0 ? ast : undefined
}

const objectNode = ({ propertySignatures }: SchemaAST.TypeLiteral, isOpen = false): Node => {
  const members = new Map(
    propertySignatures.map(({ isOptional, name, type }) => [String(name), { isOptional, ...nodeOf(type) }])
  )
  return {
    fits: (value) => {
      if (!isObject(value)) return true
      for (const [name, { fits }] of members) if (!fits(value[name])) return false
      return true
    },
    judge: (value, path, issues) => {
      if (!isObject(value)) return void issues.push({ path, message: "Expected an object" })
      for (const [name, { isOptional, judge }] of members) {
        if (isFull(issues)) return
        if (Object.hasOwn(value, name)) judge(value[name], `${path}${pointer(name)}`, issues)
        else if (!isOptional) issues.push({ path: `${path}${pointer(name)}`, message: "is missing" })
      }
      if (isOpen) return
      for (const name in value) {
        if (isFull(issues)) return
        if (!members.has(name)) issues.push({ path: `${path}${pointer(name)}`, message: UNKNOWN })
      }
    }
  }
}

/** An object without the members that nobody named: such as a caller's other headers, which are no operation's business. */
const onlyNamed = (names: ReadonlyArray<string>) => (input: unknown) => {
  const named: Record<string, unknown> = {}
  for (const name of names)
    if (Object.hasOwn(input as object, name)) named[name] = (input as Record<string, unknown>)[name]
  return named
}

/** The names of an object's members, as they are sent. */
export const membersOf = ({ ast }: Schema.Schema.Any): ReadonlyArray<string> =>
  objectOf(ast)?.propertySignatures.map(({ name }) => String(name)) ?? []

export type Judgement = (input: unknown) => Either.Either<unknown, ReadonlyArray<Issue>>

/** Decodes input of this shape, or says what is wrong with it. `others` is whether members without a name may be there. */
export const judgementOf = (schema: Schema.Schema.Any, others: Others): Judgement => {
  const isOpen = others === "ignored"
  const object = objectOf(schema.ast)
  const { fits, judge } = object === undefined ? nodeOf(schema.ast) : objectNode(object, isOpen)
  const isGood = asItStands(schema.ast, others) ?? (() => false)
  const taken = isOpen && object !== undefined ? onlyNamed(membersOf(schema)) : (input: unknown) => input
  const decode = Schema.decodeUnknownEither(schema as Schema.Schema<unknown>, {
    errors: "first",
    onExcessProperty: isOpen ? "ignore" : "error",
    exact: true
  })
  return (input) => {
    const isBounded = fits(input)
    if (isBounded && isGood(input)) return Either.right(taken(input))
    const result = isBounded ? decode(input) : undefined
    if (result !== undefined && Either.isRight(result)) return Either.right(result.right)
    const issues: Array<Issue> = []
    judge(input, "", issues)
    // What only the whole shape forbids is the library's one problem.
    return Either.left(issues.length > 0 || result === undefined ? issues : [issueOf(result.left.issue)])
  }
}

/** Where nothing may be sent. */
export const nothing: Judgement = (input) => {
  for (const _ in input as object | undefined) return judgeNothing(input)
  return Either.right(undefined)
}

const judgeNothing: Judgement = (input) => {
  const issues: Array<Issue> = []
  objectNode(Schema.Struct({}).ast as SchemaAST.TypeLiteral).judge(input, "", issues)
  return Either.left(issues)
}
