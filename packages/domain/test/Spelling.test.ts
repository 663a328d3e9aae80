import { expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { edits } from "../src/Spelling.ts"

const word = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 })

it.prop("§4.6 counts up to a bound as it does without one", [word, word, fc.nat(4)], ([a, b, most]) => {
  expect(edits(a, b, most)).toBe(Math.min(edits(a, b), most + 1))
})

it("§4.6 compares the longest types of a workspace with the most subscriptions in little time", () => {
  const types = (end: string) => Array.from({ length: 100 }, (_, n) => `${"ab".repeat(60)}${n}${end}`)
  const [wanted, published] = [types("x.y"), types("z.w")]
  const began = process.cpuUsage()
  for (const a of wanted) for (const b of published) edits(a, b, 2)
  const { user } = process.cpuUsage(began)
  // Of the whole process, whose other threads work too; without the bound it takes 8 s.
  expect(user / 1_000).toBeLessThan(500)
})
