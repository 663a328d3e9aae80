/** The judge of filters on many pairs. Source: spec §6.3. */
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { disagreements } from "./Agreement.ts"

layer(TestPg, { excludeTestServices: true })("filters", (it) => {
  it.effect(
    "§6.3 judges and explains 20,000 random payloads as the plain model does",
    () =>
      Effect.gen(function* () {
        const { count, differing } = yield* disagreements(2, 20_000)
        expect({ count, differing }).toEqual({ count: 0, differing: [] })
      }),
    60_000
  )
})
