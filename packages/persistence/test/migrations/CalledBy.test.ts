/** `Called by:` over a function names all its callers: functions of the migrations, and files of this package. */
import { readdirSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { assert, it } from "@effect/vitest"

const root = new URL("../../", import.meta.url)

const textsOf = (folder: string, extension: string) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(extension))
    .sort()
    .map((file) => [basename(file, extension), readFileSync(new URL(folder + file, root), "utf8")] as const)

it("names all callers of a function", () => {
  const sql = textsOf("migrations/", ".sql").map(([, text]) => text)
  const all = sql.join("\n")
  const functions = all
    .split(/^create function posthorn\./m)
    .map((text) => [/^\w*/.exec(text)![0], text] as const)
  const texts = [...functions, ...textsOf("src/", ".ts")]
  const headers = [...all.matchAll(/((?:^--.*\n)+)create function posthorn\.(\w+)/gm)].flatMap(
    ([, comment, name]) => {
      const [, listed] = /Called by: (.*)\.\s*$/.exec(comment!.replace(/\n?-- /g, " ")) ?? []
      return listed === undefined ? [] : [{ name: name!, listed }]
    }
  )
  assert.isAbove(headers.length, 20)
  for (const { listed, name } of headers) {
    const callers = texts.filter(([caller, text]) => caller !== name && text.includes(`posthorn.${name}(`))
    const named = listed.split(", ").map((caller) => caller.split(".")[0]!)
    assert.deepStrictEqual(named.sort(), callers.map(([caller]) => caller).sort(), name)
  }
})
