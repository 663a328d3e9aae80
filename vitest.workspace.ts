/**
 * The one test configuration: every package's tests in one run, each file in a process of its own.
 *
 * A plain config under the workspace file's name, passed with --config: vitest 3 prints a deprecation line for
 * `defineWorkspace`, and vitest 4 ignores it.
 */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts"],
    globalSetup: ["packages/testkit/src/GlobalSetup.ts"],
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 60_000
  }
})
