/**
 * Breaks the rules that are written in TypeScript, one operator, literal or condition at a time, and sees which test notices:
 * `npm run mutate:ts`. The rules are those of scripts/mutants/Targets.ts: what an answer means and what is kept of it,
 * which URLs and addresses are accepted, what scopes and roles allow, whom the gate, sessions and tokens let in, how requests
 * are signed and verified, and how secrets are sealed.
 *
 * Tries what `scripts/mutants/caught.json` does not list, or lists with a test that is gone; `-- --all` tries everything, `--
 * --only <text>` what has the text in its name. What survives needs a test, or its reason in the list (`"survives": "…"`).
 * `-- --check` only says whether the list is current.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { createVitest, type Vitest } from "vitest/node"
import { check, type Fate, listIn, unsettled } from "../packages/persistence/test/mutation/Caught.ts"
import { NOT_LOADED } from "../packages/persistence/test/mutation/Titles.ts"
import { type Mutant, mutantsOf } from "./mutants/Mutants.ts"
import { type Target, targets } from "./mutants/Targets.ts"
import { optionsOf } from "./Options.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const values = optionsOf("mutate:ts", {
  all: { type: "boolean" },
  check: { type: "boolean" },
  only: { type: "string" }
})

const say = (line: string) => console.log(`mutate:ts: ${line}`)

const sourceOf = ({ file }: Target) => readFileSync(join(root, file), "utf8")

const byTarget = targets.map((target) => ({
  target,
  mutants: mutantsOf(basename(target.file), sourceOf(target))
}))
const all = byTarget.flatMap(({ mutants }) => mutants)
const list = listIn(new URL("mutants/caught.json", import.meta.url))
const listed = list.read()
const fates = new Map<string, Fate>(Object.entries(listed))

const isChosen = ({ name }: Mutant) =>
  values.only !== undefined
    ? name.includes(values.only)
    : values.all === true || unsettled([{ name }], listed).length > 0

const reasonOf = (name: string): string | undefined => {
  const fate = fates.get(name)
  return fate !== undefined && "survives" in fate && fate.survives !== "" ? fate.survives : undefined
}

/** The first test that fails, or undefined: file by file, as a failure stops what runs beside it, and that looks failed as well. */
const noticing = async (vitest: Vitest, tests: ReadonlyArray<string>): Promise<string | undefined> => {
  for (const test of tests) {
    const { testModules } = await vitest.runTestSpecifications(await vitest.globTestSpecifications([test]))
    for (const module of testModules) {
      const file = module.moduleId.slice(root.length)
      for (const failed of module.children.allTests("failed")) return `${file}: ${failed.fullName}`
      if (!module.ok()) return `${file}: ${NOT_LOADED}`
    }
  }
  return undefined
}

const settle = (name: string, by: string | undefined): boolean => {
  const reason = reasonOf(name)
  if (by !== undefined) fates.set(name, { caughtBy: by })
  else if (reason === undefined) fates.delete(name)
  const word = by !== undefined ? "caught" : reason !== undefined ? "excused" : "SURVIVES"
  console.log(`${word.padEnd(8)}  ${name}${by === undefined ? "" : `\n          by ${by}`}`)
  return by !== undefined || reason !== undefined
}

/** One vitest for all mutants of a source: what it transformed is kept, but for the source. */
const tryTarget = async (target: Target, mutants: ReadonlyArray<Mutant>): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-mutant-"))
  const source = join(root, target.file)
  const instead = join(folder, "mutant.ts")
  process.env.TEST_SOURCE = source
  process.env.TEST_SOURCE_INSTEAD = instead
  writeFileSync(instead, sourceOf(target))
  const vitest = await createVitest("test", {
    config: join(root, "vitest.workspace.ts"),
    watch: false,
    bail: 1,
    reporters: [{}]
  })
  try {
    const broken = await noticing(vitest, target.tests)
    if (broken !== undefined) throw new Error(`a test fails without a mutant already: ${broken}`)
    let survivors = 0
    for (const mutant of mutants) {
      writeFileSync(instead, mutant.source)
      vitest.invalidateFile(source)
      if (!settle(mutant.name, await noticing(vitest, target.tests))) survivors += 1
      list.write(all, fates)
    }
    return survivors
  } finally {
    await vitest.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const tryAll = async (): Promise<number> => {
  const began = performance.now()
  let survivors = 0
  let tried = 0
  for (const { mutants, target } of byTarget) {
    const chosen = mutants.filter(isChosen)
    tried += chosen.length
    if (chosen.length > 0) survivors += await tryTarget(target, chosen)
  }
  list.write(all, fates)
  say(
    `${tried} tried in ${Math.round((performance.now() - began) / 1000)} s; ${survivors} survive without a reason`
  )
  return survivors === 0 ? 0 : 1
}

process.exit(values.check === true ? check("mutate:ts", "mutants", all, listed, say) : await tryAll())
