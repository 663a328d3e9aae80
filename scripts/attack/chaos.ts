/**
 * Breaks an installation of real processes in every way it knows, and checks that nothing was lost, repeated or changed:
 * `npm run attack -- chaos --seed 1 --seconds 120`. The same seed gives the same plan. Ends with 1 unless every law held.
 *
 * The sums of all processes' meters are checked as well: never more than is on record, and at least half of it, because a
 * killed process takes the figures that were not scraped yet with it. `--only-kills` does nothing but kill a process every
 * 20 s, whatever the seed; then only those figures may be missing: `npm run attack -- chaos --seconds 600 --workers 3 --servers 2
 * --only-kills`.
 */
import { Effect } from "effect"
import { chaos } from "../../packages/worker/test/chaos/Chaos.ts"
import { USUAL } from "../../packages/worker/test/chaos/Plan.ts"
import { passed, reportOf } from "../../packages/worker/test/chaos/Report.ts"
import { optionsOf } from "../Options.ts"

const values = optionsOf("chaos", {
  seed: { type: "string" },
  seconds: { type: "string" },
  workers: { type: "string" },
  servers: { type: "string" },
  "only-kills": { type: "boolean" }
})
const seed = Number(values.seed ?? 1)
const seconds = Number(values.seconds ?? 60)
const size = {
  workers: Number(values.workers ?? USUAL.workers),
  servers: Number(values.servers ?? USUAL.servers),
  onlyKills: values["only-kills"] ?? USUAL.onlyKills
}
const isCount = (n: number) => Number.isInteger(n) && n >= 1 && n <= 10
if (!Number.isInteger(seed) || !(seconds >= 5) || !isCount(size.workers) || !isCount(size.servers)) {
  console.error(
    "chaos: --seed is a whole number, --seconds at least 5, --workers and --servers 1 to 10, such as: --seed 7 --seconds 120"
  )
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
const kinds = size.onlyKills ? ", kills only" : ""
console.log(`chaos: seed ${seed}, ${seconds} s, ${size.workers} workers, ${size.servers} servers${kinds}`)
const began = Date.now()
const verdict = await Effect.runPromise(
  chaos(seed, seconds, size, (line) =>
    console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}`)
  )
)
console.log(reportOf(verdict))
process.exit(passed(verdict) ? 0 : 1)
