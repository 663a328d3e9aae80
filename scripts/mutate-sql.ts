/**
 * Takes away every guard of the SQL, one at a time, and sees which test notices: `npm run mutate:sql`.
 *
 * Tries what `packages/persistence/test/mutation/caught.json` does not list, or lists with a test that is gone. `-- --only
 * <text>` tries again what has the text in its name (a function, a trigger, a file), `-- --all` everything. What survives
 * needs a test, or its reason in the list (`"survives": "…"`).
 *
 * A guard is put before the scenarios of `packages/persistence/test/guards` that are about what it stands in, some 0.2 s for
 * each; then, unless it has a reason or `-- --scenes` is given, before the test files that `Tests.ts` names, some 20 s.
 * `-- --check` only says whether the list is current, without a database.
 */
import * as TestCluster from "@posthorn/testkit/TestCluster"
import { execute, withDatabase } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import {
  check,
  type Fate,
  readCaught,
  unsettled,
  writeCaught
} from "../packages/persistence/test/mutation/Caught.ts"
import { allMutants, type Mutant } from "../packages/persistence/test/mutation/Mutants.ts"
import { firstFailing, playScenes } from "../packages/persistence/test/mutation/Scene.ts"
import { testsFor } from "../packages/persistence/test/mutation/Tests.ts"
import { GUARDS } from "../packages/persistence/test/mutation/Titles.ts"
import { trial } from "../packages/persistence/test/mutation/Trial.ts"
import { optionsOf } from "./Options.ts"

const values = optionsOf("mutate:sql", {
  all: { type: "boolean" },
  check: { type: "boolean" },
  only: { type: "string" },
  scenes: { type: "boolean" }
})

const mutants = allMutants()
const listed = readCaught()
const fates = new Map<string, Fate>(Object.entries(listed))

const say = (line: string) => console.log(`mutate:sql: ${line}`)

const chosen = () => {
  const { all, only } = values
  if (only !== undefined) return mutants.filter(({ name }) => name.includes(only))
  return all === true ? mutants : unsettled(mutants, listed)
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

const reasonOf = (name: string): string | null => {
  const fate = fates.get(name)
  return fate !== undefined && "survives" in fate && fate.survives !== "" ? fate.survives : null
}

/** The scenario that caught it before. */
const likelyFor = (name: string): string | null => {
  const fate = fates.get(name)
  return fate !== undefined && "caughtBy" in fate ? fate.caughtBy.slice(GUARDS.length + 2) : null
}

/** What notices it: first the scenarios of what it is about, then the test files that use it. */
const noticed = async (url: string, scene: string, mutant: Mutant): Promise<string | null> => {
  const title = await playScenes(scene, mutant, likelyFor(mutant.name))
  if (title !== null) return `${GUARDS}: ${title}`
  return values.scenes === true || reasonOf(mutant.name) !== null ? null : tried(url, mutant)
}

/** Whether it needs nobody's attention. */
const settle = (name: string, by: string | null): boolean => {
  const reason = reasonOf(name)
  if (by !== null) fates.set(name, { caughtBy: by })
  else if (reason === null) fates.delete(name)
  const [word, why] =
    by !== null ? ["caught", `by ${by}`] : reason !== null ? ["excused", reason] : ["SURVIVES", ""]
  console.log(`${word.padEnd(8)}  ${name}${why === "" ? "" : `\n          ${why}`}`)
  return by !== null || reason !== null
}

const soundScenes = async (scene: string, tries: ReadonlyArray<Mutant>): Promise<void> => {
  for (const of of new Set(tries.map((mutant) => mutant.of))) {
    const broken = await firstFailing(scene, of)
    if (broken !== null) throw new Error(`A scenario fails without a mutant already: ${broken}`)
  }
}

const tryAll = Effect.gen(function* () {
  const tries = chosen()
  if (tries.length === 0) {
    writeCaught(mutants, fates)
    say(
      values.only === undefined
        ? "nothing to try: the list is current"
        : `no guard has "${values.only}" in its name`
    )
    return values.only === undefined ? 0 : 1
  }
  const cluster = yield* TestCluster.start
  const scene = withDatabase(cluster.url, "scene")
  yield* execute(cluster.url, `create database scene template ${cluster.template}`)
  yield* Effect.promise(() => soundScenes(scene, tries))
  const began = performance.now()
  let survivors = 0
  for (const [n, mutant] of tries.entries()) {
    const by = yield* Effect.promise(() => noticed(cluster.url, scene, mutant))
    if (!settle(mutant.name, by)) survivors += 1
    writeCaught(mutants, fates)
    const each = (performance.now() - began) / 1000 / (n + 1)
    if ((n + 1) % 10 === 0)
      say(`${n + 1} of ${tries.length}, ${Math.ceil(each * (tries.length - n - 1))} s left`)
  }
  writeCaught(mutants, fates)
  const seconds = (performance.now() - began) / 1000
  say(`${tries.length} tried in ${Math.round(seconds)} s; ${survivors} survive without a reason`)
  return survivors === 0 ? 0 : 1
}).pipe(Effect.scoped)

process.exit(
  values.check === true
    ? check("mutate:sql", "guards", mutants, listed, say)
    : await Effect.runPromise(tryAll)
)
