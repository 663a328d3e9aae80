/**
 * SQL as a transport: what a role can read or change that may only publish, and what the engine's functions do, as the
 * runtime role, when the ids of one workspace are combined with another workspace.
 *
 * The functions are listed from the database: a new function fails this test until an entry says how to try it.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { randomName } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import { connect } from "../Fixtures.ts"
import { entered, testServer } from "../TestServer.ts"
import { foreignOf, furnish, idsIn, marksOf, pictureOf } from "./Tenants.ts"

const WORD = "zebra"

/** A role with these grants, until the scope closes. */
const roleWith = (...grants: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const role = randomName("role")
    yield* Effect.acquireRelease(sql.unsafe(`create role ${role}`), () =>
      Effect.orDie(sql.unsafe(`drop owned by ${role}; drop role ${role}`))
    )
    for (const grant of ["usage on schema posthorn", ...grants])
      yield* sql.unsafe(`grant ${grant} to ${role}`)
    return role
  }).pipe(Effect.orDie)

/** A connection of this role; a statement returns its rows, or the SQLSTATE and message of its refusal. */
const as = (role: string) =>
  Effect.map(
    Effect.tap(connect, (client) => Effect.promise(() => client.query(`set role ${role}`))),
    (client) =>
      (statement: string, ...values: ReadonlyArray<unknown>) =>
        Effect.promise(() =>
          client.query(statement, [...values]).then(
            ({ rows }) => ({ code: "done", text: JSON.stringify(rows) }),
            (error) => ({ code: String(error.code), text: `${error.message} ${error.detail} ${error.hint}` })
          )
        )
  )

const prepare = Effect.gen(function* () {
  const [a, b] = [yield* entered, yield* entered]
  const [worldA, worldB] = [yield* furnish(a, "apple"), yield* furnish(b, WORD)]
  const foreign = yield* foreignOf(b, worldB, WORD)
  return { a, b, worldA, worldB, foreign, marks: [...(yield* marksOf(b, WORD))] }
})

/** The foreign values for a function's parameters, by parameter name without the plural. */
const VALUES: Readonly<Record<string, (foreign: Readonly<Record<string, string>>) => string>> = {
  delivery: ({ delivery }) => delivery!,
  endpoint: ({ endpoint }) => endpoint!,
  source: ({ delivery }) => delivery!,
  event: ({ event }) => event!,
  event_id: ({ event }) => event!,
  missed_event: ({ event }) => event!,
  unsent_event: ({ event }) => event!,
  replay: ({ replay }) => replay!,
  job: ({ replay }) => replay!,
  attempt_id: ({ attempt }) => `${attempt!.slice(0, -1)}f`,
  from_id: ({ delivery }) => delivery!,
  before: ({ delivery }) => delivery!,
  except_endpoint: ({ endpoint }) => endpoint!,
  named: ({ endpoint }) => JSON.stringify([endpoint]),
  endpoint_id: ({ endpoint }) => JSON.stringify(JSON.stringify([endpoint]))
}

/** Values for the other parameters; the record of an attempt as a worker would write it. */
const PLAIN: Readonly<Record<string, string>> = {
  event_type: "'a.b'",
  past: "'a'",
  payload: "'1'",
  trace_id: "repeat('a', 32)",
  generations: "'{0}'",
  ordinals: "'{2}'",
  requests: "'{1}'",
  windows: "'{1000}'",
  most_unrecorded: "'{10}'",
  tolerance: "'10 seconds'",
  request_headers: "'{null}'",
  statuses: "'{failed_permanent}'",
  began: "'{1790000000000}'",
  durations: "'{1}'",
  http_statuses: "'{404}'",
  failure_reasons: "'{http_status}'",
  failure_details: "'{null}'",
  signatures: "'{x}'",
  response_bodies: "'{x}'",
  waits: "'{null}'",
  exhausteds: "'{false}'",
  rate_limiteds: "'{false}'",
  urls: "'{https://example.com/}'",
  response_headers: "array['{}']",
  arrivals: "'{0}'",
  fixed_headers: "'{}'",
  policies: "'{0}'",
  failure_limits: "'{1}'",
  failing_fors: "'{null}'",
  gones: "'{false}'",
  attempts: "'{1}'",
  known: "'{}'",
  counts: "'{0}'",
  claim_limit: "1",
  sending: "true",
  failures: "20",
  failing_since: "null",
  reason: "'consecutive_failures'",
  "roll_up_hour.wanted": "'2026-01-01T00:00Z'",
  "deliveries_of.since": "'{2026-01-01T00:00Z}'",
  of_kind: "'email'",
  lease: "'1 minute'",
  happened: "'endpoint.failing'",
  summed: "null",
  outcome: "'sent'",
  error: "null",
  wait: "'0'",
  "make_alerts.at": "now()",
  "settle_alert.alert": "'alr_0'",
  "settle_alert.attempt": "1",
  lasting: "'1 year'",
  many: "24",
  trace: "repeat('a', 32)",
  wanted: "'{failed_permanent,dead_lettered}'",
  since: "'2020-01-01'",
  until: "null",
  include_missed: "true",
  include_unsent: "true",
  unsent_since: "'2020-01-01'",
  "unsent_events.event_types": "'{*}'",
  filter_path: "null",
  filter_program: "null",
  with_missed: "true",
  most_read: "100",
  hidden: "'{}'",
  "unsent_events.moment": "pg_current_snapshot()",
  include_recovered: "true",
  include_tests: "true",
  recovered_by: "null",
  under_way: "null",
  is_test: "false",
  most: "100",
  batch: "100",
  room: "100",
  actor_type: "'operator'",
  actor_id: "'operator'",
  root_type: "null",
  root_id: "null",
  actor_name: "null",
  resend: "false",
  via: "'rest'",
  from_due: "'{0}'",
  per_endpoint: "'{100}'",
  moment: "now()",
  stored: "'{1}'",
  locked: "'{}'",
  event_types: "'{a.b}'",
  types: "'{a.b}'",
  sinces: "'{a}'",
  horizon: "'f'",
  now_at: "'f'",
  most_bytes: "1000000",
  payloads: "array['1']::json[]",
  idempotency_keys: "'{null}'",
  trace_ids: "'{null}'",
  retries: "'{true}'",
  shared: "false",
  retry: "true",
  most_deliveries: "100",
  patient: "false",
  actors: "'{system sql x}'",
  actor: "'system sql x'"
}

/** They take a workspace and nothing that could be another's: the ids of the first three are positions. */
const NOT_BY_ID: ReadonlySet<string> = new Set([
  "remove_old_deliveries",
  "remove_old_events",
  "remove_waiting",
  "remove_old_keys",
  "remove_old_answers",
  "remove_workspace",
  "hold_workspaces"
])

layer(testServer(), { excludeTestServices: true })("two tenants in SQL", (it) => {
  it.scoped(
    "§3.4 a role that may publish can read no table, and gains no other right through the functions",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const publishing = ["publish", "publish_events"]
        const role = yield* roleWith(`execute on function ${publishing.map((name) => `posthorn.${name}`)}`)

        const functions = yield* sql<{ name: string }>`select p.proname as name from pg_proc p
        where p.pronamespace = 'posthorn'::regnamespace and p.prosecdef and has_function_privilege(${role}, p.oid, 'execute')`
        const tables = yield* sql<{ name: string; may: boolean }>`select c.relname as name,
          has_table_privilege(${role}, c.oid, 'select, insert, update, delete, truncate, references, trigger') or
          has_any_column_privilege(${role}, c.oid, 'select, insert, update, references') as may
        from pg_class c where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')`

        expect(functions.map(({ name }) => name).toSorted()).toEqual(publishing)
        expect(tables.filter(({ may }) => may)).toEqual([])
        expect(tables.length).toBeGreaterThan(15)
      }).pipe(Effect.orDie)
  )

  it.scoped("§3.4 publishing for one workspace reveals and changes nothing of another", () =>
    Effect.gen(function* () {
      const { a, b, foreign, marks } = yield* prepare
      const query = yield* as(
        yield* roleWith("execute on function posthorn.publish, posthorn.publish_events")
      )
      const before = yield* pictureOf(b.workspaceId)
      const one = "select * from posthorn.publish($1, $2, $3::json, $4, $5)"
      const many = "select * from posthorn.publish_events($1, array[$2], array[$3]::json[], array[$4], $5, 1)"

      for (const value of Object.values(foreign)) {
        for (const statement of [one, many]) {
          for (const values of [
            [value, "a.b", "1", null, null],
            [a.slug, value, "1", null, null],
            [a.slug, "a.b", JSON.stringify(value), null, null],
            [a.slug, "a.b", "1", value, null],
            [a.slug, "a.b", "1", null, value]
          ]) {
            // A slug that equals the other's name: that grant opens every workspace, as publish.md says.
            if (values[0] === b.slug) continue
            const { text } = yield* query(statement, ...values)
            const leaks = marks.filter((mark) => text.includes(mark) && !value.includes(mark))
            expect(leaks, `${statement} ${values}`).toEqual([])
          }
        }
      }

      expect(yield* pictureOf(b.workspaceId)).toEqual(before)
    })
  )

  it.scoped("§3.4 a wrapper function with a fixed workspace publishes into that one only", () =>
    Effect.gen(function* () {
      const { a, b } = yield* prepare
      const sql = yield* SqlClient
      yield* sql.unsafe(`create schema app;
        create function app.publish(event_type text, payload json) returns text language sql security definer
          set search_path = pg_catalog, pg_temp
          return (select id from posthorn.publish('${a.slug}', event_type, payload));
        revoke all on function app.publish from public`)
      const query = yield* as(yield* roleWith("usage on schema app", "execute on function app.publish"))
      const before = yield* pictureOf(b.workspaceId)

      const own = yield* query("select app.publish('own.function', '1')")
      const direct = yield* query("select * from posthorn.publish($1, 'own.function', '1')", b.slug)

      expect(own.code).toBe("done")
      expect((yield* a.call("GET", `/events/${[...idsIn(own.text)][0]}`)).body.eventType).toBe("own.function")
      expect(direct.code).toBe("42501")
      expect(yield* pictureOf(b.workspaceId)).toEqual(before)
      yield* sql`drop schema app cascade`
    }).pipe(Effect.orDie)
  )

  it.scoped("§4.4 ids of one workspace combined with another find and change nothing", () =>
    Effect.gen(function* () {
      const { a, b, foreign, marks } = yield* prepare
      const sql = yield* SqlClient
      const run = yield* roleWith(
        "select, insert, update, delete on all tables in schema posthorn",
        "execute on all functions in schema posthorn"
      )
      const query = yield* as(run)
      const before = yield* pictureOf(b.workspaceId)
      const own = yield* pictureOf(a.workspaceId)
      const functions = yield* sql<{ name: string; parameters: ReadonlyArray<string> }>`
        select p.proname as name, coalesce(p.proargnames[1:p.pronargs], '{}') as parameters from pg_proc p
        where p.pronamespace = 'posthorn'::regnamespace and p.proargnames[1:p.pronargs] && '{workspace,workspaces}'
        order by 1`
      const tried: Array<string> = []

      for (const { name, parameters } of functions) {
        if (NOT_BY_ID.has(name)) continue
        const args = parameters.map((parameter) => {
          const value = VALUES[parameter.replace(/ies$/, "y").replace(/s$/, "")]?.(foreign)
          const isMany = /s$/.test(parameter)
          if (parameter.startsWith("workspace")) return isMany ? `'{${a.workspaceId}}'` : `'${a.workspaceId}'`
          if (value !== undefined && PLAIN[parameter] === undefined)
            return isMany ? `'{${value}}'` : `'${value}'`
          return PLAIN[`${name}.${parameter}`] ?? PLAIN[parameter] ?? `missing:${parameter}`
        })
        const { code, text } = yield* query(`select * from posthorn.${name}(${args.join(", ")})`)
        const sent = args.join()
        expect([name, code, text]).toEqual([name, expect.stringMatching(/^(done|23503|P0002|PH400)$/), text])
        expect(marks.filter((mark) => text.includes(mark) && !sent.includes(mark))).toEqual([])
        expect(yield* pictureOf(b.workspaceId), name).toEqual(before)
        expect((yield* pictureOf(a.workspaceId)).attempts, name).toEqual(own.attempts)
        tried.push(name)
      }

      expect(tried).toEqual(functions.map(({ name }) => name).filter((name) => !NOT_BY_ID.has(name)))
      expect(tried.length).toBeGreaterThan(8)
    }).pipe(Effect.orDie)
  )
})
