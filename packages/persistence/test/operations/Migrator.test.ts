import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { type Migration, migrationOf, migrations } from "@posthorn/persistence/operations/Migrations"
import {
  type MigrationFailed,
  migrate,
  migrateTo,
  standing,
  standingOf
} from "@posthorn/persistence/operations/Migrator"
import { dropDatabase, execute, randomName, withDatabase } from "@posthorn/testkit/TestCluster"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { freshDatabase, TestPg } from "@posthorn/testkit/TestPg"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"

const refusalOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error as unknown as MigrationFailed).message)

const pending = Effect.map(standing, ({ missing }) => missing)

const NEWEST = migrations.length
const name = (version: number) => String(version).padStart(4, "0")

/** A migration after the existing ones. */
const later = (steps: number, text: string): Migration =>
  migrationOf(`${name(NEWEST + steps)}_later.sql`, text)!

const beside = (version: number) => `-- Runs beside: ${name(version)}`

/** A migrated database for this test. */
const own = Layer.unwrapScoped(
  Effect.map(freshDatabase, (url) =>
    Layer.merge(
      Layer.orDie(Database.layer({ url, applicationName: "posthorn-test", maxConnections: 6 })),
      Layer.succeed(TestDatabaseUrl, url)
    )
  )
)

/** Runs in a transaction that is rolled back. */
const undone = <A, E>(effect: Effect.Effect<A, E, SqlClient>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* Effect.flip(sql.withTransaction(Effect.flatMap(effect, (value) => Effect.fail({ value }))))
  })

/** Runs a statement in a transaction that stays open until it is told to end. */
const open = <A, E>(statement: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const begun = yield* Deferred.make<void>()
    const over = yield* Deferred.make<void>()
    const fiber = yield* statement.pipe(
      Effect.zipRight(Deferred.succeed(begun, undefined)),
      Effect.zipRight(Deferred.await(over)),
      sql.withTransaction,
      Effect.fork
    )
    yield* Deferred.await(begun)
    return Effect.zipRight(Deferred.succeed(over, undefined), Fiber.join(fiber))
  })

layer(TestPg, { excludeTestServices: true })("the migrator", (it) => {
  it.scoped.each(["LATIN1", "SQL_ASCII"])(
    "refuses a database in %s, names both, and leaves nothing there",
    (encoding) =>
      Effect.gen(function* () {
        const server = Redacted.value(yield* TestDatabaseUrl)
        const other = randomName("t")
        yield* Effect.acquireRelease(
          execute(server, `create database ${other} encoding '${encoding}' locale 'C' template template0`),
          () => dropDatabase(server, other)
        )
        const url = Redacted.make(withDatabase(server, other))
        yield* Effect.gen(function* () {
          const refusal = yield* refusalOf(migrate)
          expect(refusal).toContain(encoding)
          expect(refusal).toContain("UTF8")
          const sql = yield* SqlClient
          expect(yield* sql`select to_regnamespace('posthorn') as schema`).toEqual([{ schema: null }])
        }).pipe(
          Effect.provide(
            Layer.orDie(Database.layer({ url, applicationName: "posthorn-test", maxConnections: 2 }))
          )
        )
      })
  )

  it.effect("§10 finds nothing to do in a current database", () =>
    Effect.gen(function* () {
      expect(yield* pending).toEqual([])
      expect(yield* migrate).toEqual([])
    })
  )

  it.effect("§10 with nothing to do does not wait for a session that reads everything: a dump", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const endDump = yield* open(sql`lock table posthorn.migrations in access share mode`)
      const applied = yield* Effect.timeout(migrate, "5 seconds")

      expect(applied).toEqual([])
      yield* endDump
    })
  )

  it.effect("§10 refuses a newer database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const said = yield* undone(
        Effect.zipRight(
          sql`insert into posthorn.migrations (version, name, fingerprint) values (${NEWEST + 1}, 'later', 'abc')`,
          refusalOf(pending)
        )
      )
      expect(said).toEqual({
        value: `The database is at migration ${NEWEST + 1}, this program knows ${NEWEST}: run a newer Posthorn.`
      })
    })
  )

  it.effect("§10 refuses a database whose migrations had other texts, or lack one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      for (const change of [
        sql`update posthorn.migrations set fingerprint = 'abc' where version = 2`,
        sql`alter table posthorn.migrations drop column fingerprint`,
        sql`update posthorn.migrations set version = ${NEWEST + 1}, runs_beside = 1 where version = ${NEWEST}`
      ]) {
        const said = yield* undone(Effect.zipRight(change, refusalOf(pending)))
        expect(JSON.stringify(said)).toMatch(/another build.*remove the data directory/)
      }
    })
  )

  it.effect("§9 an older program runs beside the migrations that say so, and beside no others", () =>
    Effect.gen(function* () {
      const additive = later(1, `${beside(NEWEST)}\ncreate table posthorn.later (id text);\n`)
      const removal = later(2, `${beside(NEWEST + 1)}\ndrop table posthorn.later;\n`)
      const silent = later(3, "create table posthorn.later (id text);\n")

      expect(yield* migrateTo([...migrations, additive])).toEqual([additive])
      expect(yield* standingOf(migrations)).toEqual({ missing: [], ahead: 1 })
      expect(yield* migrate).toEqual([])
      expect(yield* refusalOf(standingOf(migrations.slice(0, -1)))).toContain("run a newer Posthorn")

      yield* migrateTo([...migrations, additive, removal])
      expect(yield* refusalOf(pending)).toContain("run a newer Posthorn")
      expect(yield* refusalOf(migrate)).toContain("run a newer Posthorn")
      expect(yield* standingOf([...migrations, additive])).toEqual({ missing: [], ahead: 1 })

      yield* migrateTo([...migrations, additive, removal, silent])
      expect(yield* refusalOf(standingOf([...migrations, additive, removal]))).toContain(
        "run a newer Posthorn"
      )
    }).pipe(Effect.provide(own))
  )

  it.effect("§9 an index is made outside a transaction, once, even if two processes migrate at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const index = later(
        1,
        `${beside(NEWEST)}\n-- Outside a transaction\n\n-- Anew, if it was interrupted; a comment may end so;\n` +
          "drop index concurrently if exists posthorn.later_index;\n" +
          "create index concurrently later_index on posthorn.events (workspace_id, event_type);\n"
      )
      const program = [...migrations, index]
      const applied = yield* Effect.all(
        Array.from({ length: 4 }, () => migrateTo(program)),
        { concurrency: "unbounded" }
      )
      const [made] = yield* sql`select indisvalid as valid from pg_index
        where indexrelid = 'posthorn.later_index'::regclass`

      expect(index.steps.length).toBe(2)
      expect(applied.flat()).toEqual([index])
      expect(made).toEqual({ valid: true })
    }).pipe(Effect.provide(own), Effect.timeout("120 seconds"))
  )

  it.effect("§9 waiting for a lock lets others through, and goes on when the lock is free", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const column = later(1, `${beside(NEWEST)}\nalter table posthorn.events add column later text;\n`)
      const program = [...migrations, column]
      const release = yield* open(sql`select 1 from posthorn.events limit 1`)
      const refused = yield* refusalOf(migrateTo(program, { seconds: 0 }))
      const migrating = yield* Effect.fork(migrateTo(program))
      yield* sql`select 1 from pg_locks where relation = 'posthorn.events'::regclass and not granted`.pipe(
        Effect.repeat({ until: (rows) => rows.length > 0 })
      )
      // Queues behind the migration, which gives up before the holder releases the lock.
      yield* sql`select 1 from posthorn.events limit 1`.pipe(Effect.timeout("120 seconds"))
      yield* release

      expect(refused).toMatch(/later.*lock timeout.*tried for 0 s; wait for, or end, the transaction/)
      expect(yield* Fiber.join(migrating)).toEqual([column])
    }).pipe(Effect.provide(own), Effect.timeout("120 seconds"))
  )
})
