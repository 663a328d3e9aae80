/**
 * Mutants that no test can notice, each with its reason: a JSON file of names. A run fails if any other mutant survives. It
 * also fails for an exception that a test does notice, that has no reason, or that names no mutant.
 */
import { readFileSync } from "node:fs"

interface Named {
  readonly name: string
}

export interface Exceptions {
  /** Faults of the file itself, found without running any test. */
  readonly faults: ReadonlyArray<string>
  readonly has: (mutant: Named) => boolean
  /** Reports a mutant's fate, and whether it is the expected one. `by` is the test that noticed it. */
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

/** The mutants whose names contain the text. */
export const chosen = <M extends Named>(mutants: ReadonlyArray<M>, only: string | undefined) =>
  mutants.filter(({ name }) => only === undefined || name.includes(only))
