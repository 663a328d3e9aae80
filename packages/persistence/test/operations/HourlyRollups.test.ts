/**
 * The cost of overview and statistics must not grow with rolled-up hours: measured in deliveries that PostgreSQL reads.
 * `guards/Statistics.ts` tests that the answers are right.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { endpoint, readRows, workspace } from "@posthorn/testkit/Seeds"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { whole } from "@posthorn/testkit/Whole"
import { Clock, Effect, Fiber, Layer, Schedule, TestClock, TestContext } from "effect"
import * as HourlyRollups from "../../src/operations/HourlyRollups.ts"
import { makeBacklogCounts } from "../../src/repositories/internal/BacklogCounts.ts"
import { StatisticsRepo } from "../../src/repositories/StatisticsRepo.ts"

const here = Layer.mergeAll(HourlyRollups.layer, StatisticsRepo.Default).pipe(Layer.provideMerge(TestPg))
const LITTLE = 50
const MUCH = 2_000
const MONTH = 720

const made = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { id: workspaceId } = yield* workspace()
  const [healthy, failing] = [yield* endpoint(workspaceId), yield* endpoint(workspaceId)]
  const deliveries = (endpoint: EndpointId, count: number, age: number, status = "delivered") =>
    sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, attempts,
        last_duration_ms, created_at)
      select ${workspaceId}, posthorn.id_at('whd_', at) || right(posthorn.new_id(''), 16), ${endpoint}, 'a.b', '1',
        md5(n::text), ${status}, 1, n, at
      from generate_series(1, ${count}::integer) n, lateral (
        select date_trunc('hour', now(), 'UTC') - ${age}::integer * interval '1 hour' + n * interval '1 second' as at) t`
  return { workspaceId, healthy, failing, deliveries }
})

/** Waits until no open transaction on the server, in whatever database, prevents it: tests run concurrently. */
const overAtLast = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql<{ known: boolean }>`select posthorn.hours_over() is not null as known`.pipe(
    Effect.repeat({ schedule: Schedule.spaced("50 millis"), until: ([row]) => row!.known })
  )
})
const counted = Effect.zipRight(
  overAtLast,
  Effect.flatMap(HourlyRollups.HourlyRollups, ({ count }) => count)
)

/** The number of deliveries that `ask` read; `ask` gives its last row, the whole period. */
const looked = <A, E, R>(ask: Effect.Effect<ReadonlyArray<A>, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const fetched = Effect.map(sql.unsafe<{ n: number }>(readRows("deliveries")), ([row]) => row!.n)
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        const before = yield* fetched
        const rows = yield* ask
        return { read: (yield* fetched) - before, total: rows.at(-1)! }
      })
    )
  })

const MANY = 50_000
const WORKSPACES = 20

/** A range of queue rows by number. */
const wait = (workspaceId: WorkspaceId, from: number, to: number) =>
  rows`insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
      select ${workspaceId}, 'whd_' || n, 'whe_1', 0, now() from generate_series(${from}::integer, ${to}::integer) n`

layer(here, { excludeTestServices: true })("statistics", (it) => {
  it.effect(
    "§4.5 read no more deliveries for overview and statistics, however many lie in rolled-up hours",
    () =>
      Effect.gen(function* () {
        const statistics = yield* StatisticsRepo
        const sql = yield* SqlClient
        const { deliveries, failing, healthy, workspaceId } = yield* made
        const overview = Effect.gen(function* () {
          const { at } = yield* statistics.overview(whole(workspaceId))
          return yield* statistics.ofWorkspace(whole(workspaceId), at)
        })
        const asked = Effect.all({
          day: looked(overview),
          month: looked(statistics.ofEndpoint(workspaceId, healthy, MONTH))
        })
        for (const age of [0, 4, 9, 100, 600]) yield* deliveries(healthy, LITTLE, age)
        yield* deliveries(failing, 7, 6, "failed")
        // As autovacuum does before there are many: without statistics, an index with the wrong columns seems equally good.
        yield* sql`analyze`
        expect(yield* counted).toBe(5)
        const little = yield* asked
        // Of the current hour, and of the endpoint with pending deliveries; by either index, while there are so few.
        const few = 2 * (LITTLE + 7)
        expect(Math.max(little.day.read, little.month.read)).toBeLessThanOrEqual(few)

        for (const age of [4, 5, 10, 101, 601]) yield* deliveries(healthy, MUCH, age)
        yield* sql`truncate posthorn.hourly_rollups`
        const uncounted = yield* asked
        expect(uncounted.day.read).toBeGreaterThan(3 * MUCH)
        expect(uncounted.month.read).toBeGreaterThan(5 * MUCH)
        yield* counted
        const much = yield* asked
        expect(Math.max(much.day.read, much.month.read)).toBeLessThanOrEqual(few)
        expect([much.day.total, much.month.total]).toEqual([uncounted.day.total, uncounted.month.total])
      }).pipe(Effect.orDie)
  )

  it.effect("§4.5 begin to roll up no hour after half a minute, however many workspaces there are", () =>
    Effect.gen(function* () {
      for (let n = 0; n < WORKSPACES; n++) {
        const { deliveries, healthy } = yield* made
        yield* deliveries(healthy, 1, 7)
      }
      yield* overAtLast
      const { count } = yield* HourlyRollups.HourlyRollups
      // Each reading of the clock is two seconds later than the one before.
      let looks = 0n
      const nanos = () => looks++ * 2_000_000_000n
      const clock: Clock.Clock = {
        ...Clock.make(),
        unsafeCurrentTimeNanos: nanos,
        currentTimeNanos: Effect.sync(nanos),
        sleep: () => Effect.void
      }
      const few = yield* Effect.withClock(count, clock)
      expect(few).toBeGreaterThan(0)
      expect(few).toBeLessThan(WORKSPACES)
      expect(yield* count).toBe(WORKSPACES - few)
    }).pipe(Effect.orDie)
  )

  it.effect("§4.5 count waiting deliveries for each answer, but large backlogs less often", () =>
    Effect.gen(function* () {
      const statistics = yield* StatisticsRepo
      const sql = yield* SqlClient
      const { workspaceId } = yield* made
      const other = (yield* made).workspaceId
      /** The oldest waiting delivery. */
      const first = (of: WorkspaceId) =>
        sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
          values (${of}, 'whd_1', (select id from posthorn.endpoints where workspace_id = ${of} limit 1), 'a.b', '1', 't', now())`
      yield* first(workspaceId)
      yield* first(other)
      const waiting = (of: WorkspaceId) => Effect.map(statistics.overview(whole(of)), (row) => row.waiting)
      yield* wait(workspaceId, 1, MANY)
      expect(yield* waiting(workspaceId)).toBe(MANY)
      yield* wait(workspaceId, MANY + 1, MANY + 1)
      expect(yield* waiting(workspaceId)).toBe(MANY + 1)

      // The clock stands still, so this workspace's count is kept until the clock goes on.
      yield* wait(workspaceId, MANY + 2, MANY + 2)
      yield* wait(other, 1, 1)
      expect([yield* waiting(workspaceId), yield* waiting(other)]).toEqual([MANY + 1, 1])
      yield* TestClock.adjust("2 seconds")
      expect(yield* waiting(workspaceId)).toBe(MANY + 2)
      yield* sql`delete from posthorn.queue where workspace_id = ${workspaceId}`
      // The kept count disagrees, but there is no oldest delivery.
      expect(yield* statistics.overview(whole(workspaceId))).toMatchObject({
        waiting: 0,
        oldestWaitingSeconds: null
      })
      yield* TestClock.adjust("2 seconds")
      expect(yield* waiting(workspaceId)).toBe(0)
      yield* wait(workspaceId, 1, 1)
      expect(yield* waiting(workspaceId)).toBe(1)
    }).pipe(Effect.provide(TestContext.TestContext), Effect.orDie)
  )

  it.effect("§4.5 count a backlog once for all who ask meanwhile, even if the first leaves", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { workspaceId } = yield* made
      let statements = 0
      const watched = new Proxy(sql, {
        apply: (statement, self, args) => {
          if (/select/.test((args[0] as TemplateStringsArray)[0]!)) statements += 1
          return Reflect.apply(statement, self, args)
        }
      })
      const waiting = makeBacklogCounts(watched)(whole(workspaceId))
      const ten = Effect.gen(function* () {
        statements = 0
        const leaves = yield* Effect.fork(waiting)
        const others = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 9 }, () => waiting),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(leaves)
        return new Set((yield* Fiber.join(others)).map(({ waiting }) => waiting))
      })
      // So few that every answer is current.
      yield* wait(workspaceId, 1, 7)
      expect(yield* ten).toEqual(new Set([7]))
      expect(statements).toBe(10)
      yield* wait(workspaceId, 8, MANY + 1)
      expect(yield* ten).toEqual(new Set([MANY + 1]))
      expect(statements).toBe(1)
    }).pipe(Effect.orDie)
  )
})
