/**
 * Statistics from rolled-up hours. Each answer is compared with one that reads every row in the plainest way, while hours
 * are rolled up and deliveries finish late and are removed.
 */
import assert from "node:assert/strict"
import { isDeepStrictEqual } from "node:util"
import { type Row, type Scenario, type Session, type Stage, writeScenarios } from "./Stage.ts"

const HOURS = 24
const ALL = ["delivered", "failed_permanent", "dead_lettered", "delivered"]

interface Made {
  readonly workspace: string
  readonly endpoints: ReadonlyArray<string>
}

const make = async (stage: Stage, slug: string, endpoints: number): Promise<Made> => {
  const workspace = await stage.workspace(slug)
  const ids: Array<string> = []
  for (let n = 0; n < endpoints; n++) ids.push(await stage.endpoint(workspace))
  return { workspace, endpoints: ids.toSorted() }
}

/** A number of deliveries of an endpoint, `age` hours ago: some without a duration, with each status in turn. */
const deliver = (
  stage: Stage,
  { workspace }: Made,
  endpoint: string,
  count: number,
  age: number,
  statuses = ["delivered"]
) =>
  stage.rows(
    `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, status, attempts,
       last_duration_ms, created_at)
     select $1, posthorn.id_at('whd_', at) || right(posthorn.new_id(''), 16), $2, 'a.b', '1', md5(n::text),
       ($5::text[])[1 + n % cardinality($5::text[])], 1, case when n % 7 > 0 then (n * 7919) % 1000 end, at
     from generate_series(1, $3::integer) n, lateral (
       select date_trunc('hour', now(), 'UTC') - $4::integer * interval '1 hour' + (n - 1) % 3600 * interval '1 second' as at) t`,
    workspace,
    endpoint,
    count,
    age,
    statuses
  )

const plain = (stage: Stage, workspace: string, endpoint: string | null) =>
  stage.rows(
    `select hour, count(*) filter (where status = 'pending')::integer as pending,
       count(*) filter (where status = 'delivered')::integer as delivered,
       count(*) filter (where status = 'failed')::integer as failed,
       count(*) filter (where status = 'failed_permanent')::integer as failed_permanent,
       count(*) filter (where status = 'dead_lettered')::integer as dead_lettered,
       percentile_disc(0.5) within group (order by last_duration_ms) as p50_ms,
       percentile_disc(0.95) within group (order by last_duration_ms) as p95_ms
     from generate_series(0, ${HOURS - 1}) back
     cross join lateral (select date_trunc('hour', now(), 'UTC') - back * interval '1 hour' as hour) h
     left join posthorn.deliveries d on workspace_id = $1 and created_at >= hour and created_at < hour + interval '1 hour'
       and ($2::text is null or endpoint_id = $2)
     group by grouping sets ((hour), ()) order by hour nulls last`,
    workspace,
    endpoint
  )

/** Every answer agrees with the rows. */
const agree = async (stage: Stage, { endpoints, workspace }: Made) => {
  for (const endpoint of [null, ...endpoints]) {
    const said = await stage.rows(
      `select * from posthorn.statistics_by_hour($1, $2, ${HOURS}, now())`,
      workspace,
      endpoint && [endpoint]
    )
    assert.deepEqual(said, await plain(stage, workspace, endpoint))
  }
}

const over = (session: Session) =>
  session.value("select posthorn.hours_over()::text") as Promise<string | null>

/**
 * Marks the newest hour as older than every open transaction on the server: tests run concurrently, and some keep
 * transactions open for long.
 */
const overAtLast = async (stage: Stage) => {
  await over(stage)
  await stage.rows("update posthorn.ended_hours set seen_by = pg_snapshot_xmin(pg_current_snapshot())")
  const hour = await over(stage)
  assert.notEqual(hour, null)
  return hour
}

/** Rolls up as `HourlyRollups` does; gives the hours. */
const count = async (stage: Stage) => {
  const until = await overAtLast(stage)
  const hours: Array<Row> = []
  for (let found = true; found; ) {
    found = false
    const wanted = await stage.rows(
      "select workspace_id as workspace, hour::text from posthorn.hours_to_roll_up($1::timestamptz)",
      until
    )
    for (const { hour, workspace } of wanted) {
      if (!(await stage.value("select posthorn.roll_up_hour($1, $2::timestamptz)", workspace, hour))) continue
      found = true
      hours.push({ workspace, hour })
      assert.ok(hours.length < 100)
    }
  }
  return hours.length
}

const number = (stage: Stage, text: string, ...values: ReadonlyArray<unknown>) =>
  stage.value(`select (${text})::integer`, ...values) as Promise<number>
const counted = (stage: Stage, { workspace }: Made, endpoint = "") =>
  number(
    stage,
    "select count(*) from posthorn.hourly_rollups where workspace_id = $1 and endpoint_id = $2",
    workspace,
    endpoint
  )
const stale = (stage: Stage, { workspace }: Made) =>
  number(stage, "select count(distinct hour) from posthorn.stale_hours where workspace_id = $1", workspace)
const openOf = (stage: Stage, { workspace }: Made) =>
  number(
    stage,
    "select sum(cardinality(open)) from posthorn.hourly_rollups where workspace_id = $1",
    workspace
  )

const scenarios = writeScenarios((it) => {
  it("hours_to_roll_up, roll_up_hour, deliveries_of, statistics_by_hour: statistics agree with the rows, in hours with and without a rollup", async (stage) => {
    const made = await make(stage, "acme", 3)
    const other = await make(stage, "other", 1)
    const [many, few, open] = made.endpoints as [string, string, string]
    for (const age of [0, 1, 2, 5, 23, 24, 30]) {
      await deliver(stage, made, many, 100 + age, age, ALL)
      await deliver(stage, made, few, 20, age, age === 5 ? [...ALL, "pending"] : ALL)
      await deliver(stage, made, open, 42, age, age === 5 ? [...ALL, "pending", "failed"] : ALL)
      await deliver(stage, other, other.endpoints[0]!, 30, age)
      // An endpoint with the same id in another workspace.
      await deliver(stage, other, open, 25, age)
    }
    await deliver(stage, made, many, 10, 24 * 40)
    await agree(stage, made)
    assert.ok((await count(stage)) >= 10)
    await agree(stage, made)
    await agree(stage, other)
    // The current hour is not over, nor is the one before it in its first minute.
    const hours = await counted(stage, made)
    assert.ok(hours === 5 || hours === 6)
    assert.deepEqual(
      [await counted(stage, made, many), await counted(stage, made, few), await counted(stage, made, open)],
      [hours, 0, hours - 1]
    )
    assert.equal(await openOf(stage, made), 2)

    // Deliveries that were pending finish, and are rolled up with the others ten minutes later.
    const ends = (status: string) =>
      stage.rows(
        "update posthorn.deliveries set status = 'delivered', last_duration_ms = 12345 where workspace_id = $1 and status = $2",
        made.workspace,
        status
      )
    const later = () =>
      stage.rows("update posthorn.hourly_rollups set counted_at = now() - interval '11 minutes'")
    await ends("pending")
    await agree(stage, made)
    assert.equal(await count(stage), 0)
    await later()
    assert.equal(await count(stage), 1)
    assert.equal(await openOf(stage, made), 1)
    await ends("failed")
    await agree(stage, made)
    await later()
    assert.equal(await count(stage), 1)
    await agree(stage, made)
    assert.deepEqual([await counted(stage, made, open), await openOf(stage, made)], [hours, 0])
    await later()
    assert.equal(await count(stage), 0)
    // Each workspace separately, even if others have been rolled up further.
    const late = await make(stage, "late", 1)
    await deliver(stage, late, late.endpoints[0]!, 30, 10)
    assert.equal(await count(stage), 1)
    assert.deepEqual([await counted(stage, late), await counted(stage, made)], [1, hours])
    await agree(stage, late)
    // Two workers that ask at the same time roll an hour up once.
    await stage.rows("select posthorn.roll_up_hour(workspace_id, hour) from posthorn.hourly_rollups")
    await agree(stage, made)
  })

  it("roll_up_hour, hours_to_roll_up, statistics_by_hour, stale_rollups, trigger rollups_become_stale, remove_rollups, trigger rollups_follow: removed deliveries are no longer counted, whoever removes them, and their hours are rolled up again", async (stage) => {
    const made = await make(stage, "acme", 2)
    const other = await make(stage, "other", 1)
    for (const age of [2, 3, 7]) {
      for (const endpoint of made.endpoints) await deliver(stage, made, endpoint, 50, age)
      await deliver(stage, other, other.endpoints[0]!, 50, age)
    }
    await count(stage)
    const remove = (most: number) =>
      stage.rows(
        `delete from posthorn.deliveries where workspace_id = $1 and created_at < now() - interval '6 hours'
             and last_duration_ms < $2`,
        made.workspace,
        most
      )
    await remove(500)
    assert.deepEqual([await stale(stage, made), await stale(stage, other)], [1, 0])
    await agree(stage, made)
    await remove(700)
    assert.equal(await stale(stage, made), 1)
    // The same hour of another workspace, and another hour of this one.
    await stage.rows(
      `delete from posthorn.deliveries where last_duration_ms < 300
           and (workspace_id = $1 or date_trunc('hour', created_at, 'UTC') = date_trunc('hour', now(), 'UTC') - interval '3 hours')`,
      other.workspace
    )
    assert.deepEqual([await stale(stage, made), await stale(stage, other)], [2, 3])
    await agree(stage, made)
    await agree(stage, other)
    assert.equal(await count(stage), 5)
    await agree(stage, made)
    await agree(stage, other)
    await stage.rows("delete from posthorn.endpoints where id = $1", made.endpoints[1])
    assert.equal(await stale(stage, made), 3)
    await agree(stage, made)
    await agree(stage, other)
    assert.equal(await count(stage), 3)
    await agree(stage, made)
    await agree(stage, other)
    assert.deepEqual(
      [await stale(stage, made), await counted(stage, made), await counted(stage, made, made.endpoints[1])],
      [0, 3, 0]
    )
    assert.deepEqual([await counted(stage, other), await counted(stage, other, other.endpoints[0])], [3, 0])

    // Hours without a rollup do not become stale.
    await deliver(stage, made, made.endpoints[0]!, 5, 12)
    await stage.rows(
      "delete from posthorn.deliveries where workspace_id = $1 and created_at < now() - interval '10 hours'",
      made.workspace
    )
    assert.equal(await stale(stage, made), 0)
    await stage.rows(
      "insert into posthorn.stale_hours select id, now(), 'e', 0, 0, 0, '{}', '{}' from posthorn.workspaces"
    )
    // Removing deliveries of an hour without a rollup is no reason to roll it up.
    assert.equal(await count(stage), 0)
    await stage.rows("delete from posthorn.workspaces where id = $1", made.workspace)
    assert.deepEqual([await counted(stage, made), await stale(stage, made)], [0, 0])
    assert.deepEqual([await counted(stage, other), await stale(stage, other)], [3, 1])
  })

  it("hours_over, hours_to_roll_up, roll_up_hour, stale_rollups: no hour is rolled up to which a transaction may still add, nor while deliveries are being removed", async (stage) => {
    const made = await make(stage, "acme", 1)
    await deliver(stage, made, made.endpoints[0]!, 30, 5)
    // Marks are compared with transactions of the whole server, whatever their database.
    for (const database of ["postgres", undefined]) {
      await stage.rows("truncate posthorn.ended_hours")
      const writer = await stage.other(database === undefined ? {} : { database })
      await writer.rows("begin")
      await writer.rows("select pg_current_xact_id()")
      assert.equal(await over(stage), null)
      assert.deepEqual(await stage.rows("select * from posthorn.hours_to_roll_up(null)"), [])
      await writer.rows("rollback")
    }
    assert.equal(await count(stage), 1)

    const writer = await stage.other()

    await writer.rows("begin")
    await writer.rows("delete from posthorn.deliveries where last_duration_ms < 500")
    const again = async (session: Session) =>
      (
        await session.rows(
          "select posthorn.roll_up_hour(workspace_id, hour) as counted from posthorn.hourly_rollups where endpoint_id = ''"
        )
      )[0]!.counted
    assert.equal(await again(stage), false)
    await writer.rows("commit")
    await agree(stage, made)
    assert.equal(await count(stage), 1)
    await agree(stage, made)

    await stage.workspace("other")
    // A transaction that deletes the workspace neither waits for a rollup, nor leaves anything behind.
    await writer.rows("begin")
    await writer.rows("select from posthorn.workspaces for update")
    const before = await stage.rows("select counted_at from posthorn.hourly_rollups")
    assert.equal(await again(stage), false)
    assert.deepEqual(await stage.rows("select counted_at from posthorn.hourly_rollups"), before)
    await writer.rows("commit")
    await stage.rows("begin")
    await stage.rows("select pg_advisory_xact_lock(posthorn.rollup_class(), hashtext($1))", made.workspace)
    await writer.rows("set lock_timeout = '50ms'")
    await writer.rows("begin")
    await writer.rows("delete from posthorn.workspaces where id = $1", made.workspace)
    assert.equal(await writer.value("select count(*) from posthorn.stale_hours"), "0")
    await writer.rows("rollback")
    await stage.rows("commit")
  })

  it("roll_up_hour, stale_rollups, hours_to_roll_up, statistics_by_hour: removing deliveries waits for no rollup, and all answers stay right", async (stage) => {
    const made = await make(stage, "acme", 2)
    const other = await make(stage, "other", 1)
    for (const one of [made, other])
      for (const endpoint of one.endpoints) await deliver(stage, one, endpoint, 60, 5, ALL)
    await overAtLast(stage)
    const writer = await stage.other()
    await writer.rows("set lock_timeout = '50ms'")
    const remove = (most: number) =>
      writer.code(`delete from posthorn.deliveries where last_duration_ms < ${most}`)
    const countHour = () =>
      stage.rows(
        `select posthorn.roll_up_hour($1, date_trunc('hour', now(), 'UTC') - interval '5 hours')`,
        made.workspace
      )
    // One hour is rolled up for the first time, another one again.
    for (const most of [300, 400]) {
      await stage.rows("begin")
      await countHour()
      assert.equal(await remove(most), null)
      await stage.rows("commit")
      await agree(stage, made)
    }
    // Hours without a rollup block nothing.
    assert.equal(await stale(stage, other), 0)
    assert.equal(await count(stage), 2)
    assert.equal(await stale(stage, made), 0)
    await agree(stage, made)
    await agree(stage, other)

    // In a transaction that does not see rollups made since it began.
    await stage.rows("truncate posthorn.hourly_rollups")
    await writer.rows("begin isolation level repeatable read")
    await writer.rows("select from posthorn.hourly_rollups")
    await countHour()
    assert.equal(await remove(500), null)
    await writer.rows("commit")
    await agree(stage, made)
    await countHour()
    assert.equal(await stale(stage, made), 0)
    await agree(stage, made)
  })

  it("roll_up_hour, stale_rollups, statistics_by_hour: what was removed of an endpoint is subtracted from the sums, and no other endpoint is counted again", async (stage) => {
    const made = await make(stage, "acme", 4)
    const [big, small, open, late] = made.endpoints as [string, string, string, string]
    for (const age of [3, 8]) {
      await deliver(stage, made, big, 300, age, ALL)
      await deliver(stage, made, small, 30, age, ALL)
      await deliver(stage, made, late, 10, age, ALL)
    }
    await deliver(stage, made, open, 40, 12, [...ALL, "pending"])
    await deliver(stage, made, late, 40, 12, ALL)
    await count(stage)
    const read = () =>
      number(
        stage,
        "select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables where relid = 'posthorn.deliveries'::regclass"
      )
    const fewer = (endpoint: string) =>
      stage.rows(
        "delete from posthorn.deliveries where endpoint_id = $1 and last_duration_ms < 500",
        endpoint
      )
    await stage.rows("delete from posthorn.endpoints where id = $1", small)
    await fewer(late)
    assert.equal(await stale(stage, made), 3)
    await agree(stage, made)
    await stage.rows("begin")
    await stage.rows(
      `insert into posthorn.stale_hours
         values ($1, date_trunc('hour', now(), 'UTC') - interval '20 hours', $2, 0, 0, 0, '{}', '{}')`,
      made.workspace,
      big
    )
    const before = await read()
    await stage.rows("select * from posthorn.statistics_by_hour($1, $2, 10, now())", made.workspace, [big])
    await stage.rows("delete from posthorn.stale_hours where endpoint_id = $1", big)
    await stage.rows(
      `select posthorn.roll_up_hour(workspace_id, hour) from posthorn.hourly_rollups
         where endpoint_id = '' and hour > now() - interval '10 hours'`
    )
    assert.equal((await read()) - before, 0)
    await stage.rows("commit")
    assert.deepEqual([await stale(stage, made), await counted(stage, made, big)], [1, 2])
    await agree(stage, made)

    // Pending deliveries are in no sum, so removing them subtracts nothing.
    await fewer(open)
    await agree(stage, made)
    assert.equal(await count(stage), 1)
    assert.deepEqual([await stale(stage, made), await counted(stage, made, late)], [0, 0])
    await agree(stage, made)
  })

  it("roll_up_hour: rolling an hour up again keeps the rollups of its endpoints in other hours and workspaces", async (stage) => {
    const [made, other] = [await make(stage, "acme", 1), await make(stage, "other", 0)]
    const [endpoint] = made.endpoints as [string]
    for (const age of [3, 8]) await deliver(stage, made, endpoint, 40, age)
    await deliver(stage, other, endpoint, 40, 3)
    await count(stage)
    const kept = async () => [await counted(stage, made, endpoint), await counted(stage, other, endpoint)]
    assert.deepEqual(await kept(), [2, 1])
    await stage.rows(
      `delete from posthorn.deliveries
       where workspace_id = $1 and created_at > now() - interval '5 hours' and last_duration_ms < 500`,
      made.workspace
    )
    await stage.rows(
      "select posthorn.roll_up_hour($1, date_trunc('hour', now(), 'UTC') - interval '3 hours')",
      made.workspace
    )
    assert.deepEqual(await kept(), [1, 1])
  })

  it("hours_over: marks of ended hours are kept until a newer one is known to be over, and marks of another server are dropped", async (stage) => {
    const marks = () =>
      stage.rows(
        "select extract(epoch from now() - hour)::integer / 3600 as age from posthorn.ended_hours order by 1"
      )
    await overAtLast(stage)
    await stage.rows("update posthorn.ended_hours set seen_by = '9000000000000'")
    await stage.rows(
      "insert into posthorn.ended_hours values (now() - interval '9 hours', '3'), (now() - interval '7 hours', '4')"
    )
    const writer = await stage.other()
    await writer.rows("begin")
    await writer.rows("select pg_current_xact_id()")
    assert.equal(
      await stage.value("select extract(epoch from now() - posthorn.hours_over())::integer / 3600"),
      7
    )
    assert.deepEqual((await marks()).slice(1), [{ age: 7 }])
    await writer.rows("commit")
    await overAtLast(stage)
    assert.equal((await marks()).length, 1)
  })

  it("hours_over: rollups of future hours, made before the clock was set back, are made again", async (stage) => {
    const made = await make(stage, "acme", 1)
    await stage.rows(
      `insert into posthorn.hourly_rollups (workspace_id, hour, endpoint_id, delivered, failed_permanent, dead_lettered, durations,
        times, open, counted_at)
      select $1, date_trunc('hour', now(), 'UTC') + n * interval '1 hour', '', 0, 0, 0, '{}', '{}', '{}', now()
      from unnest(array[-2, 7]) n`,
      made.workspace
    )
    await stage.rows(
      "insert into posthorn.ended_hours values (date_trunc('hour', now(), 'UTC') + interval '7 hours', '3')"
    )
    assert.equal(
      await stage.value(
        "select coalesce(max(hour) < now(), true) from (select posthorn.hours_over() as hour) h"
      ),
      true
    )
    assert.deepEqual(await stage.rows("select hour < now() as past from posthorn.hourly_rollups"), [
      { past: true }
    ])
    assert.equal(
      await stage.value("select count(*)::integer from posthorn.ended_hours where hour > now()"),
      0
    )
  })

  it("remove_old_rollups: rollups that no query can reach any more are removed, and no others", async (stage) => {
    const made = await make(stage, "acme", 1)
    const other = await make(stage, "other", 1)
    for (const { workspace } of [made, other])
      await stage.rows(
        `insert into posthorn.hourly_rollups
           select $1, date_trunc('hour', now()) - days * interval '1 day', '', 0, 0, 0, '{}', '{}', '{}', now()
           from unnest(array[1, 31, 33]) as days`,
        workspace
      )
    await stage.rows(
      `insert into posthorn.stale_hours
         select workspace_id, hour, 'e', 0, 0, 0, '{}', '{}' from posthorn.hourly_rollups where endpoint_id = ''`
    )
    await stage.rows("select posthorn.remove_old_rollups()")
    assert.deepEqual([await counted(stage, made), await counted(stage, other)], [2, 2])
    assert.deepEqual([await stale(stage, made), await stale(stage, other)], [2, 2])
  })
})

/**
 * At the turn of an hour, or when its first minute ends, other hours are over: a scenario that meets that moment is
 * repeated.
 */
const withinAnHour = ({ play, ...about }: Scenario): Scenario => ({
  ...about,
  play: async (stage) => {
    const ends = () =>
      stage.row(
        "select date_trunc('hour', now()) as turn, date_trunc('hour', now() - interval '1 minute') as minute"
      )
    const before = await ends()
    await play(stage).catch(async (error: unknown) => {
      await stage.rows("rollback")
      if (isDeepStrictEqual(await ends(), before)) throw error
      await stage.clear()
      await play(stage)
    })
  }
})

export const statistics = scenarios.map(withinAnHour)
