/** `posthorn.publish` in somebody's own transaction. Source: decision §7 (Publish). */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { TestDatabaseUrl, TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import pg from "pg"
import { DeliveriesRepo } from "../src/DeliveriesRepo.ts"
import { problemOf } from "../src/Statement.ts"

const seed = (slug: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const workspaceId = newId("workspace")
    const endpointId = newId("endpoint")
    yield* sql`insert into posthorn.workspaces (id, slug, name) values (${workspaceId}, ${slug}, ${slug})`
    yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
      values (${workspaceId}, ${endpointId}, 'https://example.com/', '{*}', true, '\\x00')`
    const count = (table: string) =>
      Effect.map(
        sql<{
          n: number
        }>`select count(*) as n from posthorn.${sql.literal(table)} where workspace_id = ${workspaceId}`,
        ([row]) => row!.n
      )
    const stored = Effect.all([count("events"), count("deliveries"), count("queue")])
    return { workspaceId, endpointId, stored }
  })

const connect = Effect.gen(function* () {
  const url = yield* TestDatabaseUrl
  const client = new pg.Client({ connectionString: Redacted.value(url) })
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect()),
    () => Effect.promise(() => client.end())
  )
  return (text: string) => Effect.promise(() => client.query<Record<string, unknown>>(text))
})

layer(TestPg, { excludeTestServices: true })("posthorn.publish", (it) => {
  it.scoped(
    "decision §7 leaves out an endpoint that is deleted while an event is published, and fails nobody",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { endpointId, stored } = yield* seed("deleted")
        const [remove, publish] = [yield* connect, yield* connect]
        yield* remove("begin")
        yield* remove(`delete from posthorn.endpoints where id = '${endpointId}'`)

        const publishing = yield* Effect.fork(
          publish(`select * from posthorn.publish('deleted', 'invoice.paid', '{"id": 7}')`)
        )
        // It found the endpoint, which is still there for everybody else, and waits for what becomes of it.
        yield* sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.pipe(
          Effect.filterOrFail((waiting) => waiting.length > 0),
          Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(500))))
        )
        yield* remove("commit")

        expect((yield* Fiber.join(publishing)).rows).toMatchObject([{ delivery_ids: [], duplicate: false }])
        expect(yield* stored).toEqual([1, 0, 0])
      })
  )

  it.scoped(
    "decision §7 stores event, delivery and queue row with the caller's commit, never with a rollback",
    () =>
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
        const { rows } = yield* publish
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

  it.effect("decision §7 refuses with a SQLSTATE of its own what REST refuses, and stores nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { stored } = yield* seed("refusals")
      const deep = `${"[".repeat(101)}${"]".repeat(101)}`
      const publish = (
        slug: string,
        type: string | null,
        payload: string | null,
        key: string | null = null
      ) =>
        sql`select posthorn.publish(${slug}, ${type}, ${payload}::json, ${key})`.pipe(
          Effect.flip,
          Effect.map((error) => {
            const { code, hint } = problemOf(error)
            return [code, hint]
          })
        )
      yield* sql`select posthorn.publish('refusals', 'a.b', '1', 'used')`

      expect(yield* publish("nobody", "a.b", "1")).toEqual(["PH404", undefined])
      expect(yield* publish("refusals", "a b", "1")).toEqual(["PH400", "/eventType"])
      expect(yield* publish("refusals", null, "1")).toEqual(["PH400", "/eventType"])
      expect(yield* publish("refusals", "webhook.test_event", "1")).toEqual(["PH400", "/eventType"])
      expect(yield* publish("refusals", "a.b", null)).toEqual(["PH400", "/payload"])
      expect(yield* publish("refusals", "a.b", deep)).toEqual(["PH400", "/payload"])
      expect(yield* publish("refusals", "a.b", `"${"x".repeat(1_048_576)}"`)).toEqual(["PH400", "/payload"])
      expect(yield* publish("refusals", "a.b", "1", "")).toEqual(["PH400", "/idempotencyKey"])
      expect(yield* publish("refusals", "a.b", "2", "used")).toEqual(["PH409", undefined])
      expect(yield* stored).toEqual([1, 1, 1])
    })
  )

  it.effect("decision §2 takes payloads that are 100 levels deep, brackets in strings not counted", () =>
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

  it.effect("decision §2 makes ids in SQL and in TypeScript alike, in order of creation", () =>
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

  it.effect("§8 events and deliveries were created at the moment of their ids, whichever way they came", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { workspaceId, endpointId } = yield* seed("moments")
      const off = newId("endpoint")
      const disabled = sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret, disabled_reason)
        values (${workspaceId}, ${off}, 'https://example.com/', '{*}', false, '\\x00', 'manual')`
      const batch = sql`'moments', array_fill('a.b'::text, array[300]), array_fill('1'::json, array[300]),
        array_fill(null::text, array[300])`

      yield* sql`select posthorn.publish('moments', 'a.b', '1')`
      yield* disabled
      yield* sql`select posthorn.publish('moments', 'a.b', '1', 'key')`
      yield* sql`select posthorn.publish_events(${batch})`
      yield* sql`select posthorn.announce(${workspaceId}, 'member.added', '1', '0af7651916cd43dd8448eb211c80319c')`
      yield* sql`update posthorn.deliveries set status = 'failed_permanent'`
      yield* sql`select posthorn.replay(${workspaceId}, ${endpointId},
        (select array_agg(id) from posthorn.deliveries), (select array_agg(event_id) from posthorn.missed_events), 'rpl_1',
        'operator', 'operator', 'sql', 'x')`
      yield* Effect.flatMap(DeliveriesRepo, (deliveries) =>
        deliveries.insertTestSend(workspaceId, {
          endpointId,
          eventType: "webhook.test",
          payload: new JsonText("1"),
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

  it.scoped(
    "decision §7 touches no endpoint and wakes nobody for events that are refused beside others",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { workspaceId, endpointId } = yield* seed("untouched")
        yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
        values (${workspaceId}, ${newId("endpoint")}, 'https://example.com/', '{wanted}', true, '\\x00')`
        yield* sql`update posthorn.endpoints set event_types = '{unwanted}' where id = ${endpointId}`
        const caller = yield* connect

        yield* caller("begin")
        const { rows } =
          yield* caller(`select place, code from posthorn.publish_each(array['untouched', 'untouched'],
        array['wanted', 'unwanted'], array['1', '1']::json[], array[null, null]::text[], array[null, 'no trace id'], null)`)
        const free =
          yield* sql`select id from posthorn.endpoints where workspace_id = ${workspaceId} for update skip locked`
        const awake = yield* sql`select 1 from pg_locks
        where locktype = 'advisory' and objid <> posthorn.publishers()
          and database = (select oid from pg_database where datname = current_database())`
        yield* caller("rollback")

        expect(rows).toEqual([
          { place: 1, code: null },
          { place: 2, code: "PH400" }
        ])
        expect(free).toEqual([{ id: endpointId }])
        expect(awake).toHaveLength(1)
      })
  )

  it.effect("decision §7 lets no other role call it unless the operator of the database says so", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const [row] = yield* sql<{ may: boolean }>`
        select bool_or(has_function_privilege('pg_monitor', p.oid, 'execute')) as may from pg_proc p
        where p.pronamespace = 'posthorn'::regnamespace and p.proname in ('publish', 'publish_events', 'publish_each', 'announce', 'store')`

      expect(row!.may).toBe(false)
    })
  )
})
