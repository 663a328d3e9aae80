/** A database whose transactions are isolated more than Posthorn wants: by its default, they see nothing that came later. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Layer, Redacted, Schedule, Schema } from "effect"
import pg from "pg"
import * as Database from "../src/Database.ts"
import * as DedicatedConnection from "../src/DedicatedConnection.ts"
import * as Prepared from "../src/Prepared.ts"

const ISOLATION = "select current_setting('transaction_isolation') as level"

const connected = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Whoever connects from now on sees, all through a transaction, what was there at its beginning. */
const isolated = Effect.gen(function* () {
  const url = yield* freshDatabase
  const administrator = yield* connected(Redacted.value(url))
  const name = new URL(Redacted.value(url)).pathname.slice(1)
  yield* Effect.promise(() =>
    administrator.query(`alter database "${name}" set default_transaction_isolation = 'repeatable read'`)
  )
  const database = Database.layer({ url, applicationName: "posthorn-test", maxConnections: 3 })
  return {
    url: Redacted.value(url),
    layer: Layer.merge(DedicatedConnection.layer, Prepared.layer).pipe(Layer.provideMerge(database))
  }
})

it.scopedLive(
  "decision §7 a transaction sees what was committed meanwhile, whatever the database's default is",
  () =>
    Effect.gen(function* () {
      const { layer, url } = yield* isolated
      const other = yield* connected(url)
      const byDefault = yield* Effect.promise(() => other.query<{ level: string }>(ISOLATION))
      expect(byDefault.rows).toEqual([{ level: "repeatable read" }])

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
          yield* Effect.flatMap(Prepared.Prepared, ({ run }) =>
            run({ name: "isolation", text: ISOLATION, row: Schema.Tuple(Schema.String) }, [])
          )
        ).toEqual([["read committed"]])
      }).pipe(Effect.provide(layer))
    })
)

it.scopedLive(
  "decision §7 nothing is left of a deleted endpoint that somebody was publishing to, whatever the default is",
  () =>
    Effect.gen(function* () {
      const { layer, url } = yield* isolated
      const publisher = yield* connected(url)
      const run = (statement: string) => Effect.promise(() => publisher.query(statement))

      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')`
        yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
          values ('wsp_1', 'whe_1', 'https://e.example.com/', '{a.b}', true, 's')`
        yield* run("begin isolation level read committed")
        yield* run("select posthorn.publish('acme', 'a.b', '{}')")
        const deleting = yield* Effect.fork(sql`delete from posthorn.endpoints where id = 'whe_1'`)
        const waits = sql<{
          n: number
        }>`select count(*)::integer as n from pg_locks join pg_stat_activity using (pid)
          where not granted and datname = current_database()`
        yield* Effect.repeat(waits, { until: ([row]) => row!.n > 0, schedule: Schedule.spaced("20 millis") })

        yield* run("commit")
        yield* Fiber.join(deleting)

        expect(yield* sql`select id from posthorn.deliveries`).toEqual([])
      }).pipe(Effect.provide(layer))
    })
)
