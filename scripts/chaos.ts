/**
 * Breaks an installation of real processes in every way it knows, and judges what came of it:
 * `npm run chaos -- --seed 1 --seconds 120`. The same seed gives the same plan. Ends with 1 unless every law held.
 */
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { chaos } from "../packages/worker/test/chaos/Chaos.ts"
import { passed, reportOf } from "../packages/worker/test/chaos/Report.ts"

const { values } = parseArgs({ options: { seed: { type: "string" }, seconds: { type: "string" } } })
const seed = Number(values.seed ?? 1)
const seconds = Number(values.seconds ?? 60)
if (!Number.isInteger(seed) || !(seconds >= 5)) {
  console.error("chaos: --seed is a whole number, --seconds at least 5, such as: --seed 7 --seconds 120")
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
console.log(`chaos: seed ${seed}, ${seconds} s`)
const began = Date.now()
const verdict = await Effect.runPromise(
  chaos(seed, seconds, (line) =>
    console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}`)
  )
)
console.log(reportOf(verdict))
process.exit(passed(verdict) ? 0 : 1)
