/** What a connection prepares, counted in the messages that the driver sends. Source: docs/adr/0014-cost-of-a-delivery.md. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it, layer } from "@effect/vitest"
import * as Pooler from "@posthorn/testkit/Pooler"
import { freshDatabase, TestPg } from "@posthorn/testkit/TestPg"
import { until } from "@posthorn/testkit/Until"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { vi } from "vitest"
import * as Database from "../../src/client/Database.ts"

/** The number of statements that are parsed meanwhile. */
const parsedBy = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const parse = vi.spyOn(pg.Connection.prototype, "parse")
    return Effect.map(work, () => parse.mock.calls.length).pipe(
      Effect.ensuring(Effect.sync(() => parse.mockRestore()))
    )
  })

const TEXTS = 150
const sum = (sql: SqlClient, n: number) =>
  sql.unsafe<{ sum: number }>(`select $1::integer + ${n} as sum`, [1])

describe.skipIf(!Pooler.isThere())("behind a pooler", () => {
  for (const [mode, isNamed] of [
    ["transaction", false],
    ["session", true]
  ] as const)
    it.scopedLive(`§8 of ${mode}s statements are ${isNamed ? "named" : "not named"}`, () =>
      Effect.gen(function* () {
        const url = yield* Pooler.pooled(Redacted.value(yield* freshDatabase), mode)
        const options = { url: Redacted.make(url), applicationName: "posthorn-test", maxConnections: 5 }
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          const often = Effect.replicateEffect(sum(sql, -1), 100, { concurrency: 10 })
          const parsed = parsedBy(often)
          if (isNamed) yield* until(parsed, (n) => n < 20)
          else expect(yield* parsed).toBeGreaterThanOrEqual(100)
          expect(new Set((yield* often).map(([row]) => row!.sum))).toEqual(new Set([0]))
        }).pipe(Effect.provide(Database.layer(options)))
      })
    )
})

layer(TestPg)("statements that are sent often", (it) => {
  it.effect("§8 are parsed once by a connection, which keeps a hundred of them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const work = Effect.forEach(
        Array.from({ length: TEXTS }, (_, n) => n),
        (n) => Effect.replicateEffect(sum(sql, n), 10),
        { discard: true }
      )
      const [first, again, kept] = yield* Effect.all([
        parsedBy(work),
        parsedBy(work),
        sql`select count(*)::integer as n from pg_prepared_statements`
      ]).pipe(sql.withTransaction)

      const named = kept[0]!.n as number

      expect(named).toBeGreaterThan(90)
      expect(named).toBeLessThanOrEqual(100)
      expect([first, again]).toEqual([named * 5 + (TEXTS - named) * 10, (TEXTS - named) * 10])
    })
  )
})
