/** What spec §6.3 says of filters, as plainly as it can be written: no path, no SQL. The texts of numbers are kept. */

export type Json =
  | { readonly is: "null" }
  | { readonly is: "boolean"; readonly value: boolean }
  | { readonly is: "number"; readonly text: string }
  | { readonly is: "string"; readonly value: string }
  | { readonly is: "array"; readonly items: ReadonlyArray<Json> }
  | { readonly is: "object"; readonly members: ReadonlyArray<readonly [string, Json]> }

type Value = Json | undefined

export const textOf = (json: Json): string => {
  if (json.is === "null") return "null"
  if (json.is === "boolean") return String(json.value)
  if (json.is === "number") return json.text
  if (json.is === "string") return JSON.stringify(json.value)
  if (json.is === "array") return `[${json.items.map(textOf).join(",")}]`
  return `{${json.members.map(([name, one]) => `${JSON.stringify(name)}:${textOf(one)}`).join(",")}}`
}

/** Of a name that is repeated the last counts. */
const membersOf = (json: Value): Array<readonly [string, Json]> =>
  json?.is === "object"
    ? json.members.filter(([name], at, all) => !all.slice(at + 1).some(([later]) => later === name))
    : []

const member = (json: Value, name: string): Value => membersOf(json).find(([one]) => one === name)?.[1]

/** Decimals as whole numbers of one scale. */
const scaled = (texts: ReadonlyArray<string>): ReadonlyArray<bigint> => {
  const parts = texts.map((text) => {
    const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e")
    const [whole = "", fraction = ""] = mantissa.split(".")
    return {
      digits: BigInt(`${whole}${fraction}`.replace("-", "")),
      sign: mantissa[0] === "-" ? -1n : 1n,
      scale: fraction.length - Number(exponent)
    }
  })
  const scale = Math.max(0, ...parts.map((part) => part.scale))
  return parts.map((part) => part.sign * part.digits * 10n ** BigInt(scale - part.scale))
}

/** Negative, 0 or positive; undefined for values that do not compare. */
const order = (one: Value, other: Json): number | undefined => {
  if (one?.is === "number" && other.is === "number") {
    const [a, b] = scaled([one.text, other.text]) as [bigint, bigint]
    return a < b ? -1 : a > b ? 1 : 0
  }
  if (one?.is !== "string" || other.is !== "string") return undefined
  return Buffer.compare(Buffer.from(one.value), Buffer.from(other.value))
}

const equals = (one: Value, other: Json) =>
  one?.is === "number" || one?.is === "string"
    ? order(one, other) === 0
    : one?.is === "null" || one?.is === "boolean"
      ? textOf(one) === textOf(other)
      : false

const listed = (json: Json) => (json.is === "array" ? json.items : [json])
const textsOf = (json: Json) => listed(json).map((one) => (one as { readonly value: string }).value)

/** Of a scalar, an object or an array as it stands. */
const TOGETHER: Readonly<Record<string, (value: Value, operand: Json) => boolean>> = {
  $eq: equals,
  $gt: (value, operand) => (order(value, operand) ?? 0) > 0,
  $gte: (value, operand) => (order(value, operand) ?? -1) >= 0,
  $lt: (value, operand) => (order(value, operand) ?? 0) < 0,
  $lte: (value, operand) => (order(value, operand) ?? 1) <= 0,
  $in: (value, operand) => listed(operand).some((one) => equals(value, one)),
  $startsWith: (value, operand) =>
    value?.is === "string" && textsOf(operand).some((one) => value.value.startsWith(one)),
  $endsWith: (value, operand) =>
    value?.is === "string" && textsOf(operand).some((one) => value.value.endsWith(one))
}

/** A condition counts unless it is one of those that are left out, to explain. */
type Counts = (condition: Json, key: string) => boolean
const ALL: Counts = () => true

const conditionOf = (operator: string, operand: Json): Json => ({
  is: "object",
  members: [[operator, operand]]
})

const isNamed = (condition: Json) => membersOf(condition).some(([name]) => !name.startsWith("$"))

export const holds = (condition: Json, value: Value, counts: Counts = ALL): boolean => {
  if (condition.is !== "object") return !counts(condition, "") || holds(conditionOf("$eq", condition), value)
  if (!leavesOf(condition, "").some(({ condition, key }) => counts(condition, key))) return true
  const members = membersOf(condition)
  if (isNamed(condition) && value?.is === "array")
    return value.items.some((element) => holds(condition, element, counts))
  const together = members.filter(([name]) => Object.hasOwn(TOGETHER, name) && counts(condition, name))
  const fits = (element: Value) => together.every(([name, operand]) => TOGETHER[name]!(element, operand))
  if (together.length > 0 && !(value?.is === "array" ? value.items.some(fits) : fits(value))) return false
  return members.every(([name, operand]) => {
    if (Object.hasOwn(TOGETHER, name)) return true
    if (!name.startsWith("$")) return holds(operand, member(value, name), counts)
    if (name === "$and") return listed(operand).every((one) => holds(one, value, counts))
    if (!counts(condition, name)) return true
    if (name === "$or") return listed(operand).some((one) => holds(one, value))
    if (name === "$not") return !holds(operand, value)
    if (name === "$neq") return !holds(conditionOf("$eq", operand), value)
    if (name === "$nin") return !holds(conditionOf("$in", operand), value)
    return (value !== undefined) === (operand.is === "boolean" && operand.value)
  })
}

interface Leaf {
  /** The object that has it under `key`, or itself. */
  readonly condition: Json
  readonly key: string
  readonly path: string
  readonly shown: string
}

const leavesOf = (condition: Json, path: string): ReadonlyArray<Leaf> => {
  const members = membersOf(condition)
  if (members.length === 0) return [{ condition, key: "", path, shown: textOf(condition) }]
  return members.flatMap(([key, operand]) => {
    if (key === "$and") return listed(operand).flatMap((one) => leavesOf(one, path))
    if (!key.startsWith("$"))
      return leavesOf(operand, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`)
    return [{ condition, key, path, shown: textOf(conditionOf(key, operand)) }]
  })
}

/** The first condition that does not hold together with those before it. */
export const because = (filter: Json, value: Json) => {
  const leaves = leavesOf(filter, "")
  for (const [at, { path, shown }] of leaves.entries()) {
    const counted = leaves.slice(0, at + 1)
    if (
      !holds(filter, value, (condition, key) =>
        counted.some((leaf) => leaf.condition === condition && leaf.key === key)
      )
    )
      return `${path} ${shown}`
  }
  return null
}
