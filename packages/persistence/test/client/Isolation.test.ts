/**
 * A database with a stricter default isolation than Posthorn needs: its transactions see nothing that is committed later.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { connectTo, endpoint, workspace } from "@posthorn/testkit/Seeds"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Layer, Redacted, Schedule, Schema } from "effect"
import * as Database from "../../src/client/Database.ts"
import * as DedicatedConnection from "../../src/client/DedicatedConnection.ts"
import * as PreparedStatements from "../../src/client/PreparedStatements.ts"

const ISOLATION = "select current_setting('transaction_isolation') as level"

/** New sessions run transactions with this isolation level. */
const isolated = Effect.gen(function* () {
  const url = yield* freshDatabase
  const administer = yield* connectTo(Redacted.value(url))
  const name = new URL(Redacted.value(url)).pathname.slice(1)
  yield* administer(`alter database "${name}" set default_transaction_isolation = 'repeatable read'`)
  const database = Database.layer({ url, applicationName: "posthorn-test", maxConnections: 3 })
  return {
    url: Redacted.value(url),
    layer: Layer.merge(DedicatedConnection.layer, PreparedStatements.layer).pipe(Layer.provideMerge(database))
  }
})

it.scopedLive(
  "§3.4 a transaction sees what was committed meanwhile, whatever the database's default is",
  () =>
    Effect.gen(function* () {
      const { layer, url } = yield* isolated
      const ask = yield* connectTo(url)
      expect(yield* ask(ISOLATION)).toEqual([{ level: "repeatable read" }])

      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const connection = yield* Effect.flatMap(DedicatedConnection.DedicatedConnections, ({ open }) =>
          open("test")
        )
        const committed = [{ level: "read committed" }]
        expect(yield* sql.unsafe(ISOLATION)).toEqual(committed)
        expect(yield* sql.withTransaction(sql.unsafe(ISOLATION))).toEqual(committed)
        expect(yield* connection.query(ISOLATION)).toEqual(committed)
        expect(
          yield* Effect.flatMap(PreparedStatements.PreparedStatements, ({ run }) =>
            run({ name: "isolation", text: ISOLATION, row: Schema.Tuple(Schema.String) }, [])
          )
        ).toEqual([["read committed"]])
      }).pipe(Effect.provide(layer))
    })
)

it.scopedLive(
  "§3.4 a deleted endpoint leaves nothing behind while somebody publishes to it, whatever the default is",
  () =>
    Effect.gen(function* () {
      const { layer, url } = yield* isolated
      const run = yield* connectTo(url)

      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const endpointId = yield* endpoint((yield* workspace("acme")).id)
        yield* run("begin isolation level read committed")
        yield* run("select posthorn.publish('acme', 'a.b', '{}')")
        const deleting = yield* Effect.fork(sql`delete from posthorn.endpoints where id = ${endpointId}`)
        const waits = sql`select from pg_locks join pg_stat_activity using (pid)
          where not granted and datname = current_database()`
        yield* Effect.repeat(waits, {
          until: (rows) => rows.length > 0,
          schedule: Schedule.spaced("20 millis")
        })

        yield* run("commit")
        yield* Fiber.join(deleting)

        expect(yield* sql`select id from posthorn.deliveries`).toEqual([])
      }).pipe(Effect.provide(layer))
    })
)
