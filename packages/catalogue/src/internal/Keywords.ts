/**
 * Keywords that `ajv` judges otherwise than the catalogue needs: `uniqueItems` in quadratic time, `multipleOf` by a division that
 * rounds. And `child`, by which a schema judges a value within its own by another compiled schema.
 */
import type { Ajv, ErrorObject, ValidateFunction } from "ajv"

/** What judging may still cost: about 0.1 us each. */
export interface Budget {
  left: number
}

export class TooCostly extends Error {}

const spend = (budget: Budget, cost: number) => {
  budget.left -= cost
  if (budget.left < 0) throw new TooCostly()
}

/** Equal values have the same text: names are sorted. */
const canonical = (value: unknown, budget: Budget): string => {
  spend(budget, 1)
  if (typeof value !== "object" || value === null) return JSON.stringify(value === 0 ? 0 : value) ?? "null"
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, budget)).join()}]`
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${canonical(member, budget)}`
  )
  return `{${members.sort().join()}}`
}

const areUnique = (items: ReadonlyArray<unknown>, budget: Budget) =>
  new Set(items.map((item) => canonical(item, budget))).size === items.length

/** The digits of a number as JavaScript writes it, and the power of ten that they are multiplied by. */
const decimal = (number: number): readonly [bigint, number] => {
  const [, whole = "0", fraction = "", exponent = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? []
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

export const isMultiple = (value: number, divisor: number): boolean => {
  if (!Number.isFinite(value)) return false
  const [digits, power] = decimal(value)
  const [parts, unit] = decimal(divisor)
  const least = Math.min(power, unit)
  return (digits * 10n ** BigInt(power - least)) % (parts * 10n ** BigInt(unit - least)) === 0n
}

/** Errors that are passed on from within; a caller shows no more. */
const MOST_ERRORS = 20

const COST_OF_FAILURE = 10
const COST_OF_MULTIPLE = 30

/** What judging a value by a schema costs, beside the values within it. */
export interface Cost {
  readonly base: number
  readonly perName: number
  readonly perCharacter: number
}

export interface Compiled {
  readonly validate: ValidateFunction
  readonly cost: Cost
}

const charactersOf = (names: ReadonlyArray<string>) => names.reduce((sum, name) => sum + name.length, 0)

export const charge = (budget: Budget, { base, perCharacter, perName }: Cost, value: unknown): void => {
  let cost = base
  if (typeof value === "string") cost += perCharacter * value.length
  else if (perName > 0 && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const names = Object.keys(value)
    cost += perName * names.length + perCharacter * charactersOf(names)
  }
  spend(budget, cost)
}

type Validator = {
  (schema: never, value: never, parent?: unknown, context?: Parameters<ValidateFunction>[1]): boolean
  errors?: Array<Partial<ErrorObject>>
}

/** The judgement under way: its budget, and how many values within each open value did not fit. */
export interface Judgement {
  budget: Budget
  readonly failures: Array<number>
}

export const addKeywords = (ajv: Ajv, compiled: ReadonlyArray<Compiled>, judgement: Judgement): void => {
  const { failures } = judgement
  const child: Validator = (id: never, value, _parent, context) => {
    const { cost, validate } = compiled[id]!
    charge(judgement.budget, cost, value)
    failures.push(0)
    const fits = validate.call({}, value, context)
    failures.pop()
    if (fits) return true
    spend(judgement.budget, COST_OF_FAILURE)
    // Appending is quadratic, so of the values within one only the first are told in detail.
    const before = failures[failures.length - 1]!++
    if (before < MOST_ERRORS) child.errors = (validate.errors ?? []).slice(0, MOST_ERRORS)
    else delete child.errors
    return false
  }
  ajv.addKeyword({
    keyword: "child",
    schemaType: "number",
    errors: true,
    error: { message: "must fit its schema" },
    validate: child as never
  })
  ajv.removeKeyword("uniqueItems")
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must NOT have duplicate items" },
    validate: (unique: boolean, items: ReadonlyArray<unknown>) =>
      !unique || areUnique(items, judgement.budget)
  })
  ajv.removeKeyword("multipleOf")
  ajv.addKeyword({
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    error: { message: ({ schema }) => `must be multiple of ${schema}` },
    validate: (divisor: number, value: number) => {
      spend(judgement.budget, COST_OF_MULTIPLE)
      return isMultiple(value, divisor)
    }
  })
}
