/** One mutant put before the tests that should catch it, on a PostgreSQL that is there already. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Mutant } from "./Mutants.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")

/** A mutant may make a test wait for ever; that is noticed too. */
const DEADLINE_MS = 180_000

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly fullName: string }>
  }>
}

const environmentOf = (mutant: Mutant | null, folder: string): Record<string, string> => {
  if (mutant === null) return {}
  const file = join(folder, "mutant")
  writeFileSync(file, mutant.statements ?? mutant.source!)
  if (mutant.statements !== null) return { TEST_TEMPLATE_SQL: file }
  return { TEST_SOURCE: join(root, "packages/persistence/src", mutant.file), TEST_SOURCE_INSTEAD: file }
}

const failedIn = (report: string): string | null => {
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report
  for (const { assertionResults, message, name } of testResults) {
    const failed = assertionResults.find(({ status }) => status === "failed")
    const file = name.slice(root.length)
    if (failed !== undefined) return `${file}: ${failed.fullName}`
    if (assertionResults.length === 0 && message !== "") return `${file}: ${message.split("\n")[0]}`
  }
  return null
}

/** The test that fails, or null when all pass. Without a mutant, all should. */
export const trial = (
  databaseUrl: string,
  mutant: Mutant | null,
  tests: ReadonlyArray<string>
): Promise<string | null> => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-mutant-"))
  const report = join(folder, "report.json")
  const given = [
    "run",
    "--config",
    "vitest.workspace.ts",
    "--bail",
    "1",
    "--reporter=json",
    `--outputFile=${report}`
  ]
  const child = spawn(process.execPath, [vitest, ...given, ...tests], {
    cwd: root,
    env: { ...process.env, ...environmentOf(mutant, folder), TEST_DATABASE_URL: databaseUrl },
    stdio: "ignore",
    detached: true
  })
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      process.kill(-child.pid!, "SIGKILL")
    }, DEADLINE_MS)
    child.once("close", (code) => {
      clearTimeout(timer)
      try {
        if (late) resolve("no test ended in time")
        else resolve(code === 0 ? null : (failedIn(report) ?? "the tests could not begin"))
      } catch (error) {
        reject(error)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  })
}
