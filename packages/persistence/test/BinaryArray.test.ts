/** Lists of texts arrive as they were, in the binary form of an array. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, FastCheck as fc } from "effect"
import { textsOf } from "../src/internal/BinaryArray.ts"

/** What PostgreSQL stores: no NUL, no lone surrogate. */
const text = fc.fullUnicodeString().map((made) => made.replaceAll("\0", ""))
const lists = fc.array(fc.oneof(text, fc.constantFrom(null, "", "NULL", '{"a":"\\\\,é"}')), { minLength: 1 })

layer(TestPg)("lists of texts", (it) => {
  it.effect("decision §2 arrive as they were, whatever they hold", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      for (const list of fc.sample(lists, 200)) {
        const [row] = yield* sql<{ readonly list: ReadonlyArray<string | null> }>`
          select ${textsOf(list, (item) => item)}::text[] as list`
        expect(row?.list).toEqual(list)
      }
    })
  )

  it.effect("decision §2 arrive as JSON with every character of its text", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const list = ['{"a" : 1.0,"b":"\\u00e9 é \\" \\\\"}', "null", ' [1e3, "{,}"] ']
      const [row] = yield* sql<{ readonly list: ReadonlyArray<string> }>`
        select ${textsOf(list, (item) => item, "json")}::json[]::text[] as list`
      expect(row?.list).toEqual(list)
    })
  )
})
