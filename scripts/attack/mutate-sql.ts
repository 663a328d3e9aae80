/**
 * Removes every guard of the SQL, one at a time, and checks that a scenario of `packages/persistence/test/guards` fails:
 * `npm run attack -- mutate-sql`. A guard whose removal no scenario notices needs a scenario, or an entry with a reason in
 * `packages/persistence/test/mutation/exceptions.json`.
 *
 * `-- --only <text>` tries only guards whose names contain the text (a function, a trigger, a file, a condition). `--
 * --check` only checks that all exceptions name existing guards; it needs no database.
 */
import * as TestCluster from "@posthorn/testkit/TestCluster"
import { execute, withDatabase } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import { firstFailing, playScenes } from "../../packages/persistence/test/mutation/Scene.ts"
import { allMutants, type Mutant } from "../../packages/persistence/test/mutation/SqlMutants.ts"
import { optionsOf } from "../Options.ts"
import { chosen, exceptionsIn } from "./Exceptions.ts"

const values = optionsOf("mutate-sql", { check: { type: "boolean" }, only: { type: "string" } })

const mutants = allMutants()
const tries = chosen(mutants, values.only)
const exceptions = exceptionsIn(
  new URL("../../packages/persistence/test/mutation/exceptions.json", import.meta.url),
  mutants
)

const say = (line: string) => console.log(`mutate-sql: ${line}`)

/** A scenario that fails without a mutant cannot notice one. */
const soundScenes = async (scene: string, tries: ReadonlyArray<Mutant>): Promise<void> => {
  for (const of of new Set(tries.map((mutant) => mutant.of))) {
    const broken = await firstFailing(scene, of)
    if (broken !== null) throw new Error(`A scenario fails without a mutant already: ${broken}`)
  }
}

const tryAll = Effect.gen(function* () {
  const cluster = yield* TestCluster.start
  const scene = withDatabase(cluster.url, "scene")
  yield* execute(cluster.url, `create database scene template ${cluster.template}`)
  yield* Effect.promise(() => soundScenes(scene, tries))
  const began = performance.now()
  let wrong = 0
  for (const [n, mutant] of tries.entries()) {
    const by = yield* Effect.promise(() => playScenes(scene, mutant))
    if (!exceptions.settle(mutant, by ?? undefined)) wrong += 1
    if ((n + 1) % 100 === 0) say(`${n + 1} of ${tries.length}`)
  }
  say(
    `${tries.length} tried in ${Math.round((performance.now() - began) / 1000)} s, ${wrong} not as they should be`
  )
  return wrong
}).pipe(Effect.scoped)

for (const fault of exceptions.faults) say(fault)
if (tries.length === 0) say(`no guard has "${values.only}" in its name`)
const wrong = values.check === true || tries.length === 0 ? 0 : await Effect.runPromise(tryAll)
process.exit(wrong + exceptions.faults.length === 0 && tries.length > 0 ? 0 : 1)
