/**
 * Breaks the rules written in TypeScript, one operator, literal or condition at a time, and checks that a test fails: `npm
 * run mutate:ts`. scripts/mutants/Targets.ts lists the sources: what an answer means and what is kept of it, which URLs and
 * addresses are accepted, what scopes and roles allow, whom the gate, sessions and tokens admit, how requests are signed and
 * verified, and how secrets are sealed.
 *
 * A mutant that survives needs a test, or an entry with a reason in `scripts/mutants/exceptions.json`. `-- --only <text>`
 * tries only mutants whose names contain the text (a file, a line). `-- --check` only checks that all targets exist, and
 * that all exceptions name existing mutants.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { createVitest, type Vitest } from "vitest/node"
import { chosen, exceptionsIn } from "./mutants/Exceptions.ts"
import { type Mutant, mutantsOf } from "./mutants/Mutants.ts"
import { type Target, targets } from "./mutants/Targets.ts"
import { optionsOf } from "./Options.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const values = optionsOf("mutate:ts", { check: { type: "boolean" }, only: { type: "string" } })

const say = (line: string) => console.log(`mutate:ts: ${line}`)

const sourceOf = ({ file }: Target) => readFileSync(join(root, file), "utf8")

const byTarget = targets.map((target) => ({
  target,
  mutants: mutantsOf(basename(target.file), sourceOf(target))
}))
const all = byTarget.flatMap(({ mutants }) => mutants)
const exceptions = exceptionsIn(new URL("mutants/exceptions.json", import.meta.url), all)

/**
 * The first test that fails, or undefined. Files run one after another, because a failure stops tests that run beside it and
 * makes them look failed as well.
 */
const noticing = async (vitest: Vitest, tests: ReadonlyArray<string>): Promise<string | undefined> => {
  for (const test of tests) {
    const { testModules } = await vitest.runTestSpecifications(await vitest.globTestSpecifications([test]))
    for (const module of testModules) {
      const file = module.moduleId.slice(root.length)
      for (const failed of module.children.allTests("failed")) return `${file}: ${failed.fullName}`
      if (!module.ok()) return `${file}, which cannot be loaded`
    }
  }
  return undefined
}

/**
 * One vitest for all mutants of a source, so that other files are transformed once. Gives the number of unexpected results.
 */
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
    let wrong = 0
    for (const mutant of mutants) {
      writeFileSync(instead, mutant.source)
      vitest.invalidateFile(source)
      if (!exceptions.settle(mutant, await noticing(vitest, target.tests))) wrong += 1
    }
    return wrong
  } finally {
    await vitest.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const tryAll = async (): Promise<number> => {
  const began = performance.now()
  let wrong = 0
  let tried = 0
  for (const { mutants, target } of byTarget) {
    const tries = chosen(mutants, values.only)
    if (tries.length === 0) continue
    tried += tries.length
    wrong += await tryTarget(target, tries)
    say(
      `${basename(target.file)}: ${tries.length} tried, ${Math.round((performance.now() - began) / 1000)} s since the start`
    )
  }
  say(`${tried} tried, ${wrong} not as they should be`)
  return tried === 0 ? 1 : wrong
}

const gone = targets.flatMap(({ tests }) => tests).filter((test) => !existsSync(join(root, test)))
const faults = [...exceptions.faults, ...gone.map((test) => `no such test file: ${test}`)]
for (const fault of faults) say(fault)
const wrong = values.check === true ? 0 : await tryAll()
process.exit(wrong + faults.length === 0 ? 0 : 1)
