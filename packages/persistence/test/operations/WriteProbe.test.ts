/** Whether the database accepts writes after its disk was full, for a role that may not make temporary tables. */
import { SqlClient } from "@effect/sql/SqlClient"
import { PgClient } from "@effect/sql-pg/PgClient"
import { expect, layer } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { noteRefusal } from "@posthorn/persistence/client/WriteRefusals"
import { writeProbe } from "@posthorn/persistence/operations/WriteProbe"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"

layer(TestPg, { excludeTestServices: true })("a database that was full", (it) => {
  it.scoped("§10 counts as writable again, also for a role without the right to make temporary tables", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { config } = yield* PgClient
      const [row] = yield* sql<{ name: string }>`select current_database() as name`
      const name = sql.literal(row!.name)
      const role = `${row!.name}_run`
      yield* sql`revoke temporary on database ${name} from public`
      yield* sql`create role ${sql.literal(role)} login password 'run'`
      yield* sql`grant usage on schema posthorn to ${sql.literal(role)}`
      yield* sql`grant select on posthorn.migrations to ${sql.literal(role)}`
      yield* Effect.addFinalizer(() =>
        Effect.orDie(
          Effect.zipRight(sql`drop owned by ${sql.literal(role)}`, sql`drop role ${sql.literal(role)}`)
        )
      )
      const url = new URL(Redacted.value(config.url!))
      url.username = role
      url.password = "run"
      const asked = yield* Effect.gen(function* () {
        const before = yield* yield* writeProbe
        noteRefusal(url.href, "53100")
        return [before, yield* yield* writeProbe]
      }).pipe(
        Effect.provide(DatabaseClock.Default),
        Effect.provide(
          Database.layer({
            url: Redacted.make(url.href),
            applicationName: "posthorn test",
            maxConnections: 1
          })
        )
      )

      expect(asked).toEqual([null, null])
    })
  )
})
