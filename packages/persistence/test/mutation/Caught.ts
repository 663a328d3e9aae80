/** The list of mutants and of what catches each: `caught.json`, kept by `npm run mutate:sql`. */
import { readFileSync, writeFileSync } from "node:fs"
import { allMutants, type Mutant } from "./Mutants.ts"

/** The title of the test that caught it; or why nothing can. */
export type Fate = { readonly caughtBy: string } | { readonly survives: string }

export type Caught = Readonly<Record<string, Fate>>

const FILE = new URL("caught.json", import.meta.url)

export const readCaught = (): Caught => JSON.parse(readFileSync(FILE, "utf8")) as Caught

/** In the order in which the guards stand in their files; null forgets a fate. */
export const writeFate = (name: string, fate: Fate | null): void => {
  const fates: Record<string, Fate | null> = { ...readCaught(), [name]: fate }
  const known = allMutants().flatMap((mutant) => {
    const told = fates[mutant.name]
    return told === undefined || told === null ? [] : [[mutant.name, told]]
  })
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`)
}

export const unlisted = (mutants: ReadonlyArray<Mutant>, caught: Caught): ReadonlyArray<Mutant> =>
  mutants.filter(({ name }) => caught[name] === undefined)

/** What the list says and the sources do not, or the other way round; none when it is current. */
export const staleness = (): ReadonlyArray<string> => {
  const mutants = allMutants()
  const caught = readCaught()
  const names = new Set(mutants.map(({ name }) => name))
  return [
    ...unlisted(mutants, caught).map(({ name }) => `not in the list: ${name}`),
    ...Object.keys(caught)
      .filter((name) => !names.has(name))
      .map((name) => `no longer there: ${name}`)
  ]
}
