import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { type MigrationFailed, migrate, migrations, pending } from "@posthorn/persistence/Migrator"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"

const refusalOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error as unknown as MigrationFailed).message)

/** Runs in a transaction that is undone. */
const undone = <A, E>(effect: Effect.Effect<A, E, SqlClient>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* Effect.flip(sql.withTransaction(Effect.flatMap(effect, (value) => Effect.fail({ value }))))
  })

layer(TestPg, { excludeTestServices: true })("the migrator", (it) => {
  it.effect("decision §1 finds nothing to do in a current database", () =>
    Effect.gen(function* () {
      expect(yield* pending).toEqual([])
      expect(yield* migrate).toEqual([])
    })
  )

  it.effect("decision §1 refuses a database that is newer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const said = yield* undone(
        Effect.zipRight(
          sql`insert into posthorn.migrations (version, name, fingerprint) values (9999, 'later', 'abc')`,
          refusalOf(pending)
        )
      )
      expect(said).toEqual({
        value: `The database is at migration 9999, this program knows ${migrations.length}: run a newer Posthorn.`
      })
    })
  )

  it.effect("decision §1 refuses a database whose migrations had other texts", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      for (const change of [
        sql`update posthorn.migrations set fingerprint = 'abc' where version = 2`,
        sql`alter table posthorn.migrations drop column fingerprint`
      ]) {
        const said = yield* undone(Effect.zipRight(change, refusalOf(pending)))
        expect(JSON.stringify(said)).toMatch(/another build.*remove its data directory/)
      }
    })
  )
})
