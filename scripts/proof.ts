/**
 * Writes docs/proof.md, what is promised and what the last runs made of it, from docs/proof.json, and that from runs:
 *
 *   npm run proof                                everything: all tests, one chaos run; the guards' list and the benchmarks' results
 *                                                as they are
 *   npm run proof -- --only tests,chaos          these parts alone (tests, chaos, guards, goals, commands); the others stay as they are
 *   npm run proof -- --from FILE                 tests of what vitest's reporter `json` wrote, instead of running them
 *   npm run proof -- --seeds 1,2 --seconds 600   the chaos runs, in place of those before; with --add beside those of other seeds
 *   npm run proof -- --page                      only the page
 *   npm run proof -- --check                     only says whether the page is current and everything promised has its row
 *
 * Ends with 1 when a test failed or a law was broken; the page is written all the same, and says so.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { optionsOf } from "./Options.ts"
import { problemsOf } from "./proof/Check.ts"
import { root } from "./proof/Documents.ts"
import { gatherGoals, gatherGuards, runChaos, runCommand, testsOf } from "./proof/Gather.ts"
import { pageOf } from "./proof/Page.ts"
import { promises } from "./proof/Promises.ts"
import { type Results, readResults, type Tests, writeResults } from "./proof/Results.ts"

const PARTS = ["tests", "chaos", "guards", "goals", "commands"]
const PAGE = join(root, "docs", "proof.md")

const values = optionsOf("proof", {
  add: { type: "boolean" },
  check: { type: "boolean" },
  from: { type: "string" },
  only: { type: "string" },
  page: { type: "boolean" },
  seconds: { type: "string" },
  seeds: { type: "string" }
})

const say = (line: string) => console.log(`proof: ${line}`)

const fail = (why: string): never => {
  console.error(`proof: ${why}`)
  process.exit(2)
}

const parts = (values.only ?? PARTS.join()).split(",")
const seeds = (values.seeds ?? "1").split(",").map(Number)
const seconds = Number(values.seconds ?? 60)
for (const part of parts)
  if (!PARTS.includes(part)) fail(`there is no part ${part}: --only takes ${PARTS.join(", ")}`)
if (!seeds.every(Number.isInteger) || !(seconds >= 5)) fail("--seeds are whole numbers, --seconds at least 5")
if (values.from !== undefined && !existsSync(values.from)) fail(`there is no file ${values.from}`)

const runTests = (): Tests => {
  if (values.from !== undefined) return testsOf(values.from)
  const file = join(mkdtempSync(join(tmpdir(), "posthorn-proof-")), "tests.json")
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile=${file}`]
  spawnSync(process.execPath, [join(root, "scripts", "test.mjs"), ...reporters], {
    cwd: root,
    stdio: "inherit"
  })
  return existsSync(file) ? testsOf(file) : fail("vitest wrote no results: see above")
}

const runCommands = () =>
  Object.fromEntries(
    [...new Set(promises.flatMap(({ commands = [] }) => commands))].map((command) => {
      say(command)
      return [command, runCommand(command)]
    })
  )

/** Written at once, beside what is there by then: what took long is not lost because something later breaks down. */
const keep = (part: Results) => writeResults({ ...readResults(), ...part })

const runSeeds = async () => {
  if (values.add !== true) keep({ chaos: [] })
  for (const seed of seeds) {
    say(`chaos by seed ${seed} for ${seconds} s`)
    const run = await runChaos(seed, seconds)
    keep({ chaos: [...(readResults().chaos ?? []).filter((other) => other.seed !== seed), run] })
  }
}

const renew = async () => {
  if (parts.includes("goals")) keep({ goals: await gatherGoals() })
  if (parts.includes("guards")) keep(gatherGuards())
  if (parts.includes("commands")) keep({ commands: runCommands() })
  if (parts.includes("tests")) keep({ tests: runTests() })
  if (parts.includes("chaos")) await runSeeds()
}

const isBroken = ({ chaos = [], commands = {}, tests }: Results) =>
  Object.values(commands).some(({ ended }) => ended !== 0) ||
  Object.values(tests?.files ?? {}).some(({ failed }) => failed > 0) ||
  chaos.some(({ laws }) => Object.values(laws).some(({ violations }) => violations > 0))

if (values.check === true) {
  const results = readResults()
  const problems = [
    ...problemsOf(results),
    ...(readFileSync(PAGE, "utf8") === pageOf(results)
      ? []
      : ["docs/proof.md is not what it would be now: run `npm run proof -- --page`"])
  ]
  for (const problem of problems) say(problem)
  if (problems.length === 0) say("everything promised has its row, and the page is current")
  process.exit(problems.length === 0 ? 0 : 1)
}

if (values.page !== true) await renew()
const results = readResults()
writeFileSync(PAGE, pageOf(results))
const problems = problemsOf(results)
for (const problem of problems) say(problem)
say("docs/proof.md is written")
process.exit(problems.length > 0 || (values.page !== true && isBroken(results)) ? 1 : 0)
