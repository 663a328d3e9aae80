/**
 * Which sections of docs/spec.md no test proves: `tsx scripts/ci/spec.ts`.
 *
 * A test proves a section when its title, or the title of the `describe` around it, begins with that section's number:
 * "§3.1 copies a dead-lettered delivery into a new pending row". A title may name several: "§2.1 §8 …". Exits 1 when a
 * section with labelled rules is named by no test, when an exception is no longer needed, or when a title names a section
 * that does not exist. It counts sections; people judge whether the tests prove every rule of a section.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

/** Sections that may stay unproved, and why. */
const exceptions: Readonly<Record<string, string>> = {}

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Section {
  readonly number: string
  readonly title: string
  /** Labelled rules, such as `§3.1 (c)`. */
  readonly rules: number
}

interface Proof {
  readonly section: string
  readonly file: string
  readonly title: string
}

const HEADING = /^#{2,3} §(\d+(?:\.\d+)?) (.+)$/
/** A rule, at the start of a list item or of a table row: `**§3.1 (c)**`. */
const RULE = /^[-|] \*\*§(\d+(?:\.\d+)?) \([a-z]\)\*\*/

const sectionsOf = (text: string): ReadonlyArray<Section> => {
  const lines = text.split("\n")
  const rules = lines.flatMap((line) => RULE.exec(line)?.[1] ?? [])
  return lines.flatMap((line) => {
    const [, number, title] = HEADING.exec(line) ?? []
    if (number === undefined || title === undefined) return []
    return [{ number, title, rules: rules.filter((section) => section === number).length }]
  })
}

/** A title that begins with a section: the first argument of a call, or of the call that `each` or `prop` makes. */
const TITLE = /\(\s*(["'`])(§\d(?:(?!\1).)*)\1/g
const NAMED = /§(\d+(?:\.\d+)?)(?:, | and | )?/y

/** "§2.3 §6 refuses …" names 2.3 and 6. */
const sectionsNamedBy = (title: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  NAMED.lastIndex = 0
  for (let match = NAMED.exec(title); match !== null; match = NAMED.exec(title)) found.push(match[1]!)
  return found
}

/** Test files, and files that they share, which may contain titles too. */
const testFilesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFilesIn(path)
    return entry.name.endsWith(".ts") && path.includes("/test/") ? [path] : []
  })

const proofsIn = (path: string): ReadonlyArray<Proof> =>
  Array.from(readFileSync(path, "utf8").matchAll(TITLE), ([, , title]) => title!).flatMap((title) =>
    sectionsNamedBy(title).map((section) => ({ section, file: relative(root, path), title }))
  )

const sections = sectionsOf(readFileSync(join(root, "docs", "spec.md"), "utf8"))
const proofs = testFilesIn(join(root, "packages")).flatMap(proofsIn)
const known = new Set(sections.map(({ number }) => number))
const proofsOf = (section: string) => proofs.filter((proof) => proof.section === section).length

const listed = sections
  .filter(({ rules }) => rules > 0)
  .map((section) => ({ ...section, titles: proofsOf(section.number), reason: exceptions[section.number] }))

for (const { number, reason, rules, title, titles } of listed) {
  const state =
    titles > 0 ? `${titles} titles` : reason === undefined ? "NOT PROVED" : `not proved: ${reason}`
  console.log(`§${number.padEnd(4)} ${title.padEnd(32)} ${String(rules).padStart(2)} rules  ${state}`)
}

const problems = [
  ...listed
    .filter(({ reason, titles }) => titles === 0 && reason === undefined)
    .map(({ number, title }) => `No test title begins with §${number} (${title}).`),
  ...Object.keys(exceptions)
    .filter((section) => !known.has(section) || proofsOf(section) > 0)
    .map((section) => `§${section} needs no exception any more: take it out of scripts/ci/spec.ts.`),
  ...proofs
    .filter(({ section }) => !known.has(section))
    .map(({ file, section, title }) => `docs/spec.md has no §${section}, which ${file} names: "${title}".`)
]

for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
