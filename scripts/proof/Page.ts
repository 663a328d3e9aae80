/** Writes docs/proof.md from the results and from what the documents promise. The same of both gives the same page. */
import { rowsOfSecurity, sections } from "./Documents.ts"
import { sum } from "./Gather.ts"
import { type Promised, promises } from "./Promises.ts"
import type { ChaosRun, Command, Counts, Goal, Guards, Results, Run, Tests } from "./Results.ts"

const NOT_RUN = "not in the last run"

const number = (n: number) => n.toLocaleString("en-US")

const plural = (n: number, word: string) => `${number(n)} ${word}${n === 1 ? "" : "s"}`

/** "231 of 231", with what failed and what was skipped. */
const said = ({ failed, passed, skipped }: Counts) => {
  const all = passed + failed + skipped
  if (all === 0) return NOT_RUN
  const notes = [failed > 0 ? `**${failed} failed**` : "", skipped > 0 ? `${skipped} skipped` : ""].filter(
    Boolean
  )
  return `${number(passed)} of ${number(all)}${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`
}

const ofFiles = (tests: Tests | undefined, files: ReadonlyArray<string>) => {
  const missing = files.filter((file) => tests?.files[file] === undefined).length
  const counts = said(sum(files.flatMap((file) => tests?.files[file] ?? [])))
  return missing > 0 && missing < files.length ? `${counts}; ${plural(missing, "file")} ${NOT_RUN}` : counts
}

const about = ({ at, commit, machine }: Run) => `${at} UTC at ${commit}, on ${machine}`

const verdict = ({ met }: Goal) => (met === null ? "" : met ? "met" : "**not met**")

export const fileOf = (test: string) => `packages/${test}.test.ts`

const links = (files: ReadonlyArray<string>) =>
  files.map((file) => `[${file.split("/").at(-1)!.replace(".test.ts", "")}](../${file})`).join(", ")

interface LawTotal {
  readonly name: string
  readonly of: string
  readonly cases: number
  readonly broken: number
  readonly tooFew: number
}

/** Each law over all runs. */
const lawsOf = (runs: ReadonlyArray<ChaosRun>): ReadonlyArray<LawTotal> => {
  const names = [...new Set(runs.flatMap(({ laws }) => Object.keys(laws)))]
  return names.map((name) => {
    const judged = runs.flatMap(({ laws }) => laws[name] ?? [])
    return {
      name,
      of: judged[0]!.of,
      cases: judged.reduce((total, { cases }) => total + cases, 0),
      broken: judged.reduce((total, { violations }) => total + violations, 0),
      tooFew: judged.filter(({ cases, least }) => cases < least).length
    }
  })
}

const judgement = ({ broken, tooFew }: LawTotal) =>
  [
    broken > 0 ? `**broken ${plural(broken, "time")}**` : "held",
    ...(tooFew > 0 ? [`too little to judge in ${plural(tooFew, "run")}`] : [])
  ].join("; ")

export const lawsNamed = (runs: ReadonlyArray<ChaosRun>, { laws = [] }: Promised) =>
  laws.map((start) => lawsOf(runs).find(({ name }) => name.startsWith(start)))

export const goalsNamed = (rows: ReadonlyArray<Goal>, { goals = [] }: Promised) =>
  goals.map((start) => rows.filter(({ against }) => against.startsWith(start)))

const judged = (command: Command | undefined) =>
  command === undefined ? NOT_RUN : `${command.ended === 0 ? "" : "**failed**: "}${command.said}`

const figures = (results: Results, promised: Promised) =>
  [
    ...(promised.tests.length > 0 ? [`tests: ${ofFiles(results.tests, promised.tests.map(fileOf))}`] : []),
    ...lawsNamed(results.chaos ?? [], promised).flatMap((law) =>
      law === undefined ? [] : [`${law.name}: ${judgement(law)}, ${number(law.cases)} ${law.of}`]
    ),
    ...goalsNamed(results.goals?.rows ?? [], promised)
      .flat()
      .map((goal) => `${goal.against}: ${goal.got || NOT_RUN} (goal ${goal.goal})`),
    ...(promised.commands ?? []).map((command) => judged(results.commands?.[command]))
  ].join("<br>")

const attackers = ({ commands = [], goals = [], laws = [], tests }: Promised) =>
  [
    ...(tests.length > 0 ? [links(tests.map(fileOf))] : []),
    ...(laws.length > 0 ? ["`npm run chaos`"] : []),
    ...(goals.length > 0 ? ["`npm run bench`"] : []),
    ...commands.map((command) => `\`${command}\``)
  ].join(", ")

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

const bigPromises = (results: Results) =>
  table(
    ["promised in", "in the words", "attacked by", "last figures"],
    promises.map((promised) => [
      promised.where,
      promised.words.replaceAll("**", ""),
      attackers(promised),
      figures(results, promised)
    ])
  )

const sectionTable = (tests: Tests | undefined, page: "spec" | "decision") => {
  const none = { passed: 0, failed: 0, skipped: 0 }
  return table(
    ["section", "about", ...(page === "spec" ? ["rules"] : []), "tests passed"],
    sections()[page].map(({ number: section, rules, title }) => [
      `§${section}`,
      title,
      ...(page === "spec" ? [String(rules)] : []),
      said(tests?.sections[`${page} §${section}`] ?? none)
    ])
  )
}

const security = (results: Results) =>
  table(
    ["from", "attack", "tests passed", "in"],
    rowsOfSecurity().map(({ attack, from, tests }) => [
      from,
      attack,
      ofFiles(results.tests, tests),
      links(tests)
    ])
  )

const chaosPart = (runs: ReadonlyArray<ChaosRun>) => {
  if (runs.length === 0) return "Not run."
  const faults = new Map<string, number>()
  for (const run of runs)
    for (const [kind, n] of Object.entries(run.faults)) faults.set(kind, (faults.get(kind) ?? 0) + n)
  const list = runs.map(
    (run) =>
      `- seed ${run.seed}, ${run.seconds} s: ${number(run.deliveries)} deliveries, ${number(run.posts)} posts (${about(run)})`
  )
  return [
    ...list,
    "",
    `Faults and orders: ${[...faults].map(([kind, n]) => `${n} ${kind}`).join(", ")}.`,
    "",
    table(
      ["law", "judged", "of", ""],
      lawsOf(runs).map((law) => [law.name, number(law.cases), law.of, judgement(law)])
    )
  ].join("\n")
}

const allCaught = ({ caught }: Guards) => Object.values(caught).reduce((total, n) => total + n, 0)

const guardsPart = (guards: Guards | undefined, what: string) => {
  if (guards === undefined) return "Not gathered."
  const caught = allCaught(guards)
  return [
    `${number(caught)} of ${number(caught + guards.excused.length)} ${what};`,
    `${guards.excused.length} have a written reason why none can (${about(guards)}).`,
    "",
    table(
      ["file", "caught", "excused"],
      Object.entries(guards.caught).map(([file, n]) => [
        file,
        String(n),
        String(guards.excused.filter(({ guard }) => guard.startsWith(file)).length)
      ])
    )
  ].join("\n")
}

const goalsPart = ({ goals }: Results) => {
  if (goals === undefined) return "Not gathered."
  const runs = Object.entries(goals.runs).map(
    ([scenario, { at, load, on }]) => `- ${scenario}: ${at} UTC on ${on}, load ${load.toFixed(1)} before`
  )
  return [
    ...runs,
    "",
    table(
      ["against", "goal", "got", ""],
      goals.rows.map((goal) => [goal.against, goal.goal, goal.got || NOT_RUN, verdict(goal)])
    )
  ].join("\n")
}

const fates = (guards: Guards | undefined) =>
  guards === undefined
    ? NOT_RUN
    : `${number(allCaught(guards))} caught, ${plural(guards.excused.length, "reason")}`

const summary = ({ chaos = [], goals, guards, mutants, tests }: Results) => {
  const laws = lawsOf(chaos)
  const met = (state: boolean | null) => goals?.rows.filter((row) => row.met === state).length ?? 0
  return table(
    ["", "last figures"],
    [
      [
        "tests",
        tests === undefined
          ? NOT_RUN
          : `${said(sum(Object.values(tests.files)))} passed, in ${Object.keys(tests.files).length} of ${plural(tests.ofFiles, "file")}`
      ],
      [
        "chaos",
        `${plural(chaos.length, "run")}; ${laws.filter(({ broken }) => broken === 0).length} of ${plural(laws.length, "law")} held, ${number(laws.reduce((total, { cases }) => total + cases, 0))} cases judged`
      ],
      ["guards of the SQL", fates(guards)],
      ["mutants of rules in TypeScript", fates(mutants)],
      ["goals of the benchmarks", `${met(true)} met, ${met(false)} not met, ${met(null)} ${NOT_RUN}`]
    ]
  )
}

export const pageOf = (results: Results): string => `# Proof

What Posthorn promises, what attacks each promise, and what the last runs gave. Written by \`npm run proof\` from
[proof.json](proof.json), which holds what the runs said; nothing here is typed by hand. A promise that fails says so here.

\`\`\`
npm run proof                                   every test, chaos of 60 s by seed 1; the benchmarks' last results as they are
npm run proof -- --only chaos --seeds 1,2,3,4,5 --seconds 600
npm run proof -- --only tests --from FILE       of what \`npm test -- --reporter=json --outputFile=FILE\` wrote
npm run proof -- --page                         the page anew, without a run
npm run proof -- --check                        says whether the page is current and every promise has its row
\`\`\`

${summary(results)}

## The promises

${bigPromises(results)}

## The specification, section by section

Tests whose title begins with the section (${results.tests === undefined ? NOT_RUN : about(results.tests)}). Most titles name one section; a few name several.

${sectionTable(results.tests, "spec")}

## The decisions, section by section

${sectionTable(results.tests, "decision")}

## What SECURITY.md says is defended

${security(results)}

## Faults on a whole installation

\`npm run chaos\` breaks an installation of real processes by a seed, and judges what came of it.

${chaosPart(results.chaos ?? [])}

## Guards of the SQL

\`npm run mutate:sql\` takes each away in turn; [the list](../packages/persistence/test/mutation/caught.json) says which test
noticed, or why none can.

${guardsPart(results.guards, "guards have a test that fails without them")}

## Rules in TypeScript

\`npm run mutate:ts\` breaks them one operator, literal or condition at a time: what an answer means for its delivery, which URLs
are accepted, what scopes and roles allow, whom the gate and sessions let in, which text is a token; [the list](../scripts/mutants/caught.json) says which test noticed.

${guardsPart(results.mutants, "mutants have a test that fails with them")}

## Goals of the benchmarks

\`npm run bench\`, as its last results say; [benchmarks.md](benchmarks.md) explains them, and has figures from quieter machines.

${goalsPart(results)}
`
