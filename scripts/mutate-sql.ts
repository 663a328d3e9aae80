/**
 * Takes away every guard of the SQL, one at a time, and sees which test notices: `npm run mutate:sql`.
 *
 * Tries what `packages/persistence/test/mutation/caught.json` does not list yet; `-- --all` tries everything again, and
 * `-- --only <text>` what has the text in its name. Whatever survives needs a test, or its reason in the list (`survives`).
 * `-- --check` only says whether the list is current.
 */
import { parseArgs } from "node:util"
import * as TestCluster from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import {
  type Fate,
  readCaught,
  staleness,
  unlisted,
  writeCaught
} from "../packages/persistence/test/mutation/Caught.ts"
import { allMutants } from "../packages/persistence/test/mutation/Mutants.ts"
import { testsFor } from "../packages/persistence/test/mutation/Tests.ts"
import { trial } from "../packages/persistence/test/mutation/Trial.ts"

const { values } = parseArgs({
  options: { all: { type: "boolean" }, check: { type: "boolean" }, only: { type: "string" } }
})

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

const tryAll = Effect.gen(function* () {
  const { url } = yield* TestCluster.start
  const caught: Record<string, Fate> = { ...readCaught() }
  let survivors = 0
  for (const mutant of chosen()) {
    const by = yield* Effect.promise(() => trial(url, mutant, testsFor(mutant.name)))
    const known = caught[mutant.name]
    console.log(
      `${by === null ? "SURVIVES" : "caught  "}  ${mutant.name}${by === null ? "" : `\n            by ${by}`}`
    )
    if (by !== null) caught[mutant.name] = { caughtBy: by }
    else if (known === undefined || "caughtBy" in known) {
      survivors += 1
      delete caught[mutant.name]
    }
    writeCaught(caught)
  }
  console.log(`mutate:sql: ${survivors} survive without a reason`)
  return survivors === 0 ? 0 : 1
}).pipe(Effect.scoped)

process.exit(values.check === true ? check() : await Effect.runPromise(tryAll))
