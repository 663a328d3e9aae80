/**
 * Faults of the database that take long: it is stopped, read-only, or unreachable. The worker process continues afterwards.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { ENCRYPTION_KEY, runCommand, startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { execute, withDatabase } from "@posthorn/testkit/TestCluster"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Redacted } from "effect"
import { Setting } from "../Setting.ts"
import { behindLine } from "./BehindLine.ts"
import { makeLine, through } from "./DatabaseLine.ts"
import { serveAt } from "./ServeProcess.ts"
import {
  endConnections,
  endpoints,
  goesOn,
  inFlight,
  lawsHold,
  onOwnCluster,
  publishTo,
  repeatsIn,
  shared,
  tally,
  timed,
  within
} from "./Story.ts"

it.scopedLive("§3.4 waits while the database is read-only, and continues afterwards", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const url = Redacted.value(yield* TestDatabaseUrl)
    const begun = yield* inFlight(20, 20, 40)
    // From another database of the server: this one would refuse to be made writable again.
    const readOnly = (state: "on" | "off") =>
      Effect.zipRight(
        execute(
          withDatabase(url, "postgres"),
          `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = ${state}`
        ),
        endConnections
      )
    const refusals = Effect.map(
      sql<{
        n: number
      }>`select xact_rollback as n from pg_stat_database where datname = current_database()`,
      ([row]) => row!.n
    )

    yield* readOnly("on")
    const before = yield* refusals
    yield* begun.release
    yield* within(25, refusals, (n) => n >= before + 3)
    expect(yield* tally).toEqual({ pending: 400 })
    yield* readOnly("off")
    yield* goesOn(begun, 400)
  }).pipe(Effect.provide(Setting))
)

const WORKERS = 4
const LOCKED_S = 150
const SESSIONS_EACH = 8

it.scopedLive(
  "§3.4 leaves no sessions behind while the queue is locked for minutes, and continues afterwards",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const begun = yield* inFlight(20, 20, 0)
      for (let n = 1; n < WORKERS; n++) yield* startWorker()
      yield* sql`lock table posthorn.queue in access exclusive mode`.pipe(
        Effect.zipRight(
          Effect.forEach(Array.from({ length: LOCKED_S }), () =>
            Effect.gen(function* () {
              // biome-ignore lint/plugin: a pace
              yield* Effect.sleep("1 second")
              const [row] = yield* sql<{ n: number }>`select count(*)::integer as n from pg_stat_activity
              where datname = current_database() and application_name like 'posthorn %'`
              expect(row!.n).toBeLessThanOrEqual(WORKERS * SESSIONS_EACH)
            })
          )
        ),
        sql.withTransaction
      )
      yield* goesOn(begun, 400)
    }).pipe(Effect.provide(Setting))
)

it.scopedLive("§3.4 stays while the database is stopped, and continues when it is started", () =>
  Effect.gen(function* () {
    const cluster = yield* OwnCluster.make
    yield* Effect.gen(function* () {
      const begun = yield* inFlight(20, 20, 40)
      yield* cluster.stop
      yield* begun.release
      yield* within(25, Effect.sync(begun.worker.log), (log) => log.includes("The shards are lost for now"))
      yield* cluster.start
      yield* goesOn(begun, 400)
    }).pipe(Effect.provide(onOwnCluster(cluster)))
  })
)

/** A hundred of 400 deliveries have arrived, and more are in flight, when the connection breaks. */
const broken = Effect.gen(function* () {
  const begun = yield* behindLine
  yield* endpoints(begun.acme, 20, () => begun.receiver.url("/ok"))
  yield* publishTo(begun.acme, 20, 20)
  yield* begun.receiver.waitFor(100)
  return begun
})

it.scopedLive("§3.4 survives connections that are silent for some seconds", () =>
  Effect.gen(function* () {
    const { line, receiver, worker } = yield* broken

    yield* line.goBlack
    // Longer than the database waits for a sign of life: it has freed the shards.
    yield* shared(25)
    yield* line.lightUp
    yield* within(30, tally, (seen) => seen.delivered === 400)

    expect(repeatsIn(receiver.received)).toBeLessThanOrEqual(100)
    expect(worker.running()).toBe(true)
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)

it.scopedLive("§3.4 notices by itself that its connections are dead, and opens others", () =>
  Effect.gen(function* () {
    const { acme, line, worker } = yield* broken

    yield* line.forget
    yield* within(30, tally, (seen) => seen.delivered === 400)

    expect(worker.running()).toBe(true)
    yield* lawsHold
    // It hears notifications again at the latest after two unanswered pulses of the listener (10 s each).
    yield* publishTo(acme, 20, 1)
    yield* within(22, tally, (seen) => seen.delivered === 420)
  }).pipe(Effect.provide(Setting))
)

it.scopedLive.each([500, 1_000])(
  "§3.4 delivers everything from a database whose answers take twice %d ms, and says how long they take",
  (eachWayMs) =>
    Effect.gen(function* () {
      const { acme, line, meters, receiver, worker } = yield* behindLine
      yield* endpoints(acme, 10, () => receiver.url("/ok"))
      yield* line.slowDown(eachWayMs)
      yield* publishTo(acme, 10, 5)

      yield* within(120, tally, (seen) => seen.delivered === 50)

      const told = yield* within(60, meters, (now) => now.sum("posthorn_database_round_trip_seconds") > 0.9)
      expect(told.sum("posthorn_database_round_trip_seconds")).toBeLessThan(eachWayMs / 100)
      expect(worker.log()).toMatch(/The database is slow or far away: its answers take \d{3,4} ms/)
      expect(worker.running()).toBe(true)
      yield* line.slowDown(0)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  240_000
)

it.scopedLive("§3.4 delivers payloads of 1 MB over 1 MB/s, and others between them", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { acme, line, receiver, worker } = yield* behindLine
    yield* endpoints(acme, 2, (n) => receiver.url(n === 0 ? "/ok?large" : "/ok?small"))
    const arrived = (name: string) =>
      Effect.sync(() => receiver.received.filter(({ target }) => target.endsWith(name)).length)
    yield* line.narrow(1_000_000)
    const large = JSON.stringify("x".repeat(1_000_000))
    yield* sql`select posthorn.publish(${acme.slug}, 'e.n0', ${large}::json) from generate_series(1, 5)`
    yield* within(30, arrived("large"), (n) => n > 0)

    const took = yield* timed(
      Effect.zipRight(
        sql`select posthorn.publish(${acme.slug}, 'e.n1', '1') from generate_series(1, 20)`,
        within(30, arrived("small"), (n) => n === 20)
      )
    )
    const before = yield* arrived("large")
    yield* within(60, tally, (seen) => seen.delivered === 25)

    // The large ones take a second each.
    expect(took).toBeLessThan(1_500)
    expect(before).toBeLessThan(5)
    expect(repeatsIn(receiver.received)).toBe(0)
    expect(worker.log()).not.toContain("cannot be loaded")
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)

it.scopedLive.each([500, 1_000])(
  "§10 serve is ready, and doctor tells what is slow, behind a database whose answers take twice %d ms",
  (eachWayMs) =>
    Effect.gen(function* () {
      // The tests' common one waits only 4 s for a password.
      const cluster = yield* OwnCluster.make
      const url = Redacted.value(cluster.url)
      const line = yield* makeLine(new URL(url))
      const port = yield* freePort
      yield* Effect.provide(serveAt(port, { DATABASE_URL: through(line, url) }), onOwnCluster(cluster))
      const ready = Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/health/ready`)
        return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
      })
      yield* line.slowDown(eachWayMs)

      const told = yield* within(90, ready, ({ body }) => "warning" in body)
      const { out } = yield* Effect.promise(() =>
        runCommand(["doctor", "--json"], { DATABASE_URL: through(line, url), ENCRYPTION_KEY })
      )

      expect(told.status).toBe(200)
      expect(told.body.databaseRoundTripMs).toBeGreaterThan(2 * eachWayMs - 10)
      const { findings } = JSON.parse(out) as { findings: ReadonlyArray<Record<string, string>> }
      const bad = findings.filter(({ verdict }) => verdict === "wrong" || verdict === "warning")
      expect(bad).toEqual([expect.objectContaining({ code: "answers_slow" })])
    }),
  240_000
)
