/** `posthorn.publish` in an application's transaction. Source: spec §3.4 (Publish). */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { connect, endpoint, workspace } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Schedule } from "effect"
import { sqlProblemOf } from "../../src/client/Statement.ts"
import { DeliveriesRepo } from "../../src/repositories/DeliveriesRepo.ts"

const seed = (slug: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { id: workspaceId } = yield* workspace(slug)
    const endpointId = yield* endpoint(workspaceId)
    const count = (table: string) =>
      Effect.map(
        sql<{ n: number }>`select count(*) as n from posthorn.${sql.literal(table)}
          where workspace_id = ${workspaceId}`,
        ([row]) => row!.n
      )
    const stored = Effect.all([count("events"), count("deliveries"), count("queue")])
    return { workspaceId, endpointId, stored }
  })

layer(TestPg, { excludeTestServices: true })("posthorn.publish", (it) => {
  it.scoped("§3.4 leaves out an endpoint that is deleted during the publish, and does not fail", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { endpointId, stored } = yield* seed("deleted")
      const [remove, publish] = [yield* connect, yield* connect]
      yield* remove("begin")
      yield* remove(`delete from posthorn.endpoints where id = '${endpointId}'`)

      const publishing = yield* Effect.fork(
        publish(`select * from posthorn.publish('deleted', 'invoice.paid', '{"id": 7}')`)
      )
      // The publish has found the endpoint, which other transactions still see, and waits for the deletion to end.
      yield* sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.pipe(
        Effect.filterOrFail((waiting) => waiting.length > 0),
        Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(500))))
      )
      yield* remove("commit")

      expect(yield* Fiber.join(publishing)).toMatchObject([{ delivery_ids: [], duplicate: false }])
      expect(yield* stored).toEqual([1, 0, 0])
    })
  )

  it.scoped("§3.4 stores event, delivery and queue row with the caller's commit, never with a rollback", () =>
    Effect.gen(function* () {
      const { stored } = yield* seed("tx")
      const query = yield* connect
      const publish = query(`select * from posthorn.publish('tx', 'invoice.paid', '{"id": 7}')`)

      yield* query("begin")
      yield* publish
      const during = yield* stored
      yield* query("rollback")
      const rolledBack = yield* stored
      yield* query("begin")
      const rows = yield* publish
      yield* query("commit")

      expect([during, rolledBack]).toEqual([
        [0, 0, 0],
        [0, 0, 0]
      ])
      expect(yield* stored).toEqual([1, 1, 1])
      expect(rows[0]).toMatchObject({ event_type: "invoice.paid", duplicate: false })
      expect(rows[0]!.delivery_ids).toHaveLength(1)
    })
  )

  it.effect("§3.4 refuses what REST refuses, each with a SQLSTATE of its own, and stores nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { stored } = yield* seed("refusals")
      const deep = `${"[".repeat(101)}${"]".repeat(101)}`
      yield* sql`select posthorn.publish('refusals', 'a.b', '1', 'used')`
      const refusals: ReadonlyArray<
        readonly [string, string | null, string | null, string | null, string, string?]
      > = [
        ["nobody", "a.b", "1", null, "PH404"],
        ["refusals", "a b", "1", null, "PH400", "/eventType"],
        ["refusals", null, "1", null, "PH400", "/eventType"],
        ["refusals", "webhook.test_event", "1", null, "PH400", "/eventType"],
        ["refusals", "a.b", null, null, "PH400", "/payload"],
        ["refusals", "a.b", deep, null, "PH400", "/payload"],
        ["refusals", "a.b", `"${"x".repeat(1_048_576)}"`, null, "PH400", "/payload"],
        ["refusals", "a.b", "1", "", "PH400", "/idempotencyKey"],
        ["refusals", "a.b", "2", "used", "PH409", "/idempotencyKey"]
      ]

      for (const [slug, type, payload, key, code, hint] of refusals) {
        const error = yield* Effect.flip(
          sql`select posthorn.publish(${slug}, ${type}, ${payload}::json, ${key})`
        )
        expect([sqlProblemOf(error).code, sqlProblemOf(error).hint]).toEqual([code, hint])
      }
      expect(yield* stored).toEqual([1, 1, 1])
    })
  )

  it.effect("§2.7 takes payloads that are 100 levels deep, brackets in strings not counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { stored } = yield* seed("depth")
      const payloads = [
        `${"[".repeat(100)}${"]".repeat(100)}`,
        `{"a":${'{"a":'.repeat(99)}1${"}".repeat(100)}`,
        `["${"[".repeat(500)}", "\\"${"{".repeat(500)}"]`,
        `[${Array(500).fill("[]").join(",")}]`
      ]

      for (const payload of payloads) {
        yield* sql`select posthorn.publish('depth', 'a.b', ${payload}::json)`
      }

      expect(yield* stored).toEqual([4, 4, 4])
    })
  )

  it.effect("§2.7 makes ids in SQL and in TypeScript alike, in order of creation", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const made: Array<string> = []

      for (let n = 0; n < 20; n++) {
        made.push(newId("delivery"))
        const [row] = yield* sql<{ id: string }>`select posthorn.new_id('whd_') as id`
        made.push(row!.id)
      }

      for (const id of made) expect(id).toMatch(/^whd_[0-9a-f]{29}$/)
      const inDatabase = yield* sql<{ id: string }>`
        select id from unnest(${made}::text[]) as id order by id collate "C"`
      expect(inDatabase.map(({ id }) => id)).toEqual([...made].sort())
      expect([...made].sort()).toEqual(made)
    })
  )

  it.effect("§8 events and deliveries are dated by their ids, however they were published", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { workspaceId, endpointId } = yield* seed("moments")
      const batch = sql`'moments', array_fill('a.b'::text, array[300]), array_fill('1'::json, array[300]),
        array_fill(null::text, array[300])`

      yield* sql`select posthorn.publish('moments', 'a.b', '1')`
      yield* endpoint(workspaceId, { enabled: false })
      yield* sql`select posthorn.publish('moments', 'a.b', '1', 'key')`
      yield* sql`select posthorn.publish_events(${batch})`
      yield* sql`select posthorn.announce(${workspaceId}, 'member.added', '1', '0af7651916cd43dd8448eb211c80319c', null, 'system sql x')`
      yield* sql`update posthorn.deliveries set status = 'failed_permanent'`
      yield* sql`select posthorn.replay(${workspaceId}, ${endpointId},
        (select array_agg(id) from posthorn.deliveries), (select array_agg(event_id) from posthorn.missed_events), 'rpl_1',
        'operator', 'operator', 'sql', 'x')`
      yield* Effect.flatMap(DeliveriesRepo, (deliveries) =>
        deliveries.insertTestSend(workspaceId, {
          endpointId,
          eventType: "webhook.test",
          payload: new JsonText("1"),
          actor: { type: "operator", id: "operator", via: "rest" },
          traceId: "x"
        })
      ).pipe(Effect.provide(DeliveriesRepo.Default))

      const odd = (table: string) =>
        sql`select 1 from posthorn.${sql.literal(table)} where created_at <> posthorn.made_at(id)`
      expect([yield* odd("events"), yield* odd("deliveries")]).toEqual([[], []])
      const missed = sql`select 1 from posthorn.missed_events where created_at <> posthorn.made_at(event_id)`
      expect(yield* missed).toEqual([])
      const [counted] = yield* sql`
        select count(*)::integer as found, count(distinct d.id)::integer as each,
          (select count(*)::integer from posthorn.deliveries where workspace_id = ${workspaceId} and event_id is not null) as all
        from posthorn.events e cross join lateral posthorn.deliveries_of_event(e.workspace_id, e.id) as d(id)
        where e.workspace_id = ${workspaceId}`
      expect(counted).toEqual({ found: 908, each: 908, all: 908 })
    })
  )

  it.scoped("§3.4 locks no endpoint and notifies no worker for events that are refused in a batch", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { workspaceId, endpointId } = yield* seed("untouched")
      yield* endpoint(workspaceId, { eventTypes: ["wanted"] })
      yield* sql`update posthorn.endpoints set event_types = '{unwanted}' where id = ${endpointId}`
      const caller = yield* connect

      yield* caller("begin")
      const rows =
        yield* caller(`select index, code from posthorn.publish_each(array_fill(posthorn.workspace_of('untouched'), array[2]),
        array['wanted', 'unwanted'], array['1', '1']::json[], array[null, null]::text[], array[null, 'no trace id'], null, array_fill('system sql x'::text, array[2]))`)
      const free =
        yield* sql`select id from posthorn.endpoints where workspace_id = ${workspaceId} for update skip locked`
      const awake = yield* sql`select 1 from pg_locks
        where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())`
      yield* caller("rollback")

      expect(rows).toEqual([
        { index: 1, code: null },
        { index: 2, code: "PH400" }
      ])
      expect(free).toEqual([{ id: endpointId }])
      expect(awake).toHaveLength(1)
    })
  )

  it.effect("§3.4 lets no other role call it unless the operator of the database grants it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const [row] = yield* sql<{ may: boolean }>`
        select bool_or(has_function_privilege('pg_monitor', p.oid, 'execute')) as may from pg_proc p
        where p.pronamespace = 'posthorn'::regnamespace and p.proname in ('publish', 'publish_events', 'publish_each', 'publish_all', 'announce', 'store')`

      expect(row!.may).toBe(false)
    })
  )
})
