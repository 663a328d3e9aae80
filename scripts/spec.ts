/**
 * Which sections of docs/spec.md no test proves: `tsx scripts/spec.ts`.
 *
 * A test proves a section when its title, or the title of the `describe` around it, begins with that section's number:
 * "§3.1 copies a dead-lettered delivery into a new pending row". Several may be named: "§2.1 §8 …". Exits 1 when a section
 * that has rules is proved by none, when an exception is no longer needed, and when a title names a section that the
 * specification does not have. It counts sections; whether a test proves every rule of its section, people judge.
 */
import { readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { sectionsNamedBy, sectionsOfSpec, testFilesIn, titlesIn } from "./Sections.ts"

/** Sections that may stay unproved, and why. */
const exceptions: Readonly<Record<string, string>> = {}

const root = fileURLToPath(new URL("..", import.meta.url))

interface Proof {
  readonly section: string
  readonly file: string
  readonly title: string
}

const SPEC = "spec §"

const proofsIn = (path: string): ReadonlyArray<Proof> =>
  titlesIn(readFileSync(path, "utf8")).flatMap((title) =>
    sectionsNamedBy(title)
      .filter((section) => section.startsWith(SPEC))
      .map((section) => ({ section: section.slice(SPEC.length), file: relative(root, path), title }))
  )

const sections = sectionsOfSpec(readFileSync(join(root, "docs", "spec.md"), "utf8"))
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
    .map((section) => `§${section} needs no exception any more: take it out of scripts/spec.ts.`),
  ...proofs
    .filter(({ section }) => !known.has(section))
    .map(({ file, section, title }) => `docs/spec.md has no §${section}, which ${file} names: "${title}".`)
]

for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
