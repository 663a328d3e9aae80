/** What the documents promise: README's bullets, the sections of spec and decisions, SECURITY.md's rows, the goals of benchmarks. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { sectionsOfDecisions, sectionsOfSpec } from "../Sections.ts"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export const read = (file: string) => readFileSync(`${root}${file}`, "utf8")

/** "**Never loses an event.** `posthorn.publish(…)` …": its first words. */
export const bulletsOfReadme = (): ReadonlyArray<string> =>
  Array.from(read("README.md").matchAll(/^- (\*\*.+?\*\*)/gm), ([, words]) => words!)

export interface Defended {
  readonly from: string
  readonly attack: string
  /** Paths from the root. */
  readonly tests: ReadonlyArray<string>
}

export const rowsOfSecurity = (): ReadonlyArray<Defended> =>
  read("SECURITY.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---") && !line.startsWith("| from "))
    .map((line) => {
      const [from = "", attack = "", , tests = ""] = line.slice(2, -2).split(" | ")
      return {
        from,
        attack,
        tests: Array.from(tests.matchAll(/`([^`]+)`/g), ([, path]) => `packages/${path}`)
      }
    })

export const sections = () => ({
  spec: sectionsOfSpec(read("docs/spec.md")).filter(({ rules }) => rules > 0),
  decision: sectionsOfDecisions(read("docs/decisions.md"))
})

/** The rows of every table that has a column "goal": who or what it is about, and the goal. */
export const goalsOfBenchmarks = (): ReadonlyArray<{ readonly against: string; readonly goal: string }> => {
  let inTable = false
  return read("docs/benchmarks.md")
    .split("\n")
    .flatMap((line) => {
      const cells = line.split("|").map((cell) => cell.trim())
      if (cells[2] === "goal") inTable = true
      else if (!line.startsWith("|")) inTable = false
      else if (inTable && !line.startsWith("| ---") && cells[2]) {
        return [{ against: cells[1]!, goal: cells[2] }]
      }
      return []
    })
}
