/**
 * A filter as SQL/JSON path predicates, which PostgreSQL judges by (`posthorn.filter_holds`). Pure. Why: docs/adr/0038-filters.md.
 *
 * In the path's lax mode `x ? (…)` asks each element of an array, and an `exists` of it is true or false, never unknown. Two
 * marks are replaced by PostgreSQL, and cannot stand in a literal: NESTED by as many `[*]` as arrays directly within an array
 * need, SCALAR by a test that keeps elements which are arrays from being compared.
 */
import { step } from "../catalogue/JsonSchema.ts"
import { JsonText } from "../JsonText.ts"
import type { Comparison, Condition, Filter, Member, ObjectCondition, Scalar } from "./Filter.ts"

const NESTED = "\u0001"
const SCALAR = "\u0002"

/** A predicate, or what it always is. */
type Predicate = string | boolean

const and = (all: ReadonlyArray<Predicate>): Predicate => {
  if (all.includes(false)) return false
  const open = all.filter((one) => one !== true)
  return open.length === 0 ? true : open.length === 1 ? open[0]! : `(${open.join(" && ")})`
}

const not = (one: Predicate): Predicate => (typeof one === "boolean" ? !one : `!(${one})`)

const or = (all: ReadonlyArray<Predicate>): Predicate => {
  if (all.includes(true)) return true
  const open = all.filter((one) => one !== false)
  return open.length === 0 ? false : open.length === 1 ? open[0]! : `(${open.join(" || ")})`
}

const literal = ({ text, value }: Scalar) => (typeof value === "string" ? JSON.stringify(value) : text)

const SYMBOLS: Readonly<Record<Exclude<Comparison, "$endsWith">, string>> = {
  $eq: "==",
  $in: "==",
  $gt: ">",
  $gte: ">=",
  $lt: "<",
  $lte: "<=",
  $startsWith: "starts with"
}

/** As a regular expression: PostgreSQL 15 has no other way to ask for an end. */
const endsWith = (operands: ReadonlyArray<Scalar>) => {
  const ends = operands.map(({ value }) => String(value).replace(/[.*+?^$()[\]{}|\\]/g, "\\$&"))
  return `@ like_regex ${JSON.stringify(`(?:${ends.join("|")})$`)}`
}

const compared = (operator: Comparison, operands: ReadonlyArray<Scalar>) =>
  operator === "$endsWith"
    ? endsWith(operands)
    : or(operands.map((one) => `@ ${SYMBOLS[operator]} ${literal(one)}`))

/** Whether it holds where nothing stands. */
const holdsAbsent = (condition: Condition): boolean =>
  condition.kind === "object" && condition.members.every(memberHoldsAbsent)

const memberHoldsAbsent = (member: Member): boolean => {
  switch (member.kind) {
    case "name":
    case "not":
      return holdsAbsent(member.condition) !== (member.kind === "not")
    case "and":
      return member.filters.every(holdsAbsent)
    case "or":
      return member.filters.some(holdsAbsent)
    case "exist":
      return !member.present
    case "unlike":
      return true
    case "comparison":
      return false
  }
}

/** One of the conditions of which all must hold, and the JSON Pointer of what it asks. */
export interface Leaf {
  readonly path: string
  readonly condition: JsonText
  readonly holdsAbsent: boolean
}

/** Where a predicate stands: the path expression of what it asks; while it is explained, also its JSON Pointer. */
interface Place {
  readonly x: string
  readonly path: string | undefined
}

const anElement = (x: string, together: ReadonlyArray<Predicate>): Predicate =>
  `exists(${x} ? (${SCALAR}${and(together)}))`

/** What `$` and `@` stand for is always there; what `@` stands for is no array. */
const isThere = (x: string) => x === "$" || x === "@"

class Compiler {
  readonly leaves: Array<Leaf> = []

  holds(condition: Condition, place: Place): Predicate {
    if (condition.kind === "scalar")
      return this.leaf(place, condition.text, false, anElement(place.x, [compared("$eq", [condition])]))
    if (condition.members.length === 0) return this.leaf(place, "{}", true, true)
    if (condition.members.some(({ kind }) => kind === "name")) return this.named(condition, place)
    const together: Array<Predicate> = []
    const others: Array<Predicate> = []
    let first = 0
    for (const member of condition.members)
      if (member.kind === "comparison") {
        together.push(this.alone(member, place, compared(member.operator, member.operands)))
        first ||= this.leaves.length
      } else others.push(this.member(member, place))
    const one = together.length === 0 || anElement(place.x, together)
    return and([or([place.path !== undefined && `$k < ${first}`, one]), ...others])
  }

  /** All members hold in one element, or all where nothing stands. */
  private named(condition: ObjectCondition, place: Place): Predicate {
    const { path, x } = place
    const first = this.leaves.length
    const all = and(
      condition.members.map((member) => member.kind === "comparison" || this.member(member, { x: "@", path }))
    )
    if (x === "@") return all
    const there = all === true ? `exists(${x}${NESTED}[*])` : all && `exists(${x}${NESTED} ? (${all}))`
    if (path === undefined) return or([there, !isThere(x) && holdsAbsent(condition) && `!exists(${x})`])
    const failing = this.leaves.findIndex((leaf, index) => index >= first && !leaf.holdsAbsent)
    const absent = and([!isThere(x) && `!exists(${x})`, failing < 0 || `$k < ${failing + 1}`])
    return or([`$k < ${first + 1}`, there, absent])
  }

  private member(member: Exclude<Member, { readonly kind: "comparison" }>, place: Place): Predicate {
    const { path, x } = place
    switch (member.kind) {
      case "name":
        return this.holds(member.condition, {
          x: `@.${JSON.stringify(member.name)}`,
          path: path === undefined ? path : path + step(member.name)
        })
      case "and":
        return and(member.filters.map((filter) => this.holds(filter, place)))
      case "or":
        return this.alone(
          member,
          place,
          or(member.filters.map((filter) => this.holds(filter, { x, path: undefined })))
        )
      case "not":
        return this.alone(member, place, not(this.holds(member.condition, { x, path: undefined })))
      case "unlike":
        return this.alone(member, place, not(anElement(x, [compared("$in", member.operands)])))
      case "exist":
        return this.alone(
          member,
          place,
          isThere(x) ? member.present : member.present ? `exists(${x})` : `!exists(${x})`
        )
    }
  }

  private alone(member: Member, place: Place, predicate: Predicate) {
    return this.leaf(place, `{${member.key}:${member.text}}`, memberHoldsAbsent(member), predicate)
  }

  /** While it is explained, `$k` says how many leaves count. */
  private leaf({ path }: Place, text: string, holdsAbsent: boolean, predicate: Predicate): Predicate {
    if (path === undefined) return predicate
    this.leaves.push({ path, condition: new JsonText(text), holdsAbsent })
    return or([`$k < ${this.leaves.length}`, predicate])
  }
}

const text = (predicate: Predicate) => (typeof predicate === "boolean" ? `${predicate} == true` : predicate)

/** A regular expression is compiled again when 32 others were used meanwhile: 5 us, and 0.25 us for each character. */
const compiling = (operands: ReadonlyArray<Scalar>) =>
  operands.reduce((sum, { text }) => sum + 3 * text.length, 50)

/** The root of a payload, and a member of it with all that is within. */
const ROOT = "$"
const memberOfRoot = (name: string) => `.${name}`

/** What judging costs, in units of some 0.1 us. */
class Work {
  /** By member of the root: the units for each element of an array within it. */
  readonly reaches: Record<string, number> = {}
  /** Units whatever the payload. */
  fixed = 0
  /** How often all strings are read to their end. */
  scans = 0

  /** Units for each part of the payload, whatever it is: an upper bound on what judging takes. */
  get weight() {
    return Object.values(this.reaches).reduce((sum, units) => sum + units, this.fixed + 40 * this.scans)
  }

  add(condition: Condition, within: string): void {
    const members = condition.kind === "scalar" ? [] : condition.members
    let units = 1 + members.filter(({ kind }) => kind === "name").length
    for (const member of members)
      if (member.kind === "name")
        this.add(member.condition, within === ROOT ? memberOfRoot(member.name) : within)
      else if (member.kind === "not") this.add(member.condition, within)
      else if (member.kind === "and" || member.kind === "or")
        for (const filter of member.filters) this.add(filter, within)
      else if (member.kind === "comparison" && member.operator === "$endsWith") {
        this.fixed += compiling(member.operands)
        this.scans++
        units += 3
      } else if (member.kind === "comparison" || member.kind === "unlike") units += member.operands.length
    this.reaches[within] = (this.reaches[within] ?? 0) + units
  }
}

/** What `endpoints.filter_program` holds, as JSON. */
export const compile = (filter: Filter): string => {
  const work = new Work()
  work.add(filter.root, ROOT)
  return JSON.stringify({
    path: text(new Compiler().holds(filter.root, { x: "$", path: undefined })),
    weight: work.weight,
    reaches: work.reaches,
    fixed: work.fixed,
    scans: work.scans
  })
}

/** What `posthorn.first_failing` takes, and the conditions that its answer counts from 1 on. */
export const explained = (filter: Filter) => {
  const compiler = new Compiler()
  const path = text(compiler.holds(filter.root, { x: "$", path: "" }))
  return { path, conditions: compiler.leaves as ReadonlyArray<Leaf> }
}
