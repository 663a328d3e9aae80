/** When `npm run mutate:sql -- --check` says that the list of guards is not current. */
import { describe, expect, it } from "vitest"
import { staleness } from "./mutation/Caught.ts"
import { allMutants } from "./mutation/Mutants.ts"
import { testExists } from "./mutation/Titles.ts"

const GUARDS = "packages/persistence/test/Guards.test.ts"

describe("the list of guards", () => {
  const [one] = allMutants()
  const told = (list: Parameters<typeof staleness>[1]) => staleness([one!], list)

  it("decision §7 names a guard that it lacks, one that is gone, a test that does not exist, and a missing reason", () => {
    expect(told({})).toEqual([`not in the list: ${one!.name}`])
    expect(told({ [one!.name]: { survives: " " } })).toEqual([`survives without a reason: ${one!.name}`])
    expect(told({ [one!.name]: { caughtBy: `${GUARDS}: no such title` } })).toEqual([
      `no such test as "${GUARDS}: no such title": ${one!.name}`
    ])
    expect(
      told({ [one!.name]: { survives: "a reason" }, "gone: where true": { survives: "a reason" } })
    ).toEqual(["no longer in the sources: gone: where true"])
  })

  it("decision §7 finds a test in another file by its title, with or without those of its groups", () => {
    const file = "packages/persistence/test/Statement.test.ts"
    const title = "decision §7 28P01 means that the database is away: a password that is being changed"
    expect(testExists(`${file}: ${title}`)).toBe(true)
    expect(testExists(`${file}: a failed statement ${title}`)).toBe(true)
    expect(testExists(`${file}: a failed statement > ${title}`)).toBe(true)
    expect(testExists(`${file}: a group that was renamed > ${title}`)).toBe(false)
    expect(testExists(`${file}: a failed statement means something else`)).toBe(false)
    expect(testExists("packages/persistence/test/Nowhere.test.ts: x")).toBe(false)
  })
})
