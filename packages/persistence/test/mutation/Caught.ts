/** Lists of mutants and of what catches each: `caught.json` beside this file, kept by `npm run mutate:sql`, and others. */
import { readFileSync, writeFileSync } from "node:fs"
import { testExists } from "./Titles.ts"

interface Named {
  readonly name: string
}

/** The file and title of the test that caught it; or why nothing can. */
export type Fate = { readonly caughtBy: string } | { readonly survives: string }

export type Caught = Readonly<Record<string, Fate>>

/** The list in a file. */
export const listIn = (file: URL) => ({
  read: (): Caught => JSON.parse(readFileSync(file, "utf8")) as Caught,
  /** In the order in which the mutants stand in their files, and without those that are gone. */
  write: (mutants: ReadonlyArray<Named>, fates: ReadonlyMap<string, Fate>): void => {
    const known = mutants.flatMap(({ name }) => (fates.has(name) ? [[name, fates.get(name)]] : []))
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`)
  }
})

export const { read: readCaught, write: writeCaught } = listIn(new URL("caught.json", import.meta.url))

/** Why its entry cannot stand, or null. */
const faultOf = (fate: Fate | undefined): string | null => {
  if (fate === undefined) return "not in the list"
  if ("survives" in fate) return fate.survives.trim() === "" ? "survives without a reason" : null
  return testExists(fate.caughtBy) ? null : `no such test as ${JSON.stringify(fate.caughtBy)}`
}

/** Those to be tried, or tried again. */
export const unsettled = <M extends Named>(mutants: ReadonlyArray<M>, caught: Caught): ReadonlyArray<M> =>
  mutants.filter(({ name }) => faultOf(caught[name]) !== null)

/** What the list says and the sources do not, or the other way round; none when it is current. */
export const staleness = (mutants: ReadonlyArray<Named>, caught: Caught): ReadonlyArray<string> => {
  const names = new Set(mutants.map(({ name }) => name))
  return [
    ...unsettled(mutants, caught).map(({ name }) => `${faultOf(caught[name])}: ${name}`),
    ...Object.keys(caught)
      .filter((name) => !names.has(name))
      .map((name) => `no longer in the sources: ${name}`)
  ]
}

/** What `-- --check` of a command says of its list, and the exit code. */
export const check = (
  command: string,
  noun: string,
  mutants: Parameters<typeof staleness>[0],
  caught: Caught,
  say: (line: string) => void
): number => {
  const stale = staleness(mutants, caught)
  const last =
    stale.length === 0
      ? `the list names all ${mutants.length} ${noun}, and tests that exist`
      : `run \`npm run ${command}\`, and write a test, or the reason, for each that survives`
  for (const line of [...stale, last]) say(line)
  return stale.length === 0 ? 0 : 1
}
