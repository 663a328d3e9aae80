/**
 * The one test configuration: a project per package, each test file in a process of its own.
 *
 * A plain config with `projects`, passed with --config: vitest 3 prints a deprecation line for a workspace file that
 * exports a list, and vitest 4 ignores it.
 */
import { readdirSync } from "node:fs"
import { defineConfig } from "vitest/config"

const packages = readdirSync(new URL("packages", import.meta.url))

export default defineConfig({
  test: {
    projects: packages.map((name) => ({
      extends: true as const,
      test: { name, include: [`packages/${name}/test/**/*.test.ts`] }
    })),
    globalSetup: ["packages/testkit/src/GlobalSetup.ts"],
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
