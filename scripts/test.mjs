/**
 * `npm test`: installs what is missing and runs the tests; arguments go to vitest (`npm test -- packages/worker`).
 *
 * Guarantees: the last line is `tests: N passed, N failed, N skipped`, also when vitest breaks down; a test file that could
 * not be loaded counts as one failure; the exit code is vitest's.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { constants, tmpdir } from "node:os"
import { join } from "node:path"
import { ensureInstalled, root } from "./install.mjs"

const runVitest = (report) => {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
  const given = process.argv.slice(2)
  const reporters = given.some((argument) => argument.startsWith("--reporter")) ? [] : ["--reporter=default"]
  const ours = [
    "--config",
    "vitest.workspace.ts",
    ...reporters,
    "--reporter=json",
    `--outputFile.json=${report}`
  ]
  const child = spawn(process.execPath, [vitest, "run", ...ours, ...given], { cwd: root, stdio: "inherit" })
  // Ctrl-C reaches vitest as well; we only wait for it. SIGTERM reaches us alone.
  process.on("SIGINT", () => {})
  process.on("SIGTERM", () => child.kill("SIGTERM"))
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

const count = (report) => {
  try {
    const { numFailedTests, numPassedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
      readFileSync(report, "utf8")
    )
    const unloaded = testResults.filter(
      (file) => file.status === "failed" && file.assertionResults.length === 0
    ).length
    return {
      passed: numPassedTests,
      failed: numFailedTests + unloaded,
      skipped: numPendingTests + numTodoTests
    }
  } catch {
    return { passed: 0, failed: 0, skipped: 0 }
  }
}

ensureInstalled()
const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"))
const report = join(folder, "report.json")
const code = await runVitest(report)
const { failed, passed, skipped } = count(report)
rmSync(folder, { recursive: true, force: true })
if (code !== 0 && failed === 0)
  console.log(`vitest ended with code ${code} though no test failed: see above.`)
console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(code)
