/**
 * `npm test` and `npm run test:deep`: installs what is missing and runs the tests; arguments go to vitest
 * (`npm test -- packages/worker`).
 *
 * In CI a test that fails is run once more, and reported as unsteady if it passes then.
 *
 * Guarantees: the last line is `tests: N passed, N failed, N skipped`, even if vitest crashes. The exit code is vitest's.
 * When this process ends, for whatever reason, vitest and its workers end too.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { constants, tmpdir } from "node:os"
import { join } from "node:path"
import { ensureInstalled, root } from "./install.mjs"
import { onOrphaned } from "./orphaned.mjs"

const runVitest = (countFile) => {
  const given = process.argv.slice(2)
  const projects = given.some((argument) => argument.startsWith("--project")) ? [] : ["--project=!deep*"]
  const reporters = given.some((argument) => argument.startsWith("--reporter")) ? [] : ["--reporter=default"]
  const ours = [
    "--config",
    "vitest.workspace.ts",
    ...projects,
    ...reporters,
    "--reporter=./scripts/TestCount.mjs"
  ]
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
  const child = spawn(process.execPath, [vitest, "run", ...ours, ...given], {
    cwd: root,
    env: { ...process.env, POSTHORN_TEST_COUNT: countFile },
    stdio: "inherit",
    // A process group of its own, so that all of it can be ended: vitest alone leaves its workers running when it is told to
    // stop.
    detached: true
  })
  const stop = () => {
    process.kill(-child.pid, "SIGINT")
    setTimeout(() => process.kill(-child.pid, "SIGKILL"), 5000)
  }
  // SIGINT, like Ctrl-C: the only signal on which vitest ends by itself.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, stop)
  onOrphaned(stop)
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

const readCount = (countFile) => {
  try {
    return JSON.parse(readFileSync(countFile, "utf8"))
  } catch {
    return { passed: 0, failed: 0, skipped: 0, unsteady: [] }
  }
}

ensureInstalled()
const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"))
const countFile = join(folder, "count.json")
const code = await runVitest(countFile)
const { failed, passed, skipped, unsteady } = readCount(countFile)
rmSync(folder, { recursive: true, force: true })
if (code !== 0 && failed === 0)
  console.log(`vitest ended with code ${code} though no test failed: see above.`)
for (const name of unsteady) console.log(`unsteady, passed at the second try: ${name}`)
console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(code)
