/**
 * Compares the API of this tree with that of the last release, by the rules of docs/compatibility.md: `npm run
 * compatibility`. Ends with 1 and lists the changes that would break callers. `-- --since <ref>` compares with another
 * commit. Before the first release nothing is promised.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { lastRelease } from "../../packages/persistence/test/migrations/LastRelease.ts"
import { breaksBetween } from "../../packages/server/test/http/Breaks.ts"
import { optionsOf } from "../Options.ts"

const DOCUMENT = "packages/api-contract/openapi.json"
const root = fileURLToPath(new URL("../..", import.meta.url))

const values = optionsOf("compatibility", { since: { type: "string" } })
const since = values.since ?? lastRelease(root)

const say = (line: string) => console.log(`compatibility: ${line}`)

if (since === undefined) {
  say("no release yet, so nothing to compare with")
  process.exit(0)
}
const released = JSON.parse(
  execFileSync("git", ["show", `${since}:${DOCUMENT}`], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })
)
const breaks = breaksBetween(released, JSON.parse(readFileSync(join(root, DOCUMENT), "utf8")))
for (const one of breaks) say(one)
if (breaks.length === 0) say(`nothing that ${since} promised is broken`)
process.exit(breaks.length === 0 ? 0 : 1)
