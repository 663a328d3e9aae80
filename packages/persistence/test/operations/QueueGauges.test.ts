/** The meters of the installation: counted no more than necessary, whoever asks and leaves. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { collect } from "@posthorn/telemetry/Collectors"
import { freshText } from "@posthorn/telemetry/PrometheusText"
import { connect } from "@posthorn/testkit/Seeds"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Schedule } from "effect"
import { DatabaseClock } from "../../src/client/DatabaseClock.ts"
import { queueGauges } from "../../src/operations/QueueGauges.ts"

/** Counts that are running. */
const counts = Effect.map(
  rows<{ n: number }>`select count(*)::integer as n from pg_stat_activity
      where datname = current_database() and state = 'active' and query like '%), standing as (%'
        and pid <> pg_backend_pid()`,
  ([row]) => row!.n
)

it.scopedLive("§10 what waits for a rate is counted by itself, and is not due", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`insert into posthorn.workspaces (id, slug, name) values ('wsp_1', 'acme', 'Acme')`
    yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret, policy,
      consecutive_failures)
      select 'wsp_1', id, 'https://example.com', array['*'], true, 'x', policy::jsonb, failures from (values
        ('whe_limited', '{"rateLimit": {"requests": 1, "perSeconds": 60}}', 0), ('whe_free', null, 0),
        ('whe_probed', '{"rateLimit": {"requests": 1, "perSeconds": 60}}', 3),
        ('whe_unused', '{"rateLimit": {"requests": 9, "perSeconds": 60}}', 0)) as e(id, policy, failures)`
    yield* sql`insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
      select 'wsp_1', id, now() - interval '30 seconds', 'wha_1' from posthorn.endpoints`
    yield* sql`insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
      select 'wsp_1', id || n, id, 0, now() - n * interval '100 seconds'
      from posthorn.endpoints, generate_series(-1, length(id) - 8) as n where n <> 0`
    yield* queueGauges
    yield* collect

    const text = yield* freshText
    const told = (name: string) => Math.floor(Number(new RegExp(`^${name} (.*)$`, "m").exec(text)![1]))
    // Each has as many that are due as its name is longer than `free`.
    expect(told("posthorn_rate_limited_deliveries")).toBe(3)
    expect(told("posthorn_rate_limited_oldest_seconds")).toBe(300)
    expect(told('posthorn_queue_deliveries{state="due"}')).toBe(2)
    expect(told('posthorn_queue_oldest_seconds{state="due"}')).toBe(200)
    expect(told('posthorn_queue_deliveries{state="probing"}')).toBe(2)
  }).pipe(Effect.scoped, Effect.provide(DatabaseClock.Default), Effect.provide(TestPg))
)

it.scopedLive("§10 callers that ask for meters and leave start one count, which continues", () =>
  Effect.gen(function* () {
    const hold = yield* connect
    yield* queueGauges
    // Counting waits for this lock, as if there were much to count.
    yield* hold("begin; lock table posthorn.queue in access exclusive mode")
    for (let n = 0; n < 3; n++) {
      const asking = yield* Effect.fork(collect)
      yield* Effect.retry(
        Effect.filterOrFail(counts, (now) => now === 1),
        Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(1_000)))
      )
      yield* Fiber.interrupt(asking)
    }
    expect(yield* counts).toBe(1)
    yield* hold("rollback")

    const text = yield* freshText
    expect(text).toMatch(/^posthorn_queue_deliveries\{state="probing"\} 0$/m)
    expect(text).toMatch(/^posthorn_queue_deliveries\{state="due"\} 0$/m)
    expect(text).toMatch(/^posthorn_queue_counted_timestamp_seconds \d/m)
    expect(text).toMatch(/^posthorn_database_up 1$/m)
    expect(text).toMatch(/^posthorn_clock_offset_seconds -?0?\.?\d/m)
  }).pipe(Effect.scoped, Effect.provide(DatabaseClock.Default), Effect.provide(TestPg))
)
