/**
 * The one test configuration: a project per package, each test file in a process of its own.
 *
 * A plain config with `projects`, passed with --config: vitest 3 prints a deprecation line for a workspace file that
 * exports a list, and vitest 4 ignores it.
 */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const packages = readdirSync(new URL("packages", import.meta.url))

/** `npm run mutate:sql` has one source file read from elsewhere. */
const { TEST_SOURCE, TEST_SOURCE_INSTEAD } = process.env
const mutant = {
  name: "mutant",
  enforce: "pre" as const,
  load: (id: string) => (id === TEST_SOURCE ? readFileSync(TEST_SOURCE_INSTEAD!, "utf8") : undefined)
}

export default defineConfig({
  plugins: [mutant],
  test: {
    projects: packages.map((name) => ({
      extends: true as const,
      test: { name, include: [`packages/${name}/test/**/*.test.ts`] }
    })),
    globalSetup: ["packages/testkit/src/GlobalSetup.ts"],
    setupFiles: [fileURLToPath(new URL("packages/testkit/src/CheckedRows.ts", import.meta.url))],
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    // For what waits in vain. The slowest test needs 25 s alone, and a busy machine several times as long.
    testTimeout: 240_000,
    hookTimeout: 240_000
  }
})
