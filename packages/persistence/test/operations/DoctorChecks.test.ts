/** The questions of `posthorn doctor` to the database. */

import * as SqlClient from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Layer } from "effect"
import * as DedicatedConnection from "../../src/client/DedicatedConnection.ts"
import { keepsSessions } from "../../src/client/KeepsSessions.ts"
import * as DoctorChecks from "../../src/operations/DoctorChecks.ts"

const live = DedicatedConnection.layer.pipe(Layer.provideMerge(TestPg))

layer(live, { excludeTestServices: true })("the questions of doctor", (it) => {
  it.effect("§3.4 find nothing wrong in a healthy database", () =>
    Effect.gen(function* () {
      expect(yield* DoctorChecks.serverFacts).toMatchObject({
        isLocal: true,
        isStandby: false,
        isSuperuser: true
      })
      const { aheadMs, roundTripMs } = yield* DoctorChecks.clock
      expect(Math.abs(aheadMs)).toBeLessThan(60_000)
      expect(roundTripMs).toBeLessThan(10_000)
      expect(yield* DoctorChecks.missingRights).toEqual([])
      expect(yield* keepsSessions).toBe(true)
      expect(yield* DoctorChecks.whoWorks).toMatchObject({ shardCount: 32, members: 0, foreignSessions: [] })
      expect(yield* DoctorChecks.unreachable).toEqual([])
    })
  )

  it.effect("§3.4 name the rights that a role lacks, and the endpoints that reach nobody", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')`
      yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, consecutive_failures, secret)
        values ('wsp_1', 'whe_1', 'https://e.example.com/', '{a.b}', true, 1, 's')`
      yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status,
          attempts, last_failure_reason, last_attempt_at, created_at)
        values ('wsp_1', 'whd_1', 'whe_1', 'a.b', '1', 't', 'failed', 1, 'tls_failed', now(), now())`
      yield* sql`insert into posthorn.attempts (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, failure_reason,
          failure_detail, url, request_headers, trace_id)
        values ('wsp_1', 'whd_1', 1, 'att_1', 'failed', now(), 1, 'tls_failed', 'not_tls', 'https://e.example.com/', '{}', 't')`
      const role = `reader_${(yield* sql<{ name: string }>`select current_database() as name`)[0]!.name}`
      const missing = sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe(
              `create role ${role}; grant usage on schema posthorn to ${role}; set local role ${role}`
            )
            return yield* Effect.flatMap(DoctorChecks.missingRights, (rights) => Effect.fail(rights))
          })
        )
        .pipe(Effect.flip)

      expect(yield* DoctorChecks.unreachable).toEqual([
        { id: "whe_1", url: "https://e.example.com/", reason: "tls_failed", detail: "not_tls" }
      ])
      expect(yield* missing).toContain("update posthorn.queue")
    })
  )
})
