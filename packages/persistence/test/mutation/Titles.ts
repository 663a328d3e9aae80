/** Whether a test exists, told from its file alone, without running anything. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { scenarios } from "../guards/Scenarios.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** The file that plays the scenarios of `../guards`; their titles are the titles of its tests. */
export const GUARDS = "packages/persistence/test/Guards.test.ts"

const guards = new Set(scenarios.map(({ title }) => title))

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** The texts in a file that are so long at least, as patterns: what a title has filled in may be anything. */
const textsIn = (source: string, atLeast: number): ReadonlyArray<string> =>
  [...source.matchAll(new RegExp(`(["'\`])((?:(?!\\1|\\\\|\\n).|\\\\.){${atLeast},})\\1`, "g"))].map(
    ([, , text]) =>
      text!
        .replace(/\\(.)/g, "$1")
        .split(/\$\{[^}]*\}|%[a-z]/)
        .map(escaped)
        .join(".*")
  )

/** Whether it says something itself, besides what is filled in. */
const speaks = (pattern: string) => pattern.replaceAll(".*", "").length > 3

/** What may be the end of a test's title, or the title of a group; of a short text much is the end by chance. */
const titlesIn = (file: string) => {
  const source = readFileSync(root + file, "utf8")
  return {
    tests: textsIn(source, 8).map((text) => new RegExp(`(?:^| )${text}$`)),
    groups: textsIn(source, 1)
      .filter(speaks)
      .map((text) => new RegExp(`^${text}$`))
  }
}

/** In a title's place: the mutant broke what runs when the source is loaded, so that no test of the file could begin. */
export const NOT_LOADED = "cannot be loaded"

const titles = new Map<string, ReturnType<typeof titlesIn>>()

/**
 * `file: title`, where the title may begin with those of the groups around the test. Groups that ` > ` sets off have to be
 * there too: they tell a title that is nearly all filled in from any other.
 */
export const testExists = (test: string): boolean => {
  const [, file, title] = /^([^:]+): (.+)$/s.exec(test) ?? []
  if (file === undefined || title === undefined) return false
  if (file === GUARDS) return guards.has(title)
  if (!existsSync(root + file)) return false
  if (title === NOT_LOADED) return true
  const known = titles.get(file) ?? titlesIn(file)
  titles.set(file, known)
  const groups = title.split(" > ")
  const own = groups.pop()!
  return (
    known.tests.some((text) => text.test(own)) &&
    groups.every((group) => known.groups.some((text) => text.test(group)))
  )
}
