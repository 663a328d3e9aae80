/** Runs the scenarios of a mutant's function against it, in some milliseconds each, all in this process. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { inspect } from "node:util"
import { execute } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import type { Exports } from "../guards/Repositories.ts"
import { scenariosOf } from "../guards/Scenarios.ts"
import { Stage } from "../guards/Stage.ts"
import type { Mutant } from "./SqlMutants.ts"

/** A scenario that a mutant makes wait for ever counts as noticing it. */
const DEADLINE_MS = 10_000

/** A mutant that is not valid SQL fails everywhere, and proves nothing. */
const refuseNonsense = (error: unknown): false => {
  if (/syntax error at/.test(inspect(error, { depth: 8 }))) throw error
  return false
}

const passes = (played: Promise<void>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, false)
  })
  const outcome = played.then(() => true, refuseNonsense)
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer))
}

/** The title of a scenario of this function, trigger or statement that fails, or null. */
export const firstFailing = async (
  url: string,
  of: string,
  changed: Exports = {}
): Promise<string | null> => {
  for (const { play, title } of scenariosOf(of)) {
    const stage = new Stage(url, changed)
    await stage.client.connect()
    const passed = await passes(stage.clear().then(() => play(stage)))
    await stage.leave()
    if (!passed) return title
  }
  return null
}

/** Changed sources are written here, where their imports of packages can be resolved. */
const CHANGED = fileURLToPath(new URL("../../node_modules/.mutants/", import.meta.url))
const SOURCES = new URL("../../src/", import.meta.url).href

let written = 0

/** The exports of a changed source; it imports the real files of the rest of `src`. */
const exportsOf = async (path: string, source: string): Promise<Exports> => {
  const file = `${CHANGED}${process.pid}-${written++}.ts`
  mkdirSync(CHANGED, { recursive: true })
  const beside = (_: string, relative: string) => `from "${new URL(relative, SOURCES + path).href}"`
  writeFileSync(file, source.replace(/from "(\.[^"]+)"/g, beside))
  try {
    return (await import(pathToFileURL(file).href)) as Exports
  } finally {
    rmSync(file)
  }
}

/** All mutants use one database: each replaces the real object, and restores it. */
export const playScenes = async (
  url: string,
  { file, name, of, restore, source, statements }: Mutant
): Promise<string | null> => {
  if (source !== null) return firstFailing(url, of, await exportsOf(file, source))
  await Effect.runPromise(execute(url, statements!)).catch((error: unknown) => {
    throw new Error(`PostgreSQL takes no ${of} without it: ${name}`, { cause: error })
  })
  const failing = await firstFailing(url, of)
  await Effect.runPromise(execute(url, restore!))
  return failing
}
