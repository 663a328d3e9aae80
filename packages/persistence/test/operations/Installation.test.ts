/** The meters of the installation: counted no more than necessary, whoever asks and leaves. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { collect } from "@posthorn/telemetry/Collectors"
import { freshText } from "@posthorn/telemetry/PrometheusText"
import { connect } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Schedule } from "effect"
import { DatabaseClock } from "../../src/client/DatabaseClock.ts"
import { installationMeters } from "../../src/operations/Installation.ts"

/** Counts that are running. */
const counts = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ n: number }>`select count(*)::integer as n from pg_stat_activity
      where datname = current_database() and state = 'active' and query like '%), standing as (%'
        and pid <> pg_backend_pid()`,
    ([row]) => row!.n
  )
)

it.scopedLive("§10 callers that ask for meters and leave start one count, which continues", () =>
  Effect.gen(function* () {
    const hold = yield* connect
    yield* installationMeters
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
