import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { sqlProblemOf } from "../../src/client/Statement.ts"

const WORKSPACE = "wsp_1"

const seed = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`insert into posthorn.workspaces (id, slug, name) values (${WORKSPACE}, 'acme', 'Acme')`
  yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
    values (${WORKSPACE}, 'whe_1', 'https://example.com/', '{*}', true, '\\x00')`
  yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
    values (${WORKSPACE}, 'whd_1', 'whe_1', 'a.b', '1', 't', now())`
  yield* sql`insert into posthorn.attempts
      (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, url, request_headers, trace_id)
    values (${WORKSPACE}, 'whd_1', 1, 'wha_1', 'delivered', now(), 1, 'https://example.com/', '{}', 't')`
  yield* sql`insert into posthorn.audit_events
      (workspace_id, action, actor_type, actor_id, via, target_type, target_id, trace_id)
    values (${WORKSPACE}, 'workspace.created', 'operator', 'operator', 'rest', 'workspace', ${WORKSPACE}, 't')`
  yield* sql`insert into posthorn.operator_audit_events (action, actor_type, actor_id, via, target_type, target_id, trace_id)
    values ('workspace.created', 'operator', 'operator', 'rest', 'workspace', ${WORKSPACE}, 't')`
})

layer(TestPg, { excludeTestServices: true })("evidence", (it) => {
  it.effect("§2.3 §6 §12 refuses to change or remove attempts and audit events", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* seed
      const count = (table: string) =>
        Effect.map(
          sql<{ n: number }>`select count(*) as n from posthorn.${sql.literal(table)}`,
          ([row]) => row!.n
        )

      const refusals = yield* Effect.forEach(
        [
          sql`update posthorn.attempts set status = 'failed', failure_reason = 'http_status'`,
          sql`update posthorn.attempts set response_body = 'other'`,
          sql`update posthorn.audit_events set actor_id = 'somebody else'`,
          sql`delete from posthorn.audit_events`,
          sql`delete from posthorn.attempts`,
          sql`update posthorn.operator_audit_events set via = 'sql'`,
          sql`delete from posthorn.operator_audit_events`,
          sql`insert into posthorn.attempts select * from posthorn.attempts
            on conflict (workspace_id, delivery_id, ordinal) do update set duration_ms = 2`
        ],
        Effect.flip
      )

      expect(refusals.map((error) => sqlProblemOf(error).code)).toEqual(Array(8).fill("PH001"))
      expect([yield* count("attempts"), yield* count("audit_events")]).toEqual([1, 1])
    })
  )

  it.effect("§3.4 removes attempts with their delivery, and no others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
        select ${WORKSPACE}, 'whd_' || n, 'whe_1', 'a.b', '1', 't', now() from generate_series(2, 4) n`
      yield* sql`insert into posthorn.attempts
          (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, url, request_headers, trace_id)
        select ${WORKSPACE}, 'whd_' || n, 1, 'wha_' || n, 'delivered', now(), 1, 'https://example.com/', '{}', 't' from generate_series(2, 4) n`

      yield* sql`delete from posthorn.deliveries where id in ('whd_2', 'whd_4')`

      const left = yield* sql`select delivery_id as id from posthorn.attempts order by 1`
      expect(left).toEqual([{ id: "whd_1" }, { id: "whd_3" }])
    })
  )

  it.effect("§12 lets evidence go with its workspace", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient

      yield* sql`delete from posthorn.workspaces where id = ${WORKSPACE}`

      const left = yield* sql`select 1 from posthorn.audit_events union all select 1 from posthorn.attempts`
      expect(left).toEqual([])
    })
  )
})
