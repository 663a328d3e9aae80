/** Every test compares the rows that PostgreSQL returns with the schema that their statement declares. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, expect, it, layer } from "@effect/vitest"
import { takeMisfits } from "@posthorn/testkit/CheckedRows"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Exit, Layer, Schema } from "effect"
import * as DedicatedConnection from "../../src/client/DedicatedConnection.ts"
import { Id, Time } from "../../src/client/internal/Columns.ts"
import * as PreparedStatements from "../../src/client/PreparedStatements.ts"
import { rows } from "../../src/client/Rows.ts"
import * as Retention from "../../src/operations/Retention.ts"

const Row = Schema.Struct({ id: Id("workspace"), slug: Schema.String, createdAt: Time })

const WRONG: ReadonlyArray<readonly [why: string, columns: string, issue: RegExp]> = [
  ["a column is missing", `id, slug`, /row 0, createdAt: is missing/],
  ["a column is too many", `id, slug, created_at as "createdAt", name`, /row 0, name: is unexpected/],
  ["a column has another name", `id, slug, created_at`, /row 0, createdAt: is missing/],
  ["a column has another type", `id, 1 as slug, created_at as "createdAt"`, /row 0, slug: Expected string/],
  ["a time comes as another text", `id, slug, created_at::text as "createdAt"`, /row 0, createdAt: Expected/],
  ["an id is another noun's", `'whe_1' as id, slug, created_at as "createdAt"`, /row 0, id: Expected/],
  ["a null was not declared", `id, null as slug, created_at as "createdAt"`, /row 0, slug: Expected string/]
]

/** The result of the statement, and the error with which the test would have failed. */
const told = <A, E, R>(statement: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(statement), (exit) => ({ died: Exit.isFailure(exit), misfits: takeMisfits() }))

const live = Layer.merge(DedicatedConnection.layer, PreparedStatements.layer).pipe(Layer.provideMerge(TestPg))

layer(live, { excludeTestServices: true })("rows in a test", (it) => {
  it.effect("§3.4 fit the declaration of their statement, or the statement fails and is named", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')`

      const [found] = yield* rows(
        sql,
        Row
      )`select id, slug, created_at as "createdAt" from posthorn.workspaces`
      assert.strictEqual(found?.slug, "acme")

      for (const [why, columns, issue] of WRONG) {
        const { died, misfits } = yield* told(
          rows(sql, Row)`select ${sql.literal(columns)} from posthorn.workspaces`
        )
        assert.isTrue(died, why)
        assert.lengthOf(misfits, 1, why)
        assert.match(misfits[0]!, issue, why)
        assert.include(misfits[0]!, "from posthorn.workspaces", why)
      }
    })
  )

  it.scoped("§3.4 are checked on dedicated connections and in the engine's statements too", () =>
    Effect.gen(function* () {
      const { open } = yield* DedicatedConnection.DedicatedConnections
      const { run } = yield* PreparedStatements.PreparedStatements
      const own = yield* open("rows")
      const Shard = Schema.Struct({ shard: Schema.Int })
      const wrong = PreparedStatements.statement("posthorn.shard_of($1)", [["shard_of", Schema.String]])

      expect(yield* own.query("select 1 as shard", [], Shard)).toEqual([{ shard: 1 }])
      const dedicated = yield* told(own.query("select 1 as shards", [], Shard))
      const prepared = yield* told(run(wrong, ["whe_1"]))

      assert.match(dedicated.misfits[0]!, /select 1 as shards(?:.|\n)*shard: is missing/)
      assert.match(prepared.misfits[0]!, /select shard_of from posthorn.shard_of(?:.|\n)*Expected string/)
      assert.isTrue(dedicated.died && prepared.died)
    })
  )

  it.effect("§4.3 fit their declaration when secrets in kept answers are erased", () =>
    Effect.gen(function* () {
      const { erase } = yield* Retention.Retention
      expect(yield* erase).toBe(0)
    }).pipe(Effect.provide(Retention.layer))
  )
})

const packages = fileURLToPath(new URL("../../../", import.meta.url))

/** Rows whose type is asserted at the statement, without a schema. */
const ASSERTED = /\bsql(?:\.unsafe)?<|\.query<|\brun<|as ReadonlyArray<\w*Row>/

describe("a statement", () => {
  it("§3.4 declares its rows by a schema, never by a type alone", () => {
    // Only sources: the links of `node_modules` lead in circles.
    const asserted = readdirSync(packages)
      .filter((name) => !["testkit", "embedded-postgres"].includes(name))
      .flatMap((name) =>
        readdirSync(`${packages}${name}/src`, { recursive: true, encoding: "utf8" }).map(
          (path) => `${name}/src/${path}`
        )
      )
      .filter((path) => path.endsWith(".ts"))
      .filter((path) => path !== "persistence/src/client/Rows.ts")
      .filter((path) => ASSERTED.test(readFileSync(`${packages}${path}`, "utf8")))

    expect(asserted).toEqual([])
  })
})
