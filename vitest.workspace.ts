/**
 * The one test configuration, passed with --config. A test file's name says how it runs:
 *
 * - `Foo.test.ts`: in a thread that it shares with others, so it must leave nothing behind. Loading the dependencies takes
 *   2.5 s of processor time, which the files of a thread spend once.
 * - `Foo.alone.test.ts`: in a process of its own, because it measures or changes what belongs to the process: memory,
 *   processor time, environment, signals, meters, global functions.
 * - `Foo.deep.test.ts`: in `npm run test:deep` only, in a process of its own. What it tries at length, a test in `npm test`
 *   tries in part.
 */
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

/** Projects run one after another: what is measured in one is not disturbed by the others. */
const project = (name: string, groupOrder: number, pool: "forks" | "threads", include: string) => ({
  extends: true as const,
  test: { name, pool, include: [include], sequence: { groupOrder } }
})

const measured = (...given: Parameters<typeof project>) => {
  const one = project(...given)
  return { ...one, test: { ...one.test, poolOptions: { forks: { singleFork: true } } } }
}

export default defineConfig({
  test: {
    projects: [
      project("shared", 0, "threads", "packages/*/test/**/!(*.alone|*.deep).test.ts"),
      project("alone", 1, "forks", "packages/*/test/**/*.alone.test.ts"),
      project("deep", 2, "forks", "packages/*/test/{,!(bounds)/**/}*.deep.test.ts"),
      // What they measure must not be measured beside another test.
      measured("deep-bounds", 3, "forks", "packages/*/test/**/bounds/*.deep.test.ts")
    ],
    globalSetup: ["packages/testkit/src/GlobalSetup.ts"],
    setupFiles: ["CheckedRows", "EffectEquality", "PlainIt"].map((name) =>
      fileURLToPath(new URL(`packages/testkit/src/${name}.ts`, import.meta.url))
    ),
    // As many at the least as at the most: a thread that tinypool ends for being idle can be ended twice, which fails the run.
    poolOptions: { threads: { minThreads: 3, maxThreads: 3, isolate: false }, forks: { maxForks: 2 } },
    // A test that passes at the second try is named as unsteady (scripts/TestCount.mjs).
    retry: process.env.CI ? 1 : 0,
    // For what waits in vain. The slowest test needs 25 s alone, and a busy machine several times as long.
    testTimeout: 240_000,
    hookTimeout: 240_000
  }
})
