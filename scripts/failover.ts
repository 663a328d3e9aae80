/**
 * Kills and changes the primary of a replicated PostgreSQL under load, and judges what came of it:
 * `npm run failover -- --seconds 60`. With `--pooler`, PgBouncer in transaction mode stands between `serve` and each server. Ends
 * with 1 when an acknowledged event was lost, a process had to be started again, or a law was broken.
 */
import { Effect } from "effect"
import { failover } from "../packages/worker/test/failover/Failover.ts"
import { isThere } from "../packages/worker/test/failover/Pooler.ts"
import { passed, reportOf } from "../packages/worker/test/failover/Report.ts"
import { optionsOf } from "./Options.ts"

const values = optionsOf("failover", { seconds: { type: "string" }, pooler: { type: "boolean" } })
const seconds = Number(values.seconds ?? 60)
const pooler = values.pooler ?? false
if (!(seconds >= 20)) {
  console.error("failover: --seconds is at least 20, such as: --seconds 60")
  process.exit(2)
}
if (pooler && !isThere()) {
  console.error("failover: --pooler needs pgbouncer: apt-get install pgbouncer")
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
console.log(`failover: ${seconds} s${pooler ? ", serve behind PgBouncer in transaction mode" : ""}`)
const began = Date.now()
const outcome = await Effect.runPromise(
  Effect.scoped(
    failover(seconds, pooler, (line) =>
      console.log(`  ${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}`)
    )
  )
)
console.log(reportOf(outcome))
process.exit(passed(outcome) ? 0 : 1)
