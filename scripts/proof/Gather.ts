/** Makes results of what the runs left: vitest's JSON, the list of guards, the benchmarks' files, a chaos run's verdict. */
import { execFileSync, spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { cpus } from "node:os"
import { join, relative } from "node:path"
import { Effect } from "effect"
import { type Caught, listIn, readCaught } from "../../packages/persistence/test/mutation/Caught.ts"
import { chaos } from "../../packages/worker/test/chaos/Chaos.ts"
import { USUAL } from "../../packages/worker/test/chaos/Plan.ts"
import { sectionsNamedBy, testFilesIn } from "../Sections.ts"
import { goalsOfBenchmarks, root } from "./Documents.ts"
import type { ChaosRun, Command, Counts, Goal, Goals, Guards, Run, Tests } from "./Results.ts"

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

const minute = (time: string) => time.slice(0, 16).replace("T", " ")

/** What the runs themselves write is no change. */
const OURS = [":!docs/proof.json", ":!docs/proof.md"]

/** A commit is named with a `+` when there were changes that it does not hold. */
const now = (): Run => ({
  at: minute(new Date().toISOString()),
  commit: `${git("rev-parse", "--short", "HEAD")}${git("status", "--porcelain", "--", ".", ...OURS) === "" ? "" : "+"}`,
  machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}, Node ${process.versions.node}`
})

const NONE: Counts = { passed: 0, failed: 0, skipped: 0 }

export const sum = (all: ReadonlyArray<Counts>): Counts =>
  all.reduce(
    (total, { failed, passed, skipped }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped
    }),
    NONE
  )

interface VitestFile {
  readonly name: string
  readonly status: string
  readonly assertionResults: ReadonlyArray<{
    readonly ancestorTitles: ReadonlyArray<string>
    readonly title: string
    readonly status: string
  }>
}

const countOf = (status: string): Counts =>
  status === "passed"
    ? { ...NONE, passed: 1 }
    : status === "failed"
      ? { ...NONE, failed: 1 }
      : { ...NONE, skipped: 1 }

/** A file that could not be loaded has no tests, and counts as one that failed. */
const countsOf = ({ assertionResults, status }: VitestFile): Counts =>
  assertionResults.length === 0 && status === "failed"
    ? { ...NONE, failed: 1 }
    : sum(assertionResults.map((test) => countOf(test.status)))

/** Of what vitest's reporter `json` wrote. */
export const testsOf = (file: string): Tests => {
  const { testResults } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly testResults: ReadonlyArray<VitestFile>
  }
  const sections = new Map<string, Array<Counts>>()
  for (const { assertionResults } of testResults)
    for (const { ancestorTitles, status, title } of assertionResults)
      for (const section of new Set([...ancestorTitles, title].flatMap(sectionsNamedBy)))
        sections.set(section, [...(sections.get(section) ?? []), countOf(status)])
  const byName = <T>(entries: ReadonlyArray<readonly [string, T]>) =>
    Object.fromEntries([...entries].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true })))
  // Vitest names files by the folder that it ran in, which need not be this one.
  const pathOf = ({ name }: VitestFile) =>
    name.includes("/packages/") ? name.slice(name.lastIndexOf("/packages/") + 1) : relative(root, name)
  return {
    ...now(),
    ofFiles: testFilesIn(join(root, "packages")).length,
    files: byName(testResults.map((each) => [pathOf(each), countsOf(each)] as const)),
    sections: byName([...sections].map(([name, counts]) => [name, sum(counts)] as const))
  }
}

export const runCommand = (command: string): Command => {
  const [program = "", ...args] = command.replace(/^npm run/, "npm run --silent").split(" ")
  const { status, stderr, stdout } = spawnSync(program, args, { cwd: root, encoding: "utf8" })
  return { ...now(), ended: status ?? 1, said: `${stderr}${stdout}`.trim().split("\n").at(-1) ?? "" }
}

/** Names begin with the file. */
const countFates = (list: Caught): Guards => {
  const caught: Record<string, number> = {}
  for (const [guard, fate] of Object.entries(list)) {
    const file = /^[^ :]+/.exec(guard)![0]
    caught[file] = (caught[file] ?? 0) + ("caughtBy" in fate ? 1 : 0)
  }
  const excused = Object.entries(list).flatMap(([guard, fate]) =>
    "survives" in fate ? [{ guard, reason: fate.survives }] : []
  )
  return { ...now(), caught, excused }
}

export const gatherGuards = () => ({
  guards: countFates(readCaught()),
  mutants: countFates(listIn(new URL("../mutants/caught.json", import.meta.url)).read())
})

interface Bench {
  readonly scenario: string
  readonly about: {
    readonly at: string
    readonly machine: { readonly cpu: string; readonly cores: number; readonly load: ReadonlyArray<number> }
  }
}

export const gatherGoals = async (): Promise<Goals> => {
  const { goalsOf } = (await import(new URL("../../bench/src/Goals.mjs", import.meta.url).href)) as {
    readonly goalsOf: (results: ReadonlyArray<Bench>) => ReadonlyArray<Omit<Goal, "scenario">>
  }
  const folder = `${root}bench/results`
  const benches = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as Bench)
  const judged = benches.flatMap((bench) =>
    goalsOf([bench]).map((goal) => ({ scenario: bench.scenario, ...goal }))
  )
  const plain = (text: string) => text.replaceAll("`", "")
  const isJudged = ({ against, goal }: { readonly against: string; readonly goal: string }) =>
    judged.some((each) => each.against === plain(against) && each.goal === goal)
  return {
    runs: Object.fromEntries(
      benches.map(({ about: { at, machine }, scenario }) => [
        scenario,
        {
          at: minute(at),
          on: `${machine.cores} × ${machine.cpu}`,
          load: machine.load[0] ?? 0
        }
      ])
    ),
    rows: [
      ...judged,
      ...goalsOfBenchmarks()
        .filter((goal) => !isJudged(goal))
        .map(({ against, goal }) => ({ scenario: "", against: plain(against), goal, got: "", met: null }))
    ]
  }
}

export const runChaos = async (seed: number, seconds: number): Promise<ChaosRun> => {
  const run = now()
  const verdict = await Effect.runPromise(chaos(seed, seconds, USUAL, () => {}))
  return {
    ...run,
    seed,
    seconds,
    deliveries: verdict.judged.model.deliveries.size,
    posts: verdict.judged.posts.length,
    faults: Object.fromEntries(verdict.done),
    laws: Object.fromEntries(
      Object.entries(verdict.laws).map(([name, { cases, least, of, violations }]) => [
        name,
        { cases, of, least, violations: violations.length }
      ])
    )
  }
}
