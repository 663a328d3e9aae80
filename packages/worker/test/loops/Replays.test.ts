/** How workers make replay jobs: each source once, whatever happens on the way. */
import * as SqlClient from "@effect/sql/SqlClient"
import { layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import * as ReplaySteps from "@posthorn/persistence/engine/ReplaySteps"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { row, rows } from "@posthorn/testkit/Sql"
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import {
  disable,
  drained,
  enable,
  endpoint,
  publish,
  Setting,
  until,
  type Workspace,
  worker,
  workspace
} from "../Setting.ts"

interface Job {
  readonly state: string
  readonly matched: number
  readonly missed: number
  readonly replayed: number
  readonly failed: number
}

const sqlOf = SqlClient.SqlClient

/** Starts a job, as the capability does. */
const startJob = ({ id }: Workspace, endpointId: string, statuses = "{failed_permanent,dead_lettered}") =>
  Effect.gen(function* () {
    const sql = yield* sqlOf
    const replay = newId("replay")
    yield* sql`insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, include_missed,
        include_recovered, include_tests, matched, missed, recovered, under_way, tests, actor_type, actor_id, via, trace_id)
      select ${id}, ${replay}, ${endpointId}, posthorn.shard_of(${endpointId}), ${statuses}::text[], '-infinity', true,
        false, false, deliveries + missed, missed, recovered, under_way, tests, 'operator', 'operator', 'rest', posthorn.new_trace_id()
      from posthorn.count_replay(${id}, ${endpointId}, ${statuses}::text[], '-infinity', null, true, false, false)`
    return replay
  })

const jobOf = ({ id }: Workspace, replay: string) =>
  row<Job>`select state, matched, missed, replayed, failed from posthorn.replays
        where workspace_id = ${id} and id = ${replay}`

const ended = (where: Workspace, replay: string) =>
  until(jobOf(where, replay), ({ state }) => state !== "running")

const step = ({ id }: Workspace, replay: string, batch = 100, room = 200) =>
  row<{ outcome: string; made: number }>`
        select outcome, made from posthorn.replay_step(${id}, ${replay}, ${batch}, ${room})`

/** How often each source was replayed; also checks that each new delivery has its audit event. */
const replaysOf = ({ id }: Workspace) =>
  rows<{ source: string; times: number; audited: number }>`
      select coalesce(d.replayed_from, d.event_id) as source, count(distinct d.id)::integer as times,
        count(a.id)::integer as audited
      from posthorn.deliveries d
      left join posthorn.audit_events a on a.workspace_id = d.workspace_id and a.target_id = d.id
        and a.action = 'webhook.delivery_replayed'
      where d.workspace_id = ${id} and d.replay_id is not null group by 1 order by 1`

/** An endpoint with deliveries that failed for good, and missed events. */
const outage = (url: string, refused: number, missed: number) =>
  Effect.gen(function* () {
    const sql = yield* sqlOf
    const acme = yield* workspace
    const { id: endpointId } = yield* endpoint(acme, url)
    const ids = yield* publish(acme, refused)
    yield* sql`update posthorn.deliveries set status = 'failed_permanent', attempts = 1 where workspace_id = ${acme.id}`
    yield* sql`delete from posthorn.queue where workspace_id = ${acme.id}`
    yield* disable(endpointId)
    if (missed > 0) yield* publish(acme, missed)
    yield* enable(endpointId)
    return { acme, endpointId, ids }
  })

layer(Setting, { excludeTestServices: true })("replay jobs", (it) => {
  it.scoped("§4.6 makes three jobs of a workspace at a time, and none of a disabled endpoint", () =>
    Effect.gen(function* () {
      const acme = yield* workspace
      const endpoints = yield* Effect.replicateEffect(endpoint(acme, "https://example.com/"), 6)
      const jobs = yield* Effect.forEach(endpoints, ({ id }) => startJob(acme, id))
      const steps = yield* Effect.provide(ReplaySteps.ReplaySteps, ReplaySteps.layer)
      const turns = Effect.map(steps.running(Array.from({ length: 32 }, (_, shard) => shard)), (running) =>
        running.map(({ id }) => jobs.indexOf(id))
      )
      const sql = yield* sqlOf
      const states = sql<{ queued: boolean }>`select posthorn.replay_is_queued(workspace_id, id) as queued
        from posthorn.replays where workspace_id = ${acme.id} order by id`.pipe(
        Effect.map((rows) => rows.map(({ queued }) => queued))
      )

      expect(yield* turns).toEqual([0, 1, 2])
      expect(yield* states).toEqual([false, false, false, true, true, true])
      yield* disable(endpoints[1]!.id)
      expect(yield* turns).toEqual([0, 2, 3])
      yield* sql`update posthorn.replays set state = 'cancelled', finished_at = now() where id = ${jobs[0]!}`
      expect(yield* turns).toEqual([2, 3, 4])
      yield* sql`delete from posthorn.replays where workspace_id = ${acme.id}`
    })
  )

  it.scoped("§4.6 sends each failed delivery and each missed event once more, and audits each", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { acme, endpointId } = yield* outage(receiver.url("/status/200"), 250, 120)
      const replay = yield* startJob(acme, endpointId)
      yield* worker()

      const job = yield* ended(acme, replay)
      yield* drained(acme)
      const made = yield* replaysOf(acme)

      expect(job).toEqual({ state: "done", matched: 370, missed: 120, replayed: 370, failed: 0 })
      expect(made).toHaveLength(370)
      expect(made.filter(({ audited, times }) => times !== 1 || audited !== 1)).toEqual([])
      expect(receiver.received).toHaveLength(370)
    })
  )

  it.scoped("§4.6 sends a missed event once, whoever asks", () =>
    Effect.gen(function* () {
      const { acme, endpointId } = yield* outage("https://example.com/", 0, 60)
      const jobs = [yield* startJob(acme, endpointId), yield* startJob(acme, endpointId)]

      const run = (replay: string) =>
        Effect.repeat(step(acme, replay, 7, 1_000), { until: ({ outcome }) => outcome === "finished" })
      yield* Effect.all(jobs.map(run), { concurrency: 2 })
      const [first, second] = yield* Effect.all(jobs.map((replay) => jobOf(acme, replay)))

      expect([first!.matched, second!.matched]).toEqual([60, 60])
      expect(first!.replayed + second!.replayed).toBe(60)
      expect(first!.replayed + first!.failed).toBe(60)
      expect((yield* replaysOf(acme)).filter(({ times }) => times !== 1)).toEqual([])
    })
  )

  it.scoped("§4.6 repeats nothing and omits nothing when a step's transaction is lost", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const { acme, endpointId } = yield* outage("https://example.com/", 25, 15)
      const replay = yield* startJob(acme, endpointId)
      const lost = Effect.ignore(
        sql.withTransaction(Effect.zipRight(step(acme, replay, 10, 1_000), Effect.fail("crash")))
      )

      for (let n = 0; n < 12; n++) {
        yield* lost
        yield* step(acme, replay, 10, 1_000)
      }

      expect(yield* jobOf(acme, replay)).toEqual({
        state: "done",
        matched: 40,
        missed: 15,
        replayed: 40,
        failed: 0
      })
      expect((yield* replaysOf(acme)).map(({ times }) => times)).toEqual(Array(40).fill(1))
    })
  )

  it.scoped("§4.6 replays what existed at its start, and counts as failed what is gone since", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const { acme, endpointId, ids } = yield* outage("https://example.com/", 20, 0)
      const replay = yield* startJob(acme, endpointId)
      const later = yield* publish(acme, 5)
      yield* sql`update posthorn.deliveries set status = 'failed_permanent' where id = any (${later as Array<string>}::text[])`
      yield* sql`delete from posthorn.deliveries where id = any (${ids.slice(0, 3)}::text[])`

      yield* Effect.repeat(step(acme, replay, 6, 1_000), { until: ({ outcome }) => outcome === "finished" })

      expect(yield* jobOf(acme, replay)).toEqual({
        state: "done",
        matched: 20,
        missed: 0,
        replayed: 17,
        failed: 3
      })
      const sources = (yield* replaysOf(acme)).map(({ source }) => source)
      expect(sources.filter((source) => later.includes(source))).toEqual([])
    })
  )

  it.scoped("§4.6 replays deliveries that are still being retried only when asked to", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const { acme, endpointId, ids } = yield* outage("https://example.com/", 6, 0)
      const retried = yield* publish(acme, 3)
      yield* sql`update posthorn.deliveries set status = 'failed' where id = any (${retried as Array<string>}::text[])`
      const without = yield* startJob(acme, endpointId)
      const all = yield* startJob(acme, endpointId, "{failed,failed_permanent}")
      // One is delivered by its retry before the jobs come to it, and one is given up.
      yield* sql`update posthorn.deliveries set status = 'delivered' where id = ${retried[0]!}`
      yield* sql`update posthorn.deliveries set status = 'dead_lettered' where id = ${retried[1]!}`

      for (const replay of [without, all])
        yield* Effect.repeat(step(acme, replay, 100, 1_000), {
          until: ({ outcome }) => outcome === "finished"
        })

      expect(yield* jobOf(acme, without)).toMatchObject({
        matched: ids.length,
        replayed: ids.length,
        failed: 0
      })
      expect(yield* jobOf(acme, all)).toMatchObject({ matched: 9, replayed: 8, failed: 1 })
    })
  )

  it.scoped("§4.6 lets new publishes go first: no more than its share waits", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const { acme, endpointId } = yield* outage("https://example.com/", 500, 0)
      const replay = yield* startJob(acme, endpointId)
      const waiting = Effect.map(
        sql<{
          n: number
        }>`select count(*)::integer as n from posthorn.queue where endpoint_id = ${endpointId}`,
        (rows) => rows[0]!.n
      )

      const outcomes = []
      for (let n = 0; n < 5; n++) outcomes.push((yield* step(acme, replay, 100, 200)).outcome)

      expect(outcomes).toEqual(["stepped", "stepped", "waiting", "waiting", "waiting"])
      expect(yield* waiting).toBe(200)
      yield* sql`delete from posthorn.queue where endpoint_id = ${endpointId}`
      expect(yield* step(acme, replay, 100, 200)).toEqual({ outcome: "stepped", made: 100 })
    })
  )

  it.scoped("§4.6 jobs of one endpoint share the limit of waiting deliveries; each source is sent once", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const [JOBS, SOURCES] = [3, 450]
      const receiver = yield* makeReceiver()
      const { acme, endpointId } = yield* outage(receiver.url("/status/200"), SOURCES, 0)
      yield* sql.unsafe(`create table public.most_waiting (n integer);
        create function public.look() returns trigger language plpgsql as $$
        begin
          insert into public.most_waiting select count(*) from posthorn.queue where endpoint_id = '${endpointId}';
          return null;
        end $$;
        create trigger look after insert on posthorn.queue for each statement execute function public.look()`)
      const jobs = yield* Effect.replicateEffect(startJob(acme, endpointId), JOBS)
      yield* worker()

      const ends = yield* Effect.forEach(jobs, (job) => ended(acme, job))
      const [{ most } = { most: 0 }] = yield* sql<{
        most: number
      }>`select max(n) as most from public.most_waiting`
      yield* sql.unsafe("drop trigger look on posthorn.queue")

      expect(ends.map(({ replayed, state }) => [state, replayed])).toEqual(
        Array(JOBS).fill(["done", SOURCES])
      )
      expect((yield* replaysOf(acme)).filter(({ times }) => times !== 1)).toEqual([])
      expect(most).toBeLessThanOrEqual(200)
    })
  )

  it.scoped("§4.6 a job that cannot go on delays no other", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const receiver = yield* makeReceiver()
      const stuck = yield* outage("https://example.com/", 5, 0)
      const { acme, endpointId } = yield* outage(receiver.url("/status/200"), 500, 0)
      yield* startJob(stuck.acme, stuck.endpointId)
      // The row of its endpoint is locked and stays so.
      const holder =
        yield* sql`update posthorn.endpoints set updated_at = now() where id = ${stuck.endpointId}`.pipe(
          Effect.zipRight(Effect.never),
          sql.withTransaction,
          Effect.forkScoped
        )
      const job = yield* startJob(acme, endpointId)
      yield* worker()

      const end = yield* ended(acme, job)
      yield* Fiber.interrupt(holder)

      expect(end).toMatchObject({ state: "done", replayed: 500 })
    })
  )

  it.scoped("§4.6 waits while the endpoint is disabled, and continues when it is enabled", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const { acme, endpointId } = yield* outage(receiver.url("/status/200"), 30, 0)
      const replay = yield* startJob(acme, endpointId)
      yield* disable(endpointId)

      const held = yield* step(acme, replay)
      yield* worker()
      yield* enable(endpointId)
      const job = yield* ended(acme, replay)

      expect(held).toEqual({ outcome: "waiting", made: 0 })
      expect(job).toMatchObject({ state: "done", replayed: 30 })
    })
  )

  it.scoped("§4.6 makes nothing more of a cancelled job, and is made by one worker at a time", () =>
    Effect.gen(function* () {
      const sql = yield* sqlOf
      const { acme, endpointId } = yield* outage("https://example.com/", 300, 0)
      const replay = yield* startJob(acme, endpointId)
      const other = yield* step(acme, replay).pipe(
        Effect.zipLeft(Effect.never),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* until(
        sql`select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
          and query like '%replay_step%'`,
        (rows) => rows.length > 0
      )

      const beside = yield* step(acme, replay)
      yield* Fiber.interrupt(other)
      const first = yield* step(acme, replay)
      yield* sql`update posthorn.replays set state = 'cancelled', finished_at = now() where id = ${replay}`
      const after = yield* step(acme, replay)

      expect([beside.outcome, first.outcome, after.outcome]).toEqual(["idle", "stepped", "idle"])
      expect(yield* jobOf(acme, replay)).toMatchObject({ state: "cancelled", replayed: 100 })
    })
  )
})
