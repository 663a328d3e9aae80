/**
 * Every guard of the SQL functions and triggers, and of the statements in `src` that write or lock, each as a change of its
 * file.
 *
 * One kind is left out: the condition that two rows joined by their ids are of the same workspace. Ids are unique without
 * it; it is there for the index, whose first column it is (test/migrations/Plans.test.ts).
 */
import { readdirSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { type Guard, guardsIn, without } from "./Scan.ts"

export interface Mutant {
  /** Its location and the removed text; unchanged as long as that text is. */
  readonly name: string
  /** The function or trigger; in `src`, the file and the name of what contains the statement. */
  readonly of: string
  /** Its path below `migrations` or `src`. */
  readonly file: string
  /** For a function or trigger: SQL that replaces the real one by the mutant, and back. */
  readonly statements: string | null
  readonly restore: string | null
  /** For a statement in `src`: the file's complete text. */
  readonly source: string | null
}

const folder = (name: string) => fileURLToPath(new URL(`../../${name}/`, import.meta.url))

const FUNCTION = /^create function posthorn\.(\w+)/
const TRIGGER = /^create trigger (\w+) [\s\S]*?\bon (posthorn\.\w+)/

/** A migration's statements; text between `$$`, or in `begin atomic … end`, is part of one statement. */
const statementsIn = (text: string): ReadonlyArray<string> => {
  const statements: Array<string> = []
  let from = 0
  for (const { 0: token, index } of text.matchAll(
    /--[^\n]*|'(?:[^']|'')*'|\$\$[\s\S]*?\$\$|begin atomic\b[\s\S]*?\bend(?=;)|;/g
  )) {
    if (token !== ";") continue
    statements.push(text.slice(from, index + 1).replace(/^(?:\s+|--[^\n]*\n)*/, ""))
    from = index + 1
  }
  return statements
}

/** Two with the same text are distinguished by a number. */
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

const replacing = (text: string) => text.replace("create function", "create or replace function")

const ofFunction = (file: string, name: string, text: string): ReadonlyArray<Mutant> =>
  mutable(text).map((guard) => ({
    name: `${file} ${name}: ${guard.what}`,
    of: name,
    file,
    statements: replacing(without(text, guard)),
    restore: replacing(text),
    source: null
  }))

const ofMigration = (file: string): ReadonlyArray<Mutant> =>
  statementsIn(readFileSync(folder("migrations") + file, "utf8")).flatMap((statement) => {
    const [, name] = FUNCTION.exec(statement) ?? []
    if (name !== undefined) return ofFunction(file, name, statement)
    const [, trigger, table] = TRIGGER.exec(statement) ?? []
    if (trigger === undefined) return []
    const of = `trigger ${trigger}`
    const dropped = `drop trigger if exists ${trigger} on ${table};`
    const restore = `${dropped} ${statement}`
    const changed = mutable(statement).map((guard) => ({
      name: `${file} ${of}: ${guard.what}`,
      of,
      file,
      statements: `${dropped} ${without(statement, guard)}`,
      restore,
      source: null
    }))
    return [{ name: `${file} ${of}`, of, file, statements: dropped, restore, source: null }, ...changed]
  })

/** Template literals that hold SQL. */
const STATEMENT =
  /`(?=\s*(?:select|insert|update|delete|with)\b)(?:[^`$]|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\})*`/g

const WRITES =
  /\b(?:insert into|update posthorn|delete from|for (?:no key )?update|for (?:key )?share|pg_try_advisory_lock|pg_locks)\b/

/** The constant that contains a statement: the nearest one above it that is indented less, or on its line. */
const holderOf = (text: string, at: number): string => {
  const lines = text.slice(0, at).split("\n")
  const here = lines.pop()!
  const indent = /^ */.exec(here)![0].length
  const declared = /^( *)(?:export )?const (\w+) =/
  const before = lines.reverse().map((line) => declared.exec(line))
  const holder = declared.exec(here) ?? before.find((found) => found !== null && found[1]!.length < indent)
  return holder?.[2] ?? "statement"
}

const ofSource = (file: string): ReadonlyArray<Mutant> => {
  const text = readFileSync(folder("src") + file, "utf8")
  const name = basename(file)
  const statements = [...text.matchAll(STATEMENT)].filter(([statement]) => WRITES.test(statement))
  return statements.flatMap((match) => {
    const of = `${name} ${holderOf(text, match.index)}`
    return mutable(match[0]).map((guard) => ({
      name: `${of}: ${guard.what}`,
      of,
      file,
      statements: null,
      restore: null,
      source: without(text, { ...guard, from: guard.from + match.index, to: guard.to + match.index })
    }))
  })
}

export const allMutants = (): ReadonlyArray<Mutant> =>
  numbered([
    ...readdirSync(folder("migrations")).sort().flatMap(ofMigration),
    ...readdirSync(folder("src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .sort((a, b) => (basename(a) < basename(b) ? -1 : 1))
      .flatMap(ofSource)
  ])
