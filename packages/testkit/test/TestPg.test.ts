import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { inject } from "vitest"
import { execute } from "../src/TestCluster.ts"
import { freshDatabase, TestDatabaseUrl, TestPg } from "../src/TestPg.ts"

const currentDatabase = Effect.flatMap(
  SqlClient,
  (sql) => sql<{ name: string }>`select current_database() as name`
).pipe(Effect.map((rows) => rows[0]?.name))

layer(TestPg, { excludeTestServices: true })("the database of a test file", (it) => {
  it.effect("is a migrated one, and not the server's own", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const [row] = yield* sql<{
        table: string | null
      }>`select to_regclass('posthorn.migrations')::text as "table"`

      expect(yield* currentDatabase).toMatch(/^t_[0-9a-f]{12}$/)
      expect(row?.table).toBe("posthorn.migrations")
    })
  )

  it.effect("is the one that TestDatabaseUrl names", () =>
    Effect.gen(function* () {
      const url = yield* TestDatabaseUrl

      expect(new URL(Redacted.value(url)).pathname).toBe(`/${yield* currentDatabase}`)
    })
  )

  it.effect("leaves names inside JSON as they are", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const payload = { camelCase: 1, snake_case: { deepCamel: 2 } }

      const [row] = yield* sql<{ payload: unknown }>`select ${JSON.stringify(payload)}::jsonb as payload`

      expect(row?.payload).toEqual(payload)
    })
  )
})

describe("freshDatabase", () => {
  it.effect("gives another database each time, gone when its scope closes, open connections or not", () =>
    Effect.gen(function* () {
      const [first, second] = yield* Effect.scoped(
        Effect.gen(function* () {
          const urls = [Redacted.value(yield* freshDatabase), Redacted.value(yield* freshDatabase)] as const
          yield* execute(urls[0], "select 1")
          return urls
        })
      )

      const reached = yield* Effect.exit(execute(first, "select 1"))

      expect(first).not.toBe(second)
      expect(reached._tag).toBe("Failure")
      yield* execute(inject("cluster").url, "select 1")
    })
  )
})
