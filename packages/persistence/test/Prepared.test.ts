/** A statement that takes longer than it may is ended within the database too, whatever its clock does meanwhile. */
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Either, Layer, Schema } from "effect"
import * as Prepared from "../src/Prepared.ts"

const SLEEP = {
  ...Prepared.statement("pg_sleep($1)", [["pg_sleep", Schema.String]]),
  text: "select pg_sleep::text from pg_sleep($1)"
}

layer(Prepared.layer.pipe(Layer.provideMerge(TestPg)))("a prepared statement", (it) => {
  it.effect("decision §7 is cancelled past its time, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { run } = yield* Prepared.Prepared
      const asleep = sql`select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`

      const ended = yield* Effect.either(run(SLEEP, [3_600], 100))
      const after = yield* run(SLEEP, [0], 60_000)

      assert.deepInclude(
        Either.getLeft(ended).pipe((left) => (left._tag === "Some" ? left.value.cause : {})),
        {
          code: "57014"
        }
      )
      assert.deepEqual(after, [[""]])
      assert.deepEqual(yield* asleep, [])
    })
  )
})
