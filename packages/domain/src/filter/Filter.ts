/**
 * A filter on payloads, read from its JSON text with the order and the digits that it was put with; whatever is not of the
 * vocabulary becomes an issue at its place. `Compile.ts` makes of it what PostgreSQL judges by. Pure. Source: spec §6.3.
 */
import { Either } from "effect"
import { step } from "../catalogue/JsonSchema.ts"
import type { Issue } from "../Errors.ts"
import { endOfString } from "../internal/JsonScan.ts"
import { compact } from "../JsonText.ts"

const MAX_BYTES = 4096
const MAX_LEVELS = 10
const MAX_CONDITIONS = 100
const MAX_FILTERS = 20
const MAX_SCALARS = 100

/** Operators that ask one value, of an array all together one element. */
export type Comparison = "$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$startsWith" | "$endsWith"

export interface Scalar {
  readonly kind: "scalar"
  readonly text: string
  readonly value: string | number | boolean | null
}

/** A member of an object: `key` and `text` as they stand in the filter. */
export type Member = { readonly key: string; readonly text: string } & (
  | { readonly kind: "name"; readonly name: string; readonly condition: Condition }
  | { readonly kind: "comparison"; readonly operator: Comparison; readonly operands: ReadonlyArray<Scalar> }
  | { readonly kind: "unlike"; readonly operands: ReadonlyArray<Scalar> }
  | { readonly kind: "exist"; readonly present: boolean }
  | { readonly kind: "not"; readonly condition: Condition }
  | { readonly kind: "and" | "or"; readonly filters: ReadonlyArray<Condition> }
)

export interface ObjectCondition {
  readonly kind: "object"
  readonly members: ReadonlyArray<Member>
}

export type Condition = Scalar | ObjectCondition

export interface Filter {
  /** The text as it was put, without insignificant white space. */
  readonly text: string
  readonly root: ObjectCondition
}

type Node =
  | Scalar
  | { readonly kind: "list"; readonly text: string; readonly items: ReadonlyArray<Node> }
  | { readonly kind: "members"; readonly text: string; readonly members: ReadonlyMap<string, Node> }

/** Of valid JSON without white space. Of a name that is repeated the last counts, in the last one's place. */
const nodesOf = (text: string): Node => {
  let at = 0
  const items = (one: () => void) => {
    for (at++; text[at] !== "]" && text[at] !== "}"; ) {
      one()
      if (text[at] === ",") at++
    }
    at++
  }
  const node = (): Node => {
    const start = at
    if (text[at] === "{") {
      const members = new Map<string, Node>()
      items(() => {
        const from = at
        at = endOfString(text, at)
        const name = JSON.parse(text.slice(from, at++)) as string
        members.delete(name)
        members.set(name, node())
      })
      return { kind: "members", text: text.slice(start, at), members }
    }
    if (text[at] === "[") {
      const found: Array<Node> = []
      items(() => found.push(node()))
      return { kind: "list", text: text.slice(start, at), items: found }
    }
    if (text[at] === '"') at = endOfString(text, at)
    else while (at < text.length && !/[,\]}]/.test(text[at]!)) at++
    const scalar = text.slice(start, at)
    return { kind: "scalar", text: scalar, value: JSON.parse(scalar) as Scalar["value"] }
  }
  return node()
}

/** Whether PostgreSQL's numeric holds it: 131,072 digits before the point, 16,383 after it. */
const isNumeric = (text: string) => {
  const [, whole = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(text) ?? []
  return whole.length + Number(exponent) <= 131_072 && fraction.length - Number(exponent) <= 16_383
}

const isStorable = (text: string) => /^[^\0\p{Cs}]*$/u.test(text)

const COMPARISONS: Readonly<
  Record<string, { readonly most: number; readonly types: ReadonlyArray<string> }>
> = {
  $eq: { most: 1, types: [] },
  $neq: { most: 1, types: [] },
  $gt: { most: 1, types: ["number", "string"] },
  $gte: { most: 1, types: ["number", "string"] },
  $lt: { most: 1, types: ["number", "string"] },
  $lte: { most: 1, types: ["number", "string"] },
  $in: { most: MAX_SCALARS, types: [] },
  $nin: { most: MAX_SCALARS, types: [] },
  $startsWith: { most: MAX_SCALARS, types: ["string"] },
  $endsWith: { most: MAX_SCALARS, types: ["string"] }
}

const EITHER = ["$startsWith", "$endsWith"]

const LOGIC = ["$and", "$or", "$not"]

class Reader {
  readonly issues: Array<Issue> = []
  private conditions = 0

  refuse(path: string, message: string): undefined {
    if (this.issues.length < 20) this.issues.push({ path, message })
    return undefined
  }

  condition(node: Node, path: string, level: number): Condition | undefined {
    if (node.kind !== "scalar") return this.filter(node, path, level)
    this.count(path)
    return this.scalar(node, path)
  }

  filter(node: Node, path: string, level: number): ObjectCondition | undefined {
    if (node.kind !== "members") return this.refuse(path, "Expected an object of names or of operators")
    if (level > MAX_LEVELS)
      return this.refuse(path, `Expected at most ${MAX_LEVELS} objects within each other`)
    const named = [...node.members.keys()].some((name) => !name.startsWith("$"))
    const members = [...node.members].map(([name, value]) =>
      this.member(name, value, path + step(name), level, named)
    )
    return members.includes(undefined) ? undefined : { kind: "object", members: members as Array<Member> }
  }

  private member(name: string, node: Node, path: string, level: number, named: boolean): Member | undefined {
    const base = { key: JSON.stringify(name), text: node.text }
    if (!name.startsWith("$")) {
      if (!isStorable(name)) return this.refuse(path, "Expected a name of valid Unicode without NUL")
      const condition = this.condition(node, path, level + 1)
      return condition && { ...base, kind: "name", name, condition }
    }
    if (name === "$and" || name === "$or") {
      const nodes = node.kind === "list" ? node.items : []
      if (nodes.length < 1 || nodes.length > MAX_FILTERS)
        return this.refuse(path, `Expected a list of 1 to ${MAX_FILTERS} filters`)
      const filters = nodes.map((one, index) => this.filter(one, path + step(index), level + 1))
      if (filters.includes(undefined)) return undefined
      return { ...base, kind: name === "$and" ? "and" : "or", filters: filters as Array<Condition> }
    }
    if (name !== "$exist" && name !== "$not" && !Object.hasOwn(COMPARISONS, name))
      return this.refuse(
        path,
        `Expected one of ${[...LOGIC, ...Object.keys(COMPARISONS), "$exist"].join(", ")}: names that begin with $ cannot be filtered on`
      )
    this.count(path)
    if (name === "$not") {
      const condition = named ? this.filter(node, path, level + 1) : this.condition(node, path, level + 1)
      return condition && { ...base, kind: "not", condition }
    }
    if (named) return this.refuse(path, "An object holds either operators or names")
    if (name === "$exist") {
      if (node.kind === "scalar" && typeof node.value === "boolean")
        return { ...base, kind: "exist", present: node.value }
      return this.refuse(path, "Expected true or false")
    }
    const operands = this.operands(name, node, path)
    if (operands === undefined) return undefined
    return name === "$neq" || name === "$nin"
      ? { ...base, kind: "unlike", operands }
      : { ...base, kind: "comparison", operator: name as Comparison, operands }
  }

  private operands(name: string, node: Node, path: string): ReadonlyArray<Scalar> | undefined {
    const { most, types } = COMPARISONS[name]!
    const kind = types.length === 0 ? "scalar" : types.join(" or a ")
    const isList = node.kind === "list" && most > 1
    const nodes = isList ? node.items : most > 1 && !EITHER.includes(name) ? [] : [node]
    if (nodes.length < 1 || nodes.length > most)
      return this.refuse(path, `Expected a list of 1 to ${most} ${kind}s`)
    const scalars = nodes.map((one, index) => {
      const at = isList ? path + step(index) : path
      if (one.kind !== "scalar" || (types.length > 0 && !types.includes(typeof one.value)))
        return this.refuse(at, `Expected a ${kind}`)
      return this.scalar(one, at)
    })
    return scalars.includes(undefined) ? undefined : (scalars as Array<Scalar>)
  }

  private scalar(node: Scalar, path: string): Scalar | undefined {
    if (typeof node.value === "number" && !isNumeric(node.text))
      return this.refuse(
        path,
        "Expected a number of at most 131,072 digits before the point and 16,383 after it"
      )
    if (typeof node.value === "string" && !isStorable(node.value))
      return this.refuse(path, "Expected valid Unicode without NUL")
    return node
  }

  private count(path: string) {
    if (++this.conditions === MAX_CONDITIONS + 1)
      this.refuse(path, `Expected at most ${MAX_CONDITIONS} conditions`)
  }
}

/** Reads the text of a filter, which must be valid JSON. The issues' paths are within the filter. */
export const parseFilter = (text: string): Either.Either<Filter, ReadonlyArray<Issue>> => {
  const put = compact(text)
  if (new TextEncoder().encode(put).length > MAX_BYTES)
    return Either.left([{ path: "", message: `Expected at most ${MAX_BYTES} bytes without white space` }])
  const reader = new Reader()
  const root = reader.filter(nodesOf(put), "", 1)
  return root === undefined || reader.issues.length > 0
    ? Either.left(reader.issues)
    : Either.right({ text: put, root })
}
