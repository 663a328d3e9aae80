/** Says what is promised without a row, or has a row that attacks nothing. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { sectionsNamedBy, testFilesIn, titlesIn } from "../Sections.ts"
import { bulletsOfReadme, goalsOfBenchmarks, read, root, rowsOfSecurity, sections } from "./Documents.ts"
import { fileOf, goalsNamed, lawsNamed } from "./Page.ts"
import { promises } from "./Promises.ts"
import type { Results } from "./Results.ts"

const oneLine = (text: string) => text.replace(/\s+/g, " ")

const ofPromises = ({ chaos = [], goals }: Results) =>
  promises.flatMap((promised) => {
    const { commands = [], tests, where, words } = promised
    const laws = lawsNamed(chaos, promised)
    const rows = goalsNamed(goals?.rows ?? [], promised)
    return [
      ...(oneLine(read(where)).includes(words)
        ? []
        : [`${where} does not say "${words}" (scripts/proof/Promises.ts)`]),
      ...(tests.length + commands.length > 0 ? [] : [`nothing attacks "${words}"`]),
      ...tests
        .filter((test) => !existsSync(`${root}${fileOf(test)}`))
        .map((test) => `${fileOf(test)} does not exist`),
      ...(chaos.length > 0 && laws.includes(undefined)
        ? [`"${words}" names a law that no chaos run judged`]
        : []),
      ...(rows.some((found) => found.length === 0) ? [`"${words}" names a goal that there is not`] : [])
    ]
  })

const ofReadme = () =>
  bulletsOfReadme()
    .filter(
      (words) => !promises.some((promised) => promised.where === "README.md" && promised.words === words)
    )
    .map((words) => `README.md promises ${words}, and scripts/proof/Promises.ts does not say what attacks it`)

const ofSections = () => {
  const proved = new Set(
    testFilesIn(join(root, "packages")).flatMap((file) =>
      titlesIn(readFileSync(file, "utf8")).flatMap(sectionsNamedBy)
    )
  )
  return Object.entries(sections()).flatMap(([page, all]) =>
    all
      .filter(({ number }) => !proved.has(`${page} §${number}`))
      .map(({ number, title }) => `no test's title begins with ${page} §${number} (${title})`)
  )
}

const ofSecurity = () =>
  rowsOfSecurity().flatMap(({ attack, tests }) =>
    tests.length === 0 || tests.some((test) => !existsSync(`${root}${test}`))
      ? [`SECURITY.md names no test, or one that does not exist, for: ${attack}`]
      : []
  )

const ofGoals = ({ goals }: Results) =>
  goalsOfBenchmarks()
    .filter(
      ({ against, goal }) =>
        !goals?.rows.some((row) => row.against === against.replaceAll("`", "") && row.goal === goal)
    )
    .map(
      ({ against, goal }) =>
        `docs/benchmarks.md has the goal "${against}: ${goal}", which docs/proof.json does not`
    )

export const problemsOf = (results: Results): ReadonlyArray<string> => [
  ...ofReadme(),
  ...ofPromises(results),
  ...ofSections(),
  ...ofSecurity(),
  ...ofGoals(results)
]
