/**
 * Every guard of the SQL functions and triggers, and of the statements in `src` that write or lock, each as a change of its
 * file.
 *
 * One kind is left out: that two rows which are joined by their ids are also of one workspace. Ids are unique without it; it
 * stands there for the index, whose first column it is (test/Plans.test.ts).
 */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Guard, guardsIn, without } from "./Scan.ts"

export interface Mutant {
  /** Where it is and what is taken away; the same as long as that stands there. */
  readonly name: string
  readonly file: string
  /** For a function or trigger: what puts the changed one into a database in the place of the real one. */
  readonly statements: string | null
  /** For a statement in `src`: the file's whole text. */
  readonly source: string | null
}

const folder = (name: string) => fileURLToPath(new URL(`../../${name}/`, import.meta.url))

const FUNCTION = /^create function posthorn\.(\w+)[\s\S]*?\$\$;?\n?[\s\S]*?\$\$;$/gm
const TRIGGER = /^create trigger (\w+) [\s\S]*?\bon (posthorn\.\w+)[\s\S]*?;$/gm

/** Two that read alike are told apart by a number. */
const numbered = (mutants: ReadonlyArray<Mutant>): ReadonlyArray<Mutant> => {
  const seen = new Map<string, number>()
  return mutants.map((mutant) => {
    const n = (seen.get(mutant.name) ?? 0) + 1
    seen.set(mutant.name, n)
    return n === 1 ? mutant : { ...mutant, name: `${mutant.name} (${n})` }
  })
}

const WITHIN_WORKSPACE = /^\w+ (?:\w+\.)?workspace_id = \w+\.workspace_id$/

const mutable = (text: string): ReadonlyArray<Guard> =>
  guardsIn(text).filter(({ what }) => !WITHIN_WORKSPACE.test(what))

const ofMigration = (file: string): ReadonlyArray<Mutant> => {
  const text = readFileSync(folder("migrations") + file, "utf8")
  const functions = [...text.matchAll(FUNCTION)].flatMap(([whole, name]) =>
    mutable(whole).map((guard) => ({
      name: `${file} ${name}: ${guard.what}`,
      file,
      statements: without(whole, guard).replace("create function", "create or replace function"),
      source: null
    }))
  )
  const triggers = [...text.matchAll(TRIGGER)].map(([, name, table]) => ({
    name: `${file} trigger ${name}`,
    file,
    statements: `drop trigger ${name} on ${table}`,
    source: null
  }))
  return [...functions, ...triggers]
}

/** Template literals that hold SQL. */
const STATEMENT =
  /`(?=\s*(?:select|insert|update|delete|with)\b)(?:[^`$]|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\})*`/g

const WRITES = /\b(?:insert into|update|delete from|for share|pg_try_advisory_lock)\b/

const ofSource = (file: string): ReadonlyArray<Mutant> => {
  const text = readFileSync(folder("src") + file, "utf8")
  const statements = [...text.matchAll(STATEMENT)].filter(([statement]) => WRITES.test(statement))
  return statements.flatMap((match) =>
    mutable(match[0]).map((guard) => ({
      name: `${file}: ${guard.what}`,
      file,
      statements: null,
      source: without(text, { ...guard, from: guard.from + match.index, to: guard.to + match.index })
    }))
  )
}

export const allMutants = (): ReadonlyArray<Mutant> =>
  numbered([
    ...readdirSync(folder("migrations")).sort().flatMap(ofMigration),
    ...readdirSync(folder("src"))
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .flatMap(ofSource)
  ])
