/** SECURITY.md names the tests that attack each defence; these tests must exist. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = new URL("../../../", import.meta.url)
const page = readFileSync(new URL("SECURITY.md", root), "utf8")

/** The cells of the rows of its one table. */
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| ---") && !line.startsWith("| from "))
  .map((line) => line.slice(2, -2).split(" | "))

describe("SECURITY.md", () => {
  it("names for each attack what stops it, and tests that exist", () => {
    expect(rows.length).toBeGreaterThan(20)
    for (const row of rows) {
      expect(row.length, row.join()).toBe(4)
      const tests = Array.from(row[3]!.matchAll(/`([^`]+)`/g), ([, path]) => path!)
      expect(tests.length, row[1]).toBeGreaterThan(0)
      for (const test of tests) {
        expect(test).toMatch(/^[\w-]+\/test\/(\w+\/)?\w+(\.alone|\.deep)?\.test\.ts$/)
        expect(existsSync(fileURLToPath(new URL(`packages/${test}`, root))), test).toBe(true)
      }
    }
  })
})
