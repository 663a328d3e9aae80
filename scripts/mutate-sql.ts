/**
 * Takes away every guard of the SQL, one at a time, and sees which test notices: `npm run mutate:sql`.
 *
 * Tries what `packages/persistence/test/mutation/caught.json` does not list yet; `-- --all` tries everything again, and
 * `-- --only <text>` what has the text in its name. Whatever survives needs a test, or its reason in the list (`survives`).
 * `-- --scenes` asks the quick scenarios only. `-- --check` only says whether the list is current.
 */
import { parseArgs } from "node:util"
import * as TestCluster from "@posthorn/testkit/TestCluster"
import { execute, withDatabase } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import { readCaught, staleness, unlisted, writeFate } from "../packages/persistence/test/mutation/Caught.ts"
import { allMutants, type Mutant } from "../packages/persistence/test/mutation/Mutants.ts"
import { firstFailing, playScenes } from "../packages/persistence/test/mutation/Scene.ts"
import { testsFor } from "../packages/persistence/test/mutation/Tests.ts"
import { trial } from "../packages/persistence/test/mutation/Trial.ts"

const { values } = parseArgs({
  options: {
    all: { type: "boolean" },
    check: { type: "boolean" },
    only: { type: "string" },
    scenes: { type: "boolean" }
  }
})

const GUARDS = "packages/persistence/test/Guards.test.ts"

const check = () => {
  const stale = staleness()
  for (const line of stale) console.log(`mutate:sql: ${line}`)
  console.log(
    stale.length === 0
      ? `mutate:sql: the list names all ${allMutants().length} guards`
      : "mutate:sql: run `npm run mutate:sql`, and write tests for what survives"
  )
  return stale.length === 0 ? 0 : 1
}

const chosen = () => {
  const mutants = allMutants()
  if (values.only !== undefined) return mutants.filter(({ name }) => name.includes(values.only!))
  return values.all === true ? mutants : unlisted(mutants, readCaught())
}

const sound = new Map<string, Promise<string | null>>()

/** What fails without a mutant notices none. */
const soundness = (url: string, tests: ReadonlyArray<string>): Promise<string | null> => {
  const name = tests.join(" ")
  const known = sound.get(name) ?? trial(url, null, tests)
  sound.set(name, known)
  return known
}

const tried = async (url: string, mutant: Mutant): Promise<string | null> => {
  const tests = testsFor(mutant)
  const broken = await soundness(url, tests)
  if (broken !== null) throw new Error(`A test fails without a mutant already: ${broken}`)
  return trial(url, mutant, tests)
}

/** What notices it: first the scenarios of what it is about, then the test files that use it. */
const noticed = async (cluster: TestCluster.TestCluster, scene: string, mutant: Mutant) => {
  const title = mutant.statements === null ? null : await playScenes(scene, mutant)
  if (title !== null) return `${GUARDS}: ${title}`
  return values.scenes === true ? null : tried(cluster.url, mutant)
}

/** Whether it needs nobody's attention. */
const settle = (name: string, by: string | null): boolean => {
  const known = readCaught()[name]
  const excused = known !== undefined && "survives" in known
  console.log(
    by === null ? `${excused ? "excused " : "SURVIVES"}  ${name}` : `caught    ${name}\n            by ${by}`
  )
  if (by !== null) writeFate(name, { caughtBy: by })
  else if (!excused && values.scenes !== true) writeFate(name, null)
  return by !== null || excused
}

const tryAll = Effect.gen(function* () {
  const cluster = yield* TestCluster.start
  const scene = withDatabase(cluster.url, "scene")
  yield* execute(cluster.url, `create database scene template ${cluster.template}`)
  let survivors = 0
  for (const of of new Set(chosen().map((mutant) => mutant.of))) {
    const broken = yield* Effect.promise(() => firstFailing(scene, of))
    if (broken !== null) throw new Error(`A scenario fails without a mutant already: ${broken}`)
  }
  for (const mutant of chosen()) {
    const by = yield* Effect.promise(() => noticed(cluster, scene, mutant))
    if (!settle(mutant.name, by)) survivors += 1
  }
  console.log(`mutate:sql: ${survivors} survive without a reason`)
  return survivors === 0 ? 0 : 1
}).pipe(Effect.scoped)

process.exit(values.check === true ? check() : await Effect.runPromise(tryAll))
