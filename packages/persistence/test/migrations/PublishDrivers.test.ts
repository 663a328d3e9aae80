/** The lines of docs/publish.md for drivers, as they stand there, with each driver of npm but Prisma, which needs an engine. */
import { readFileSync } from "node:fs"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { workspace } from "@posthorn/testkit/Seeds"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { TestPg } from "@posthorn/testkit/TestPg"
import { sql as drizzleSql } from "drizzle-orm"
import { drizzle } from "drizzle-orm/postgres-js"
import { Effect, Redacted } from "effect"
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely"
import pg from "pg"
import postgres from "postgres"

const guide = readFileSync(new URL("../../../../docs/publish.md", import.meta.url), "utf8")
const script = /### From your driver.*?```js\n(.*?)```/s.exec(guide)![1]!
const lines = new Map(
  [...script.matchAll(/\/\/ ([\w.-]+).*\n(.+\n)/g)].map(([, name, line]) => [name!, line!])
)

/** Runs the line of a driver with the variables that the guide names. */
const run = (driver: string, variables: Readonly<Record<string, unknown>>): Promise<unknown> =>
  new Function(...Object.keys(variables), `return (async () => { ${lines.get(driver)} })()`)(
    ...Object.values(variables)
  )

const PAYLOADS = [{ id: 7, "ü\\\"'": [1, null] }, [1, 2], [{ a: 1 }], "text", '"quoted"', 7, true, null]

layer(TestPg, { excludeTestServices: true })("docs/publish.md", (it) => {
  it.scoped(
    "§3.4 publishes what was meant with each driver: objects, arrays, strings, numbers and null",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* workspace("acme")
        const url = Redacted.value(yield* TestDatabaseUrl)
        const pool = new pg.Pool({ connectionString: url, max: 1 })
        // Drizzle changes how its client writes JSON.
        const [postgresJs, drizzled] = [postgres(url, { max: 1 }), postgres(url, { max: 1 })]
        yield* Effect.addFinalizer(() =>
          Effect.promise(() => Promise.all([pool.end(), postgresJs.end(), drizzled.end()]))
        )
        const db = drizzle(drizzled)
        const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) })
        const drivers: Readonly<Record<string, (given: object) => Promise<unknown>>> = {
          "node-pg": (given) => run("node-pg", { client: pool, ...given }),
          "postgres.js": (given) =>
            postgresJs.begin((tx) => run("postgres.js", { sql: tx, ...given })) as Promise<unknown>,
          Drizzle: (given) => db.transaction((tx) => run("Drizzle", { sql: drizzleSql, tx, ...given })),
          Kysely: (given) =>
            kysely.transaction().execute((trx) => run("Kysely", { sql: kyselySql, trx, ...given }))
        }
        assert.sameMembers([...lines.keys()], [...Object.keys(drivers), "Prisma"])

        for (const [driver, publish] of Object.entries(drivers))
          for (const [n, payload] of PAYLOADS.entries()) {
            const key = `${driver}-${n}`
            yield* Effect.promise(() => publish({ payload, key }))
            const [event] = yield* sql<{ payload: string }>`
            select payload::text as payload from posthorn.events order by id desc limit 1`
            assert.strictEqual(event?.payload, JSON.stringify(payload), key)
          }
      }).pipe(Effect.orDie)
  )
})
