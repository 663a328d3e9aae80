import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, expect, it, test } from "vitest"
import { drivers } from "./Drivers.ts"

const folder = mkdtempSync(join(tmpdir(), "posthorn-dist-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const root = fileURLToPath(new URL("../../..", import.meta.url))
const script = async (name: string, dist: string) =>
  (await promisify(execFile)(process.execPath, [join(root, "scripts", name), dist])).stdout

const hasTools = Object.values(drivers).every(({ isHere }) => isHere)

if (!hasTools && !process.env.CI) test.skip("what a release consists of needs Python's httpx and Go")
else
  it("what a release consists of is the same bytes each time, and gives a verified delivery in each language from an empty folder", async () => {
    const [one, other] = [join(folder, "one"), join(folder, "other")]
    await script("artifacts.mjs", one)
    await script("artifacts.mjs", other)
    const sums = readFileSync(join(one, "SHA256SUMS"), "utf8")

    const said = (await script("try-artifacts.mjs", one)).trim().split("\n")

    expect(sums.split("\n").length).toBeGreaterThan(9)
    expect(readFileSync(join(other, "SHA256SUMS"), "utf8")).toBe(sums)
    expect(readFileSync(join(other, "provenance.json"), "utf8")).toBe(
      readFileSync(join(one, "provenance.json"), "utf8")
    )
    for (const [index, name] of ["typescript", "python", "go"].entries())
      expect(said[index]).toMatch(new RegExp(`^${name} +verified whd_\\w+: .*"first\\.${name}"`))
  })
