/**
 * Mutants that no test can notice, each with its reason: a JSON file of names. Whatever else survives fails a run, and so does an
 * exception that a test notices after all, that has no reason, or that names nothing any more.
 */
import { readFileSync } from "node:fs"

interface Named {
  readonly name: string
}

export interface Exceptions {
  /** What is wrong with the file itself, without trying anything. */
  readonly faults: ReadonlyArray<string>
  readonly has: (mutant: Named) => boolean
  /** Says what became of a mutant; whether that is as it should be. `by`: the test that noticed it. */
  readonly settle: (mutant: Named, by: string | undefined) => boolean
}

export const exceptionsIn = (file: URL, mutants: ReadonlyArray<Named>): Exceptions => {
  const reasons = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, string>>
  const names = new Set(mutants.map(({ name }) => name))
  const has = ({ name }: Named) => name in reasons
  return {
    faults: Object.entries(reasons).flatMap(([name, reason]) => [
      ...(names.has(name) ? [] : [`no longer in the sources: ${name}`]),
      ...(reason.trim() === "" ? [`without a reason: ${name}`] : [])
    ]),
    has,
    settle: (mutant, by) => {
      const excused = has(mutant)
      if (by === undefined) console.log(`${excused ? "excused " : "SURVIVES"}  ${mutant.name}`)
      else if (excused) console.log(`CAUGHT, so no exception: ${mutant.name}\n          by ${by}`)
      return excused === (by === undefined)
    }
  }
}

/** Those whose names have the text in them. */
export const chosen = <M extends Named>(mutants: ReadonlyArray<M>, only: string | undefined) =>
  mutants.filter(({ name }) => only === undefined || name.includes(only))
