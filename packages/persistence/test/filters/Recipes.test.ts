/** docs/filters.md: each recipe's filter does with each payload what its table says. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { compile } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Either } from "effect"

const guide = readFileSync(fileURLToPath(new URL("../../../../docs/filters.md", import.meta.url)), "utf8")

/** A title, a filter, and lines of payloads. */
const recipes = [
  ...guide.matchAll(/^\*\*(\d+\. .+)\*\*\n\n```json\n([\s\S]*?)```\n\n\| payload .*\n.*\n((?:\| .*\n)+)/gm)
].map(([, title, filter, table]) => ({
  title: title!,
  filter: filter!,
  lines: [...table!.matchAll(/^\| `(.*)` \| (yes|no) \|$/gm)].map(([, payload, passes]) => ({
    payload: payload!,
    passes: passes!
  }))
}))

layer(TestPg, { excludeTestServices: true })("the recipes", (it) => {
  it.effect("§6.3 let through what they say", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const judged: Array<string> = []
      for (const { filter, lines, title } of recipes) {
        const program = compile(Either.getOrThrow(parseFilter(filter)))
        for (const { passes, payload } of lines) {
          const [answer] = yield* rows<{ holds: boolean }>`
            select posthorn.filter_holds(posthorn.path_of(p, 0), p, posthorn.judged(${payload})) as holds
            from (select ${program}::jsonb as p) t`
          told.push(`${title}: ${payload} ${passes}`)
          judged.push(`${title}: ${payload} ${answer!.holds ? "yes" : "no"}`)
        }
      }
      expect(judged).toEqual(told)
      expect(recipes.map(({ title }) => Number.parseInt(title, 10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      expect(told.length).toBeGreaterThan(20)
    })
  )
})
