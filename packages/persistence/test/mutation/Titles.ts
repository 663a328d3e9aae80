/** Whether a test exists, told from its file alone, without running anything. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { scenarios } from "../guards/Scenarios.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** The file that plays the scenarios of `../guards`; their titles are the titles of its tests. */
export const GUARDS = "packages/persistence/test/Guards.test.ts"

const guards = new Set(scenarios.map(({ title }) => title))

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** The texts in a file, as patterns: what a title has filled in may be anything. */
const textsIn = (file: string): ReadonlyArray<RegExp> => {
  const source = readFileSync(root + file, "utf8")
  return [...source.matchAll(/(["'`])((?:(?!\1|\\|\n).|\\.){8,})\1/g)].map(([, , text]) => {
    const parts = text!.replace(/\\(.)/g, "$1").split(/\$\{[^}]*\}|%[a-z]/)
    return new RegExp(`(?:^| )${parts.map(escaped).join(".*")}$`)
  })
}

/** In a title's place: the mutant broke what runs when the source is loaded, so that no test of the file could begin. */
export const NOT_LOADED = "cannot be loaded"

const texts = new Map<string, ReadonlyArray<RegExp>>()

/** `file: title`, where the title may begin with those of the groups around the test. */
export const testExists = (test: string): boolean => {
  const [, file, title] = /^([^:]+): (.+)$/s.exec(test) ?? []
  if (file === undefined || title === undefined) return false
  if (file === GUARDS) return guards.has(title)
  if (!existsSync(root + file)) return false
  if (title === NOT_LOADED) return true
  const known = texts.get(file) ?? textsIn(file)
  texts.set(file, known)
  return known.some((text) => text.test(title))
}
