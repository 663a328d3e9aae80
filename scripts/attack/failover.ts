/**
 * Kills and changes the primary of a replicated PostgreSQL under load, and judges the result: `npm run attack -- failover --seed 1
 * --seconds 60`. The seed decides what is published when. With `--pooler`, PgBouncer in transaction mode stands between
 * `serve` and each server. Ends with 1 when an acknowledged event was lost, a process had to be restarted, or a law was
 * broken.
 */
import { Effect } from "effect"
import { isThere } from "../../packages/testkit/src/Pooler.ts"
import { failover } from "../../packages/worker/test/failover/Failover.ts"
import { passed, reportOf } from "../../packages/worker/test/failover/Report.ts"
import { optionsOf } from "../Options.ts"

const values = optionsOf("failover", {
  pooler: { type: "boolean" },
  seconds: { type: "string" },
  seed: { type: "string" }
})
const seed = Number(values.seed ?? 1)
const seconds = Number(values.seconds ?? 60)
const pooler = values.pooler ?? false
if (!Number.isInteger(seed) || !(seconds >= 20)) {
  console.error("failover: --seed is a whole number, --seconds at least 20, such as: --seed 7 --seconds 60")
  process.exit(2)
}
if (pooler && !isThere()) {
  console.error("failover: --pooler needs pgbouncer: apt-get install pgbouncer")
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
console.log(
  `failover: seed ${seed}, ${seconds} s${pooler ? ", serve behind PgBouncer in transaction mode" : ""}`
)
const began = Date.now()
const outcome = await Effect.runPromise(
  Effect.scoped(
    failover(seed, seconds, pooler, (line) =>
      console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}`)
    )
  )
)
console.log(reportOf(outcome))
process.exit(passed(outcome) ? 0 : 1)
