/** Each word of the glossary names a thing that exists: a file of a package, or a migration. */
import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../../", import.meta.url)
const rows = readFileSync(new URL("docs/glossary.md", root), "utf8")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter((cells) => cells.length === 5 && cells[1] !== "word" && cells[1] !== "---")

const pathOf = (where: string): string => {
  const [, place = "", file = ""] = /^`([^`]+)`(?: (\S+))?$/.exec(where) ?? []
  return place.endsWith(".sql")
    ? `packages/persistence/migrations/${place}`
    : `packages/${place}/src/${file}.ts`
}

describe("the glossary", () => {
  it("has at most forty words, each once", () => {
    const words = rows.map(([, word]) => word)
    assert.isAtMost(words.length, 40)
    assert.strictEqual(new Set(words).size, words.length)
  })

  it("names things that exist", () => {
    const missing = rows
      .map(([, , , where]) => pathOf(where!))
      .filter((path) => !existsSync(new URL(path, root)))
    assert.deepStrictEqual(missing, [])
  })
})
