/** Statements whose caller is gone, and their connections. */
import { inspect } from "node:util"
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { CurrentPrincipal, type Principal } from "@posthorn/domain/Principal"
import * as Database from "@posthorn/persistence/client/Database"
import { atBest } from "@posthorn/testkit/AtBest"
import { rows } from "@posthorn/testkit/Sql"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { until } from "@posthorn/testkit/Until"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Redacted, Tracer } from "effect"

const CONNECTIONS = 2

const pool = Layer.unwrapScoped(
  Effect.map(freshDatabase, (url) =>
    Database.layer({ url, applicationName: "pool under test", maxConnections: CONNECTIONS })
  )
).pipe(Layer.orDie)

const aside = Layer.unwrapScoped(
  Effect.map(freshDatabase, (url) => Database.layer({ url, applicationName: "aside", maxConnections: 1 }))
).pipe(Layer.orDie)

/** Running statements of the pool, read on another connection. */
const running = (statement: string) =>
  rows`select pid from pg_stat_activity
      where application_name = 'pool under test' and state = 'active' and query = ${statement}`

const SLEEP = "select pg_sleep(300)"
/** Occupies all connections at once. */
const takeAll = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.all(
    Array.from({ length: CONNECTIONS }, () =>
      Effect.scoped(
        Effect.flatMap(sql.reserve, (one) => one.execute("select pg_backend_pid() as pid", [], undefined))
      )
    ),
    { concurrency: "unbounded" }
  )
)

it.scopedLive("§12 a statement whose caller is gone ends, even when no connection is free", () =>
  Effect.gen(function* () {
    const theirs = yield* Layer.build(aside)
    const ending = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const statement = Effect.forkDaemon(sql.unsafe(SLEEP))
      const inTransaction = Effect.forkDaemon(sql.withTransaction(sql.unsafe(SLEEP)))
      const fibers = [yield* statement, yield* inTransaction]
      yield* until(running(SLEEP), (rows) => rows.length === CONNECTIONS).pipe(Effect.provide(theirs))

      const began = yield* Clock.currentTimeMillis
      yield* Fiber.interruptAll(fibers)
      yield* until(running(SLEEP), (rows) => rows.length === 0).pipe(Effect.provide(theirs))
      yield* takeAll
      return (yield* Clock.currentTimeMillis) - began
    })
    expect(yield* atBest(2_000, ending, (ms) => ms).pipe(Effect.provide(pool))).toBeLessThan(2_000)
  })
)

it.scopedLive("§12 a statement that fails keeps its connection", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const before = yield* sql<{ pid: number }>`select pg_backend_pid() as pid`
    for (let n = 0; n < 5; n++) yield* Effect.flip(sql`select 1 / 0`)
    yield* Effect.flip(sql.withTransaction(sql`select 1 / 0`))
    expect(yield* sql`select pg_backend_pid() as pid`).toEqual(before)
  }).pipe(Effect.provide(pool))
)

it.scopedLive(
  "§12 a client that falls silent within a transaction loses its locks, and only that transaction",
  () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const options = { url, applicationName: "silent", maxConnections: 1 }
      const silent = yield* Layer.build(Database.layer({ ...options, idleInTransaction: "3 seconds" }))
      const other = yield* Layer.build(Database.layer(options))
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(silent))
      const theirs = yield* SqlClient.SqlClient.pipe(Effect.provide(other))
      yield* theirs`create table public.held (n integer)`
      yield* theirs`insert into public.held values (1)`
      const [begun, over] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const stopped = yield* sql`update public.held set n = 2`.pipe(
        Effect.zipRight(Deferred.succeed(begun, undefined)),
        Effect.zipRight(Deferred.await(over)),
        Effect.zipRight(sql`update public.held set n = 3`),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(begun)

      yield* theirs`update public.held set n = 4`.pipe(Effect.timeout("60 seconds"))
      yield* Deferred.succeed(over, undefined)
      expect(Exit.isFailure(yield* Fiber.await(stopped))).toBe(true)
      expect(yield* sql`select n from public.held`).toEqual([{ n: 4 }])
    }).pipe(Effect.orDie)
)

/** Keeps every attribute and event of every span in `seen`. */
const keepsSpans = (seen: Array<unknown>) =>
  Tracer.make({
    context: (run) => run(),
    span: (name, parent, context, links, startTime, kind) => ({
      _tag: "Span",
      ...{ name, parent, context, links, kind, spanId: "s", traceId: "t", sampled: true },
      status: { _tag: "Started", startTime },
      attributes: new Map(),
      end: (_, exit) => seen.push(exit),
      attribute: (key, value) => seen.push([key, value]),
      event: (_, __, attributes) => seen.push(attributes),
      addLinks: () => undefined
    })
  })

it.scoped("§3.4 neither the error of a failed statement nor its trace contains the values it was given", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const sql = yield* SqlClient.SqlClient
    yield* sql`create table public.secrets (secret text primary key, payload json, check (secret <> 'whsec_short'))`
    yield* sql`insert into public.secrets values ('whsec_taken')`
    const failures = yield* Effect.all([
      Effect.flip(sql`insert into public.secrets values (${"whsec_taken"})`),
      Effect.flip(sql`insert into public.secrets values (${"whsec_short"})`),
      Effect.flip(sql`insert into public.secrets values ('a', ${'{"token": whsec_json'}::json)`)
    ]).pipe(Effect.withTracer(keepsSpans(seen)))
    const shown = failures.map((failure) => inspect(failure, { depth: null, showHidden: true }))

    expect(shown.map((text) => /duplicate key|violates check|invalid input/.test(text))).toEqual([
      true,
      true,
      true
    ])
    expect(shown.filter((text) => text.includes("whsec_"))).toEqual([])
    const traced = inspect(seen, { depth: null, showHidden: true })
    expect(traced).toContain("insert into public.secrets values ($1)")
    expect(traced).not.toContain("whsec_")
  }).pipe(Effect.provide(pool))
)

it.scopedLive("§5.2 a principal's statements share the connections of its workspace, and of no other", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const database = yield* Layer.build(
      Database.layer({ url, applicationName: "shared", maxConnections: 3, perWorkspace: 1 })
    )
    const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(database))
    const as = (workspaceId: string) => Effect.provideService(CurrentPrincipal, { workspaceId } as Principal)
    const slow = yield* sql.withTransaction(Effect.never).pipe(as("ws_a"), Effect.fork)
    const refused = yield* Effect.fork(sql`select 1`.pipe(as("ws_a"), Effect.flip))

    yield* Effect.all([sql`select 1`.pipe(as("ws_b")), sql`select 1`], { concurrency: "unbounded" })
    expect(String((yield* Fiber.join(refused)).cause)).toContain("share of the connections")
    const waiting = yield* Effect.fork(sql`select 1`.pipe(as("ws_a")))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(slow)
    yield* Fiber.join(waiting)
    yield* sql`select 1`.pipe(as("ws_a"), sql.withTransaction, as("ws_a"))
  }).pipe(Effect.timeout("30 seconds"))
)

const shared = (url: Redacted.Redacted, maxConnections: number) =>
  Effect.map(
    Layer.build(Database.layer({ url, applicationName: "shared", maxConnections, perWorkspace: 1 })),
    (database) => Context.get(database, SqlClient.SqlClient)
  )
const asTenant = Effect.provideService(CurrentPrincipal, { workspaceId: "ws_a" } as Principal)

it.scopedLive("§5.2 an interrupted caller stops waiting for a connection, and leaks none", () =>
  Effect.gen(function* () {
    const sql = yield* shared(yield* freshDatabase, 1)
    const statements = [sql`select 1`, sql.withTransaction(sql`select 1`)].map(asTenant)
    const interrupting = Effect.gen(function* () {
      yield* sql.reserve
      const waiting = yield* Effect.forEach([...statements, ...statements], (one) => Effect.fork(one))
      // biome-ignore lint/plugin: who waits for a connection cannot be seen
      yield* Effect.sleep("20 millis")
      const began = yield* Clock.currentTimeMillis
      yield* Fiber.interruptAll(waiting)
      return (yield* Clock.currentTimeMillis) - began
    })
    expect(yield* atBest(1_000, Effect.scoped(interrupting), (ms) => ms)).toBeLessThan(1_000)
    yield* Effect.all(statements, { concurrency: "unbounded" })
  }).pipe(Effect.timeout("30 seconds"))
)

it.scopedLive("§5.2 a transaction that finds no connection gives its permit back", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const { pathname } = new URL(Redacted.value(url))
    const elsewhere = Redacted.make(
      Object.assign(new URL(Redacted.value(url)), { pathname: "/postgres" }).href
    )
    const admin = yield* shared(elsewhere, 1)
    const allow = (yes: boolean) =>
      admin`alter database ${admin(pathname.slice(1))} with allow_connections ${admin.literal(String(yes))}`
    const sql = yield* shared(url, 2)
    const transaction = asTenant(sql.withTransaction(sql`select 1`))

    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* sql.reserve
        yield* allow(false)
        expect((yield* Effect.flip(transaction)).message).toContain("Failed to acquire connection")
        yield* allow(true)
      })
    )
    yield* transaction
  }).pipe(Effect.timeout("30 seconds"))
)
