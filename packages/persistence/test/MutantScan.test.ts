/** What `npm run attack -- mutate-sql` recognises as a guard, and the text that it leaves without it. */
import { describe, expect, it } from "vitest"
import { guardsIn, without } from "./mutation/Scan.ts"
import { allMutants } from "./mutation/SqlMutants.ts"

/** Each guard, and the text without it. */
const mutantsOf = (text: string) => guardsIn(text).map((guard) => [guard.what, without(text, guard)])

describe("the guards of a text of SQL", () => {
  it("§3.4 a condition of a statement in a template ends before the closing backtick", () => {
    expect(mutantsOf(`\`delete from a where b = \${b} and id = \${id}\``)).toEqual([
      [`where b = \${b}`, `\`delete from a where true and id = \${id}\``],
      [`and id = \${id}`, `\`delete from a where b = \${b} and true\``]
    ])
  })

  it("§3.4 a placeholder that holds statements of its own is left as it is", () => {
    const [head, tail] = [`\`update a set b = 1 \${c ? sql\`, d = \${d}\` : sql\`\`}`, `where id = \${id}`]
    expect(mutantsOf(`${head} ${tail}\``)).toEqual([[tail, `${head} where true\``]])
  })

  it("§3.4 a case is part of the condition that contains it, and its own conditions are guards too", () => {
    expect(mutantsOf("where a and case when b then c else d end = e order by f;")).toEqual([
      ["where a", "where true and case when b then c else d end = e order by f;"],
      ["and case when b then c else d end = e", "where a and true order by f;"],
      ["when b", "where a and case when true then c else d end = e order by f;"]
    ])
  })

  it("§3.4 locks and `on conflict` clauses are guards", () => {
    expect(mutantsOf("select 1 from a where b for no key update skip locked;")).toEqual([
      ["where b", "select 1 from a where true for no key update skip locked;"],
      ["for no key update skip locked", "select 1 from a where b ;"],
      ["skip locked", "select 1 from a where b for no key update ;"]
    ])
    expect(
      mutantsOf("insert into a values (1) on conflict (b) do update set d = excluded.d returning 1;")
    ).toEqual([["on conflict (b) do update", "insert into a values (1)  returning 1;"]])
    expect(mutantsOf("insert into a values (1) on conflict do nothing;")).toEqual([
      ["on conflict do nothing", "insert into a values (1) ;"]
    ])
  })

  it("§3.4 without its guard, a condition is false after `if` and `or` and true elsewhere; an exception is not caught", () => {
    expect(mutantsOf("if a and b between 1 and 2 then")).toEqual([
      ["if a", "if false and b between 1 and 2 then"],
      ["and b between 1 and 2", "if a and true then"]
    ])
    expect(mutantsOf("select distinct on (a, b) a from c where d;")).toHaveLength(1)
    expect(mutantsOf("begin a; exception when lock_not_available then b; end;")).toEqual([
      ["exception when lock_not_available", "begin a; exception when assert_failure then b; end;"]
    ])
    expect(mutantsOf("where (a or b = c)")).toContainEqual(["or b = c", "where (a or false)"])
  })
})

describe("the guards of this package", () => {
  const mutants = allMutants()

  it("§3.4 have unique names", () => {
    expect(mutants.length).toBeGreaterThan(300)
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  })

  it("§3.4 in repositories are named after what contains their statement", () => {
    expect(mutants.map(({ of }) => of)).toEqual(
      expect.arrayContaining(["EndpointsRepo.ts lock", "ShardLocks.ts MEMBERSHIP"])
    )
  })
})
