/**
 * The cost of the worker's statements must not depend on PostgreSQL's statistics of the tables. They are functions whose
 * plans are kept per connection, so a plan made while the queue was empty is used when a burst fills it. Costs are measured
 * in pages read, so that a slow machine changes nothing. Source: spec §8, docs/benchmarks.md.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { expect, layer } from "@effect/vitest"
import { newId, type ReplayId, type WorkspaceId } from "@posthorn/domain/Ids"
import { connect, EMPTY, endpoint, readRows, workspace } from "@posthorn/testkit/Seeds"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Layer } from "effect"
import * as ReplaySteps from "../../src/engine/ReplaySteps.ts"
import { checkQuotas } from "../../src/operations/Quotas.ts"
import * as Retention from "../../src/operations/Retention.ts"

const GROUP = 100
const WAITING = 10_000
const SCAN_LIMIT = 1_000
/** Workspaces without rows. */
const IDLE = 500
/**
 * Measured: 8 (2 of them for the event's payload) and 27. With an index that has the key in a later column, or a scan of a
 * whole index, 12 and 30 to 35.
 */
const PAGES_TO_LOAD = 9
const PAGES_TO_RECORD = 28
/**
 * The number of measured groups; the cheapest counts. A session also reads pages of the catalogue, for plans and look-ups:
 * after another session had made 1,500 tables, a call took 18.8 pages for each delivery instead of 8. A plan that reads too
 * much does so for each group.
 */
const TURNS = 3

type Query = Effect.Effect.Success<typeof connect>

/** Publishes a number of events to all endpoints of the workspace, in one call. */
const publish = (query: Query, slug: string, events: number) =>
  query(
    `select count(*) from posthorn.publish_events($1, array_fill('invoice.paid'::text, array[$2::integer]),
      array_fill('{}'::json, array[$2::integer]), array_fill(null::text, array[$2::integer]))`,
    slug,
    events
  )

/** The result of a transaction that is rolled back, and how many rows of the table it read. */
const counted = <A, E, R>(query: Query, table: string, ask: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const read = Effect.map(query(readRows(table)), ([row]) => row!.n as number)
    yield* query("begin")
    const before = yield* read
    const answer = yield* ask
    const after = yield* read
    yield* query("commit")
    return { answer, read: after - before }
  })

const LOAD = `posthorn.load(
  (select array_agg(workspace_id order by delivery_id) from picked),
  (select array_agg(delivery_id order by delivery_id) from picked),
  (select array_agg(endpoint_id order by delivery_id) from picked),
  (select array_agg(attempts order by delivery_id) from picked),
  (select array_agg('0'::bigint) from picked))`

const each = (value: string) => `(select array_agg(${value} order by delivery_id) from picked)`

const COLUMNS = `workspace_id; delivery_id; endpoint_id; 0; attempts + 1::smallint; posthorn.new_id('wha_'); 'delivered'::text;
  1767225600000::bigint; 1; 200::smallint; null::text; null::text; 'v1,x'::text; null::text; 'ok'::text; null::integer; false;
  'https://example.com/'::text; null::text; false; 0::bigint; 20; null::integer; false; 0`

const recorded = (columns: string) =>
  `posthorn.record(${columns.split(";").map(each).join(", ")}, '{"a":"b"}')`
const RECORD = recorded(COLUMNS)
/** The first attempts failed and will be repeated; the endpoint's streak changes, and it stays enabled. */
const RECORD_FAILED = recorded(
  COLUMNS.replace("'delivered'::text", "'failed'::text")
    .replace("200::smallint; null::text", "500::smallint; 'http_status'::text")
    .replace("null::integer", "30000")
    .replace("0::bigint; 20", `0::bigint; ${GROUP + 1}`)
)
/** Under a rate limit, and too late: another observation was first. */
const RECORD_LIMITED = recorded(
  COLUMNS.replace("attempts + 1::smallint", "attempts + 2::smallint").replace(
    "null::text; false; 0::bigint",
    "null::text; true; 0::bigint"
  )
)
const RECORD_EACH = RECORD.replace("posthorn.record(", "posthorn.record_each(")
const SHARDS = "array(select generate_series(0, 31)::smallint)"

const due = (skip: string) =>
  `posthorn.due(${SHARDS}, array_fill(0::bigint, array[32]), array_fill(''::text, array[32]), ${skip}, 100, 100)`
const claim = (count: number, limit: number) =>
  `posthorn.claim(${["workspace_id", "delivery_id", "attempts", `${count}::smallint`].map(each).join(", ")}, ${limit}, true)`

/** The worker's statements, and the indexes that each may use. None reads a whole table. */
const STATEMENTS: Readonly<Record<string, readonly [call: string, ...indexes: ReadonlyArray<string>]>> = {
  due: [due("'{}'"), "queue_due"],
  "due, without some endpoints": [due("array['whe_1']"), "queue_due"],
  first_of_endpoints: ["posthorn.first_of_endpoints('', '', 500)", "endpoints_pkey", "queue_endpoint"],
  "next due": [`posthorn.next_due(${SHARDS})`, "queue_due"],
  "due of single endpoints": [
    `posthorn.due_of_endpoints(${["workspace_id", "endpoint_id", "0::bigint", "''::text", "10"].map(each).join(", ")})`,
    "endpoints_pkey",
    "queue_endpoint"
  ],
  load: [LOAD, "deliveries_pkey", "endpoints_pkey", "events_pkey", "workspaces_pkey"],
  claim: [claim(1, 7), "queue_pkey"],
  "claim of poison": [claim(8, 0), "dead_letters_pkey", "deliveries_pkey", "queue_pkey"],
  "record what was delivered": [RECORD, "deliveries_pkey", "endpoints_pkey", "queue_pkey"],
  "record what failed": [
    RECORD_FAILED,
    "deliveries_pkey",
    "endpoints_pkey",
    "failed_deliveries_pkey",
    "installation",
    "queue_pkey",
    "workspaces_pkey"
  ],
  "record under a rate limit, too late": [
    RECORD_LIMITED,
    "attempt_starts_pkey",
    "attempts_pkey",
    "deliveries_pkey",
    "endpoints_pkey"
  ],
  "record row by row": [RECORD_EACH, "deliveries_pkey", "endpoints_pkey", "queue_pkey"],
  "blocked endpoints": [
    `posthorn.blocked_endpoints(${["workspace_id", "delivery_id", "endpoint_id", "'failed'::text"].map(each).join(", ")})`,
    "deliveries_pkey",
    "endpoints_pkey",
    "queue_pkey"
  ],
  "clear doubt": [`posthorn.clear_doubt(${SHARDS}, 'me')`, "shards_pkey"],
  "starts since": [
    `posthorn.starts_since(${["workspace_id", "endpoint_id", "5", "60", "5"].map(each).join(", ")})`,
    "attempt_starts_pkey",
    "shards_pkey"
  ],
  "next start": [
    `(select posthorn.next_start(workspace_id, endpoint_id) from picked) as next`,
    "attempt_starts_pkey",
    "endpoints_pkey",
    "workspaces_pkey"
  ],
  "dead letters": [
    "posthorn.dead_letter(100)",
    "dead_letters_pkey",
    "deliveries_pkey",
    "failed_deliveries_pkey",
    "installation",
    "notifications_once",
    "notifications_pkey",
    "workspaces_pkey"
  ]
}

/** How often this transaction and those just before it read each index, and each whole table. */
const SCANS = `select relname as name, pg_stat_get_xact_numscans(oid)::integer as scans from pg_class
  where relnamespace = 'posthorn'::regnamespace and relkind in ('i', 'r')`

/** What a call reads: the names of its indexes, and of the tables that it reads from end to end. */
const scannedBy = (query: Query, call: string) =>
  Effect.gen(function* () {
    yield* query("begin")
    const before = new Map((yield* query(SCANS)).map(({ name, scans }) => [name, scans]))
    yield* query(`select * from ${call}`)
    const after = yield* query(SCANS)
    yield* query("rollback")
    return after.flatMap(({ name, scans }) => (scans === before.get(name) ? [] : [name as string])).sort()
  })

const picked = (count: number) => `create temp table picked as
  select * from posthorn.queue order by delivery_id desc limit ${count}`

/** Pages touched by `call`, including everything that it calls. */
const pagesOf = (query: Query, call: string) =>
  Effect.map(query(`explain (analyze, buffers, format json) select * from ${call}`), (rows) => {
    const [explained] = rows[0]!["QUERY PLAN"] as ReadonlyArray<{
      readonly Plan: Readonly<Record<string, number>>
    }>
    return explained!.Plan["Shared Hit Blocks"]! + explained!.Plan["Shared Read Blocks"]!
  })

const states = {
  "was never counted": "select 1",
  "was counted when it was empty": "vacuum analyze",
  "was counted with one row": "vacuum analyze posthorn.deliveries, posthorn.queue, posthorn.endpoints"
} as const

/** What the worker does now and then. Only workspaces and the worker's own rows are read from end to end; each is one row a name. */
const PERIODIC: Readonly<Record<string, Effect.Effect<unknown, SqlError, Periodic>>> = {
  "forget starts": Effect.flatMap(Retention.Retention, ({ forget }) => forget),
  "erase kept answers": Effect.flatMap(Retention.Retention, ({ erase }) => erase),
  "remove history": Effect.flatMap(Retention.Retention, ({ run }) => run),
  "begin the daily run": rows`select posthorn.begin_daily_run('x')`,
  "check quotas": checkQuotas,
  "remove rollups": rows`select posthorn.remove_old_rollups()`,
  "hours to roll up": rows`select posthorn.hours_to_roll_up(date_trunc('hour', now()))`,
  "roll up an hour": rows`select posthorn.roll_up_hour((select min(id) from posthorn.workspaces), date_trunc('hour', now()))`,
  "running replays": Effect.flatMap(ReplaySteps.ReplaySteps, ({ running }) => running([1, 2, 3])),
  "a replay's step": Effect.gen(function* () {
    const sql = yield* SqlClient
    const { step } = yield* ReplaySteps.ReplaySteps
    const [ws] = yield* sql<{ id: WorkspaceId }>`select id from posthorn.workspaces limit 1`
    yield* step({ workspaceId: ws!.id, id: "rpl_1" as ReplayId }, 100, 1_000)
  })
}
type Periodic = SqlClient | ReplaySteps.ReplaySteps | Retention.Retention
const OF_THE_PROGRAM = ["daily_runs", "ended_hours", "installation", "shards", "workspaces"]

layer(TestPg, { excludeTestServices: true })("the worker's statements", (it) => {
  it.effect("§3.4 read no table from end to end for the work that is done now and then", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id } = yield* workspace()
      const endpointId = yield* endpoint(id)
      yield* sql`with d as (
          insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
          select ${id}, 'whd_' || n, ${endpointId}, 'a.b', '1', 't', now() from generate_series(1, ${WAITING}) n returning id
        ) insert into posthorn.attempts
          (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, url, request_headers, trace_id)
          select ${id}, id, 1, 'wha_' || id, 'delivered', now(), 1, 'https://example.com/', '{}', 't' from d`
      yield* sql`insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, include_missed,
          include_recovered, include_tests, matched, missed, recovered, under_way, tests, actor_type, actor_id, via, trace_id)
        select ${id}, 'rpl_' || n, ${endpointId}, 1, '{failed}', '-infinity', true, false, false, 1, 0, 0, 0, 0,
          'operator', 'operator', 'rest', 't' from generate_series(1, 500) n`
      yield* sql`insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
        select 'wsp_' || n % 9, 'whe_' || n % 99, now(), n from generate_series(1, ${WAITING}) n`
      yield* sql`insert into posthorn.idempotency_keys (workspace_id, key, fingerprint, event_id, delivery_ids, created_at)
        select ${id}, n, '', 'evt_1', '{}', now() from generate_series(1, ${WAITING}) n`
      const reads = sql.unsafe<{ name: string; scans: number }>(SCANS.replace("('i', 'r')", "('r')"))
      const seen = yield* Effect.forEach(Object.entries(PERIODIC), ([name, work]) =>
        Effect.gen(function* () {
          const before = new Map((yield* reads).map(({ name, scans }) => [name, scans]))
          yield* work
          const after = yield* reads
          return after.flatMap((one) =>
            one.scans === before.get(one.name) || OF_THE_PROGRAM.includes(one.name)
              ? []
              : [`${name}: ${one.name}`]
          )
        }).pipe(sql.withTransaction)
      )
      yield* sql.unsafe(EMPTY)
      expect(seen.flat()).toEqual([])
    }).pipe(Effect.provide(Layer.merge(Retention.layer, ReplaySteps.layer)))
  )

  it.scoped(
    "§3.4 read a row or two of each workspace to find those with old history, however long the history is",
    () =>
      Effect.gen(function* () {
        const query = yield* connect
        const { id, slug } = yield* workspace()
        yield* endpoint(id)
        yield* query(`insert into posthorn.workspaces (id, slug, name)
        select posthorn.new_id('wsp_'), 'idle' || n, 'idle' from generate_series(1, ${IDLE}) n`)
        yield* publish(query, slug, WAITING)
        yield* query("analyze posthorn.deliveries, posthorn.events, posthorn.workspaces")
        const tidied = query("select count(*) from posthorn.workspaces_to_tidy('30 days', '24 hours')")
        for (const table of ["deliveries", "events"])
          expect((yield* counted(query, table, tidied)).read).toBeLessThan(10)
      })
  )

  for (const [state, count] of Object.entries(states)) {
    it.scoped(`§8 read a few pages per delivery, also where the queue ${state} before a burst`, () =>
      Effect.gen(function* () {
        const query = yield* connect
        if (state.includes("empty")) yield* query(count)
        const { id, slug } = yield* workspace()
        yield* endpoint(id)
        yield* publish(query, slug, 1)
        if (state.includes("one row")) yield* query(count)
        yield* query(picked(1))
        yield* query(`select * from ${LOAD}`)
        yield* query(`select * from ${RECORD}`)
        yield* query("drop table picked")

        yield* publish(query, slug, WAITING)
        const turns = yield* Effect.replicateEffect(
          Effect.gen(function* () {
            yield* query(picked(GROUP))
            const loading = yield* pagesOf(query, LOAD)
            const recording = yield* pagesOf(query, RECORD)
            yield* query("drop table picked")
            return { loading, recording }
          }),
          TURNS
        )

        yield* query(picked(GROUP))
        yield* query(`insert into posthorn.dead_letters (workspace_id, delivery_id, reason)
          select workspace_id, delivery_id, 'retries_spent' from picked limit 10`)
        for (const [name, [call, ...indexes]] of Object.entries(STATEMENTS))
          expect([name, ...(yield* scannedBy(query, call))]).toEqual([name, ...indexes])

        const least = (of: (turn: (typeof turns)[number]) => number) => Math.min(...turns.map(of)) / GROUP
        expect(least(({ loading }) => loading)).toBeLessThan(PAGES_TO_LOAD)
        expect(least(({ recording }) => recording)).toBeLessThan(PAGES_TO_RECORD)
        yield* query(EMPTY)
      })
    )
  }

  it.scoped(
    "§3.1 read a bounded number of rows, and continue from there, however many rows a skipped endpoint has",
    () =>
      Effect.gen(function* () {
        const query = yield* connect
        const { id, slug } = yield* workspace()
        const endpointId = yield* endpoint(id)
        yield* publish(query, slug, WAITING)
        const look = (past: number, from: string) =>
          counted(
            query,
            "queue",
            Effect.map(
              query(
                `select delivery_ids as id, dues::float8 as past from posthorn.due(array[posthorn.shard_of($1)],
                  array[$2::bigint], array[$3], array[$1], 1000, $4) where endpoint_id is null and shard is not null`,
                ...[endpointId, past, from, SCAN_LIMIT]
              ),
              ([row]) => row as { readonly id: string; readonly past: number }
            )
          )
        const first = yield* look(0, "")
        const second = yield* look(first.answer.past, first.answer.id)
        const [behind] = yield* query(
          "select count(*)::integer as n from posthorn.queue where delivery_id <= $1",
          second.answer.id
        )

        // Once for the rows, and once for where reading ended.
        expect([first.read, second.read]).toEqual([2 * SCAN_LIMIT, 2 * SCAN_LIMIT])
        expect(behind!.n).toBe(2 * SCAN_LIMIT)
        yield* query(EMPTY)
      })
  )

  it.scoped("§3.1 read no row that is not due, however many there are since their plan was made", () =>
    Effect.gen(function* () {
      const query = yield* connect
      const { id } = yield* workspace()
      /** One poll. */
      const poll = (past: string) =>
        query(
          `select count(*) from posthorn.due(array(select generate_series(0, 31))::smallint[],
              array_fill(${past}::bigint, array[32]), array_fill(''::text, array[32]), '{}', 100, 100)`
        )
      yield* poll("0")
      yield* query(
        `insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
            select $1, 'whd_' || n, 'whe_1', n % 32, now() + (n % 2 * 2 - 1) * interval '1 hour'
            from generate_series(1, $2::integer) n`,
        id,
        WAITING
      )
      expect((yield* counted(query, "queue", poll("posthorn.micros(now())"))).read).toBe(0)
      yield* query(EMPTY)
    })
  )

  it.scoped("§3.4 removes attempts with their delivery by its key, however many others exist", () =>
    Effect.gen(function* () {
      const query = yield* connect
      const { id } = yield* workspace()
      const endpointId = yield* endpoint(id)
      const attempts = (from: number, to: number) => `with d as (
          insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
          select '${id}', 'whd_' || n, '${endpointId}', 'a.b', '1', 't', now() from generate_series(${from}, ${to}) n returning id
        ) insert into posthorn.attempts
          (workspace_id, delivery_id, ordinal, id, status, at, duration_ms, url, request_headers, trace_id)
          select '${id}', id, 1, 'wha_' || id, 'delivered', now(), 1, 'https://example.com/', '{}', 't' from d`
      yield* query(attempts(1, 3))
      yield* query("vacuum analyze posthorn.attempts")
      yield* query("delete from posthorn.deliveries where id = 'whd_1'")
      yield* query(attempts(4, WAITING))

      yield* query("begin")
      yield* query("delete from posthorn.deliveries where id in ('whd_2', 'whd_5000')")
      const [read] = yield* query(
        "select seq_tup_read as scanned, idx_tup_fetch as fetched from pg_stat_xact_user_tables where relname = 'attempts'"
      )
      yield* query("commit")

      expect(read!.scanned).toBe("0")
      // One belongs to the previous removal.
      expect(Number(read!.fetched)).toBeLessThanOrEqual(3)
    })
  )

  for (const whose of ["an endpoint", "a workspace"]) {
    it.scoped(
      `§8 reads a page of ${whose} by its index, with a plan that was made while the tables were empty`,
      () =>
        Effect.gen(function* () {
          const query = yield* connect
          const [workspaceId, endpointId] = [newId("workspace"), newId("endpoint")]
          const page = query(
            "select id from posthorn.newest_deliveries($1, $2, 'whd_g', 51)",
            ...[workspaceId, whose === "an endpoint" ? endpointId : null]
          )
          for (let n = 0; n < 10; n++) yield* page
          yield* query(
            `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
           select $1, 'whd_' || lpad(to_hex(n), 13, '0'), $2, 'a.b', '1', 't', now() from generate_series(1, 1000) n union all
           select $1, 'whd_1' || lpad(to_hex(n), 12, '0'), $3, 'a.b', '1', 't', now() from generate_series(1, ${WAITING}) n`,
            ...[workspaceId, endpointId, newId("endpoint")]
          )

          const { answer, read } = yield* counted(query, "deliveries", page)
          yield* query("delete from posthorn.deliveries")

          expect(answer).toHaveLength(51)
          expect(read).toBeLessThanOrEqual(51)
        })
    )
  }

  it.effect("§4.5 reads no more of an endpoint's deliveries than it removes at a time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [workspaceId, endpointId] = [newId("workspace"), newId("endpoint")]
      yield* sql`insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
        select ${workspaceId}, made.id, ${endpointId}, 'a.b', '1', 't', posthorn.made_at(made.id)
        from (select posthorn.new_id('whd_') as id from generate_series(1, ${WAITING}) offset 0) made`
      yield* sql`vacuum analyze posthorn.deliveries`
      const { fetched, more } = yield* Effect.gen(function* () {
        const [done] = yield* sql<{ more: boolean }>`
          select posthorn.remove_of_endpoint(${workspaceId}, ${endpointId}, ${GROUP}) as more`
        const [row] = yield* sql.unsafe<{ n: number }>(readRows("deliveries"))
        return { more: done!.more, fetched: row!.n }
      }).pipe(sql.withTransaction)

      expect(more).toBe(true)
      // Found, locked, and removed.
      expect(fetched).toBeLessThanOrEqual(3 * GROUP + 3)
      yield* sql`delete from posthorn.deliveries`
    })
  )

  it.scoped("§4.5 reads no rollup each minute except those that are too old", () =>
    Effect.gen(function* () {
      const query = yield* connect
      const keep = (workspace: string, from: number, to: number) =>
        query(
          `with hours as (
            select date_trunc('hour', now()) - n * interval '1 hour' as hour from generate_series($2::integer, $3::integer) n
          ), removed as (
            insert into posthorn.stale_hours select $1, hour, 'whe_1', 0, 0, 0, '{}', '{}' from hours
          ) insert into posthorn.hourly_rollups select $1, hour, '', 0, 0, 0, '{}', '{}', '{}', now() from hours`,
          ...[workspace, from, to]
        )
      yield* keep("wsp_1", 1, 3)
      yield* query("vacuum analyze posthorn.hourly_rollups, posthorn.stale_hours")
      for (let n = 2; n < 20; n++) yield* keep(`wsp_${n}`, 1, 700)
      yield* keep("wsp_1", 800, 802)

      yield* query("begin")
      yield* query("select posthorn.remove_old_rollups()")
      const rows = yield* query(
        `select (seq_tup_read + idx_tup_fetch)::integer as looked, n_tup_del::integer as gone from pg_stat_xact_user_tables
         where relid in ('posthorn.hourly_rollups'::regclass, 'posthorn.stale_hours'::regclass)`
      )
      yield* query("rollback")
      yield* query("truncate posthorn.hourly_rollups, posthorn.stale_hours")

      // One more, because the planner reads the oldest entry.
      for (const { gone, looked } of rows) {
        expect(gone).toBe(3)
        expect(looked).toBeLessThanOrEqual(2 * 3)
      }
      expect(rows).toHaveLength(2)
    })
  )
})
