/**
 * Allows options before or after the arguments: the library accepts them only before, so they are moved there. Everything after
 * `--` stays in place; a single `-` is an argument.
 */

/** Options without a value; every other `--option` takes the next word. */
const FLAGS = new Set([
  "--all",
  "--json",
  "--watch",
  "--include-missed",
  "--include-recovered",
  "--include-tests",
  "--dry-run",
  "--yes",
  "--help",
  "-h",
  "--version",
  "--wizard"
])

const isOption = (word: string) => /^-[-a-zA-Z]/.test(word)
const takesNext = (word: string) => !FLAGS.has(word) && !word.includes("=")

const sorted = (words: ReadonlyArray<string>) => {
  const options: Array<string> = []
  const rest: Array<string> = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === "--") {
      rest.push(...words.slice(at))
      break
    }
    if (!isOption(word)) rest.push(word)
    else if (takesNext(word) && at + 1 < words.length) options.push(word, words[++at]!)
    else options.push(word)
  }
  return { options, rest }
}

/** Commands that have commands within them. */
const GROUPS = new Set(["endpoints", "event-types", "workspace"])

/** Options that are used alone. */
const ABOUT_ITSELF = new Set(["--version", "--help", "--completions"])

/** The name of the command (and of the one within it), then the options, then the arguments. */
export const ordered = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (ABOUT_ITSELF.has(words[0] ?? "")) return words
  const { options, rest } = sorted(words)
  const names = GROUPS.has(rest[0] ?? "") ? 2 : 1
  return rest.length === 0 ? words : [...rest.slice(0, names), ...options, ...rest.slice(names)]
}
