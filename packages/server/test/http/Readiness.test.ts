/** Ready means that this process can write: what it reports while the database answers but refuses writes. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { rows } from "@posthorn/testkit/Sql"
import { execute } from "@posthorn/testkit/TestCluster"
import { until } from "@posthorn/testkit/Until"
import { Effect, Logger, LogLevel } from "effect"
import { inject } from "vitest"
import { makeEndpoint } from "../Fixtures.ts"
import { TestServer, testServer } from "../TestServer.ts"

/** Waits until the last result, kept for a second, has expired. */
const soon = <A, R>(asking: Effect.Effect<A, never, R>, right: (answer: A) => boolean) =>
  Effect.orDie(until(asking, right, "10 seconds"))

const silent = Logger.minimumLogLevel(LogLevel.None)

layer(testServer(), { excludeTestServices: true })("a process that is ready", (it) => {
  const ready = Effect.flatMap(TestServer, ({ call }) => call("GET", "/health/ready"))
  const isReady = ({ status }: { readonly status: number }) => status === 200
  const database = Effect.map(rows<{ name: string }>`select current_database() as name`, ([row]) => row!.name)
  /** Existing connections keep the old setting. */
  const set = (name: string, statement: string) =>
    execute(
      inject("cluster").url,
      `alter database ${name} ${statement}`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
    )

  it.effect("§10 can write: not while every transaction is read-only, and again afterwards", () =>
    Effect.gen(function* () {
      const before = yield* ready
      const name = yield* database
      yield* set(name, "set default_transaction_read_only = on")
      const during = yield* soon(ready, ({ status }) => status === 503)
      yield* set(name, "reset default_transaction_read_only")
      const after = yield* soon(ready, isReady)

      expect([before.status, during.status, after.status]).toEqual([200, 503, 200])
      expect(before.body).toMatchObject({ status: "ok", databaseRoundTripMs: expect.any(Number) })
      expect(during.body).toEqual({ status: "unavailable", reason: "read_only" })
    }).pipe(Effect.provide(silent))
  )

  it.effect("§10 has written since it was last refused because of a full disk", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* (yield* TestServer).enter
      yield* makeEndpoint(ws)
      yield* sql`create function public.full_disk() returns trigger language plpgsql as $$
        begin raise exception 'could not extend file' using errcode = '53100'; end $$`
      yield* sql`create trigger full_disk before insert on posthorn.events execute function public.full_disk()`

      const refused = yield* ws.call("POST", "/events", { body: { eventType: "a.b", payload: 1 } })
      const during = yield* ready
      yield* sql`drop trigger full_disk on posthorn.events`
      const after = yield* soon(ready, isReady)

      expect([refused.status, during.status, after.status]).toEqual([503, 503, 200])
      expect(during.body).toEqual({ status: "unavailable", reason: "disk_full" })
    }).pipe(Effect.provide(silent))
  )

  it.effect("§10 checks the database once a second, however often it is asked", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const transactions = Effect.map(
        sql<{ n: number }>`select xact_commit + xact_rollback as n, pg_stat_clear_snapshot()
          from pg_stat_database where datname = current_database()`,
        ([row]) => row!.n
      )
      // biome-ignore lint/plugin: statistics are late by a second
      const settled = transactions.pipe(Effect.delay("1500 millis"))
      const before = yield* settled
      const began = performance.now()
      for (let n = 0; n < 200; n++) yield* ready
      const seconds = (performance.now() - began) / 1000
      const after = yield* settled

      // Without those of counting, and of PostgreSQL itself.
      expect(after - before).toBeLessThan(Math.ceil(seconds) + 20)
    })
  )
})
