/** The numbered sections of docs/spec.md and docs/decisions.md, the test files, and which sections a test's title says it proves. */
import { readdirSync } from "node:fs"
import { join } from "node:path"

export interface Section {
  readonly number: string
  readonly title: string
  /** Labelled rules, such as `§3.1 (c)`; the decisions have none. */
  readonly rules: number
}

const SPEC_HEADING = /^#{2,3} §(\d+(?:\.\d+)?) (.+)$/
/** A rule stands at the start of a list item or of a table row, as `**§3.1 (c)**`. */
const RULE = /^[-|] \*\*§(\d+(?:\.\d+)?) \([a-z]\)\*\*/

export const sectionsOfSpec = (text: string): ReadonlyArray<Section> => {
  const lines = text.split("\n")
  const rules = lines.flatMap((line) => RULE.exec(line)?.[1] ?? [])
  return lines.flatMap((line) => {
    const [, number, title] = SPEC_HEADING.exec(line) ?? []
    if (number === undefined || title === undefined) return []
    return [{ number, title, rules: rules.filter((section) => section === number).length }]
  })
}

export const sectionsOfDecisions = (text: string): ReadonlyArray<Section> =>
  Array.from(text.matchAll(/^## (\d+)\. (.+)$/gm), ([, number, title]) => ({
    number: number!,
    title: title!,
    rules: 0
  }))

const NAMED = /(?:(spec|decision) )?§(\d+(?:\.\d+)?)(?:, | and | )?/y

/** "§2.3 §6 decision §10 refuses …" names "spec §2.3", "spec §6" and "decision §10"; each `§` without a word is the last one's. */
export const sectionsNamedBy = (title: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let page = "spec"
  NAMED.lastIndex = 0
  for (let match = NAMED.exec(title); match !== null; match = NAMED.exec(title)) {
    page = match[1] ?? page
    found.push(`${page} §${match[2]}`)
  }
  return found
}

/** A title that begins with a section: the first argument of a call, or of the call that `each` or `prop` makes. */
const TITLE = /\(\s*(["'`])((?:spec |decision )?§\d(?:(?!\1).)*)\1/g

/** The titles in a test file's source that begin with a section. */
export const titlesIn = (source: string): ReadonlyArray<string> =>
  Array.from(source.matchAll(TITLE), ([, , title]) => title!)

export const testFilesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFilesIn(path)
    return entry.name.endsWith(".test.ts") ? [path] : []
  })
