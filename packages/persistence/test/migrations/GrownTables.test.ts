/** Statements keep their plans for as long as their connection lives, also those made while the tables were nearly empty. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Duration, Effect } from "effect"

/** 20 segments each: as many patterns may match. */
const TYPES = Array.from({ length: 20 }, (_, n) => `t${n}.${"x.".repeat(20)}y`)

layer(TestPg, { excludeTestServices: true })("plans of grown tables", (it) => {
  it.effect("§5.2 a publish costs little after its workspace's subscriptions have grown", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const endpoints = (count: number, patterns: number) => sql`
        insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
        select 'wsp_a', 'whe_' || ${patterns}::int || lpad(e::text, 20, '0'), 'https://example.com',
          array(select 'p' || p || '.' || e from generate_series(1, ${patterns}::int) p), true, ''
        from generate_series(1, ${count}::int) e`
      const publish = Effect.zip(
        sql`select posthorn.try_publish_all('wsp_a', ${TYPES}::text[], array_fill('{}'::text, array[20])::json[],
          array_fill(null::text, array[20]), null, 1000, 'system')`,
        sql`select posthorn.publish_one('wsp_a', ${TYPES[0]!}, '{}', null, 1000, 'system')`
      )
      yield* sql`insert into posthorn.workspaces (id, slug, name) values ('wsp_a', 'a', 'A')`
      yield* endpoints(1, 1)
      yield* sql`vacuum posthorn.subscriptions`
      const took = yield* Effect.gen(function* () {
        // Past the fifth call a statement may keep a plan for all values.
        yield* Effect.repeatN(publish, 6)
        yield* endpoints(200, 100)
        const [took] = yield* Effect.timed(publish)
        return took
      }).pipe(sql.withTransaction)
      expect(Duration.toMillis(took)).toBeLessThan(500)
    })
  )
})
