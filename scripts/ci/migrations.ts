/**
 * Refuses migrations that would lock a big table for long, break the programs of the last release that still run, or change
 * a released migration: `scripts/ci/migrations.ts`. It judges what was added since the last tag `vX.Y.Z`, or since `-- --since
 * <ref>`. Before the first release there is nothing to judge: migrations are still edited in place.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { judge } from "../../packages/persistence/test/migrations/Judge.ts"
import { lastRelease, migrationsAt } from "../../packages/persistence/test/migrations/LastRelease.ts"
import { optionsOf } from "../Options.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = join(root, "packages", "persistence", "migrations")

const values = optionsOf("migrations", { since: { type: "string" } })
const since = values.since ?? lastRelease(root)

const say = (line: string) => console.log(`migrations: ${line}`)

if (since === undefined) {
  say("no release yet, so nothing to judge")
  process.exit(0)
}
const now = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .map((name) => ({ name, sql: readFileSync(join(folder, name), "utf8") }))
const released = migrationsAt(root, since)
const problems = await judge(released, now)
for (const problem of problems) say(problem)
if (problems.length === 0)
  say(`${now.length - released.length} added since ${since}, none of them in the way`)
process.exit(problems.length === 0 ? 0 : 1)
