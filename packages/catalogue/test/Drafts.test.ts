/** Whatever payloads there were, the catalogue takes the schema that is drafted from them, and they fit it. */
import { draft } from "@posthorn/domain/catalogue/Draft"
import { Effect, FastCheck as fc } from "effect"
import { expect, it } from "vitest"
import { compileSchema, STEPS } from "../src/Schemas.ts"

const payload = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 1, 1.5, Number.POSITIVE_INFINITY, "x"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom("id", "$ref", "constructor", "toString", "a/b", "\0", "\ud800", "", "then"),
        fc.string({ unit: "binary", maxLength: 6 })
      ),
      tie("value"),
      { maxKeys: 4 }
    )
  )
})).value

const judged = (payloads: ReadonlyArray<unknown>) =>
  Effect.runPromise(
    Effect.map(compileSchema(JSON.stringify(draft(payloads))), (judge) =>
      payloads.map((one) => judge.issuesOf(one, { left: STEPS }))
    )
  )

it("§6.2 every draft is taken, and every payload that it was made from fits", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(payload, { minLength: 1, maxLength: 6 }), async (payloads) => {
      for (const issues of await judged(payloads)) expect(issues).toEqual([])
    }),
    { numRuns: 60 }
  )
}, 60_000)

it("§6.2 a draft of the widest payloads is taken too", async () => {
  const wide = (depth: number): unknown =>
    depth === 0
      ? 1
      : Object.fromEntries(Array.from({ length: 45 }, (_, index) => [`member ${index}`, wide(depth - 1)]))
  const mixed = [1, "x", [wide(1)], wide(2), null]
  for (const issues of await judged([wide(2), ...mixed])) expect(issues).toEqual([])
}, 60_000)
