/**
 * Loaded before each test file: makes `assert.deepStrictEqual` and its relatives, and those of `expect`, see all of a value.
 *
 * By themselves they compare what can be iterated or enumerated, and find equal: `Option.some(1)` and `Option.none()`, two
 * secrets, two errors of one message, two `Headers`, two `URLSearchParams`. Two `Blob`s cannot be compared: that throws.
 */
import { Effect, Equal, Redacted } from "effect"
import { chai, expect } from "vitest"

/** What is compared instead of the object; undefined if the testers see all of it. */
const contentOf = (value: object): ReadonlyArray<unknown> | undefined => {
  if (value instanceof Headers || value instanceof URLSearchParams) return [...value]
  if (!(Effect.EffectTypeId in value) && !(value instanceof Error)) return undefined
  return [Object.getPrototypeOf(value), "message" in value && value.message, { ...value }]
}

/** For secrets; undefined for all other values. */
const sameSecret = (one: unknown, other: unknown) => {
  if (one instanceof Blob && other instanceof Blob) throw new Error("Compare the bytes of blobs.")
  return Redacted.isRedacted(one) || Redacted.isRedacted(other) ? Equal.equals(one, other) : undefined
}

const comparator = (one: unknown, other: unknown): boolean | null => {
  if (one === other || typeof one !== "object" || typeof other !== "object" || !one || !other) return null
  const [content, otherContent] = [contentOf(one), contentOf(other)]
  return (
    sameSecret(one, other) ??
    (content === undefined && otherContent === undefined ? null : equal(content, otherContent))
  )
}

const equal = (one: unknown, other: unknown): boolean => chai.util.eql(one, other, { comparator })
chai.config.deepEqual = equal

expect.addEqualityTesters([sameSecret])
