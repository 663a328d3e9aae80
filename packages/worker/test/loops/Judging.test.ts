/** Events from SQL are judged after their commit, each once, whatever the order of commits and however many workers judge. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Catalogue } from "@posthorn/catalogue/Catalogue"
import * as UnjudgedEvents from "@posthorn/persistence/engine/UnjudgedEvents"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { until } from "@posthorn/testkit/Until"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import * as Judging from "../../src/loops/Judging.ts"
import { Setting, workspace } from "../Setting.ts"

const judging = Judging.layer.pipe(Layer.provide([Catalogue.Default, UnjudgedEvents.layer]))

const describe = (eventType: string, schema: string, validation = "report") =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`with next as (update posthorn.catalogue set version = version + 1 returning version)
      insert into posthorn.event_types (event_type, schema, validation, version, updated_at)
      select ${eventType}, ${schema}, ${validation}, version, clock_timestamp() from next
      on conflict (event_type) do update set schema = excluded.schema, version = excluded.version, updated_at = excluded.updated_at`
  )

const counted = (workspaceId: string, eventType: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql<{ n: number }>`select count::integer as n from posthorn.deviations_of(${eventType}, ${workspaceId})`
  ).pipe(Effect.map(([row]) => row!.n))

const publish = (slug: string, eventType: string, payload: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`select posthorn.publish(${slug}, ${eventType}, ${payload}::text::json)`
  )

const connect = Effect.gen(function* () {
  const url = yield* TestDatabaseUrl
  return yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: Redacted.value(url) })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
})

layer(Setting, { excludeTestServices: true })("judging", (it) => {
  it.scoped(
    "§6.2 counts what came from SQL once, under refuse too, and not what was there before the schema",
    () =>
      Effect.gen(function* () {
        const [one, other] = [yield* workspace, yield* workspace]
        yield* publish(one.slug, "sql.a", "1")
        yield* describe("sql.a", '{"type":"object"}')
        yield* describe("sql.b", '{"type":"object"}', "refuse")
        const sql = yield* SqlClient
        yield* sql`select count(posthorn.publish(${one.slug}, case n % 3 when 0 then 'sql.a' when 1 then 'sql.b' else 'sql.c' end, '1'))
        from generate_series(1, 3000) as n`
        yield* publish(one.slug, "sql.a", "{}")
        yield* publish(other.slug, "sql.a", "[]")
        const all = Effect.all([
          counted(one.id, "sql.a"),
          counted(one.id, "sql.b"),
          counted(other.id, "sql.a"),
          counted(one.id, "sql.c")
        ])

        const [first, second] = [
          yield* Effect.provide(Judging.Judging, judging),
          yield* Effect.provide(Judging.Judging, Layer.fresh(judging))
        ]
        const rounds = Effect.zip(first.round, second.round, { concurrent: true })
        yield* until(Effect.zipRight(rounds, all), ([a, b, c]) => a === 1_000 && b === 1_000 && c === 1)
        yield* Effect.repeatN(rounds, 3)

        expect(yield* all).toEqual([1_000, 1_000, 1, 0])
      })
  )

  it.scoped("§6.2 does not pass an event whose transaction commits late", () =>
    Effect.gen(function* () {
      const { id: acme, slug } = yield* workspace
      yield* describe("late", '{"type":"string"}')
      const { round } = yield* Effect.provide(Judging.Judging, judging)
      const client = yield* connect
      yield* Effect.promise(() => client.query("begin"))
      yield* Effect.promise(() => client.query("select posthorn.publish($1, 'late', '1')", [slug]))
      yield* publish(slug, "late", "2")
      const judged = Effect.zipRight(round, counted(acme, "late"))
      yield* Effect.repeatN(judged, 5)
      expect(yield* judged).toBe(0)

      yield* Effect.promise(() => client.query("commit"))

      yield* until(judged, (count) => count === 2)
    })
  )
})
