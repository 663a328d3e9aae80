/**
 * Upgrades an installation of the last release to this tree, under load, and checks that nothing was lost or refused: `npm
 * run upgrade`. `-- --from <ref>` names another commit than the last tag `vX.Y.Z`, `-- --seconds 60` the duration. Ends with
 * 1 unless everything held. Before the first release there is nothing to upgrade from.
 */
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { lastRelease } from "../../packages/persistence/test/migrations/LastRelease.ts"
import { upgrade } from "../../packages/worker/test/upgrade/Upgrade.ts"
import { optionsOf } from "../Options.ts"

const STEPS = 6
const SHOWN = 20

const root = fileURLToPath(new URL("../..", import.meta.url))
const values = optionsOf("upgrade", { from: { type: "string" }, seconds: { type: "string" } })
const from = values.from ?? lastRelease(root)
const seconds = Number(values.seconds ?? 24)

const say = (line: string) => console.log(`upgrade: ${line}`)

if (from === undefined) {
  say("no release yet, so nothing to upgrade from; another commit: -- --from <ref>")
  process.exit(0)
}
if (!(seconds >= STEPS)) {
  console.error(`upgrade: --seconds is at least ${STEPS}`)
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))
const failed = (error: unknown): never => {
  say(`WRONG ${error instanceof Error ? error.message : String(error)}`)
  return process.exit(1)
}
const { wrong, ...found } = await Effect.runPromise(
  upgrade(root, from, (seconds * 1_000) / STEPS, say)
).catch(failed)
say(
  `${found.calls} calls, ${found.acknowledged} deliveries acknowledged, ${found.received} requests, ${found.repeated} of them ` +
    "sent again after a kill"
)
for (const line of wrong.slice(0, SHOWN)) say(`WRONG ${line}`)
if (wrong.length > 0) for (const line of found.logs) say(`  ${line}`)
say(wrong.length === 0 ? "nothing was lost or refused" : `${wrong.length} things went wrong`)
process.exit(wrong.length === 0 ? 0 : 1)
