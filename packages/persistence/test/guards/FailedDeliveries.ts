/** The list of failed deliveries that triggers maintain, and the counts made from it. */
import assert from "node:assert/strict"
import { failing, ids, start, step } from "./ReplayStage.ts"
import { type Delivery, type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

/** Created at the same moment, so that only the id orders them. */
const MOMENT = "2026-01-01T00:00:00Z"

const scene = async (stage: Stage, count: number) => {
  const acme = await stage.workspace()
  const endpoint = await stage.endpoint(acme)
  const deliveries = await stage.deliveries(acme, "acme", count)
  await stage.rows("update posthorn.deliveries set created_at = $1", MOMENT)
  return { acme, endpoint, deliveries }
}

const becomes = (stage: Stage, { id, workspace }: Delivery, status: string) =>
  stage.rows(
    "update posthorn.deliveries set status = $3 where workspace_id = $1 and id = $2",
    workspace,
    id,
    status
  )

const listed = (stage: Stage) =>
  stage.rows(
    "select delivery_id as id, status, ended_by is not null as ended from posthorn.failed_deliveries order by 1"
  )

/** Replays a delivery; gives the new one's id. */
const replayIn = (stage: Stage, workspace: string) => async (source: string, endpoint: string) =>
  (
    await stage.row(
      "select delivery from posthorn.replay($1, $2, array[$3], null, null, 'operator', 'operator', 'rest', 'trace')",
      workspace,
      endpoint,
      source
    )
  ).delivery as string

/** Two failures at an endpoint, made at the same moment, and one of the first's event at another endpoint. */
const replayable = async (stage: Stage) => {
  const { acme, deliveries, endpoint } = await failing(stage, 2)
  const [source, other] = ids(deliveries) as [string, string]
  const elsewhere = await stage.endpoint(acme, { types: ["b"] })
  await stage.rows(
    `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, created_at)
       select workspace_id, 'whd_elsewhere', $1, event_id, event_type, 'x', created_at from posthorn.deliveries where id = $2`,
    elsewhere,
    source
  )
  await stage.rows("update posthorn.deliveries set status = 'failed_permanent' where id = 'whd_elsewhere'")
  for (const table of ["deliveries", "failed_deliveries"])
    await stage.rows(`update posthorn.${table} set created_at = $1`, MOMENT)
  const replay = replayIn(stage, acme)
  return {
    acme,
    elsewhere,
    endpoint,
    other,
    source,
    again: (id: string, at = endpoint) => replay(id, at),
    becomes: (id: string, status: string) =>
      stage.rows(
        "update posthorn.deliveries set status = $3 where workspace_id = $1 and id = $2",
        acme,
        id,
        status
      )
  }
}

/** What makes up for the failures at the one endpoint that was replayed to, by id; failures that nothing makes up for are left out. */
const made = async (stage: Stage, workspace: string): Promise<Readonly<Record<string, unknown>>> =>
  Object.fromEntries(
    (
      await stage.rows(
        `select delivery_id as id, json_strip_nulls(json_build_object('recovered_by', recovered_by, 'under_way', under_way)) as made
         from posthorn.failed_deliveries where workspace_id = $1 and (recovered_by is not null or under_way is not null)`,
        workspace
      )
    ).map(({ id, made }) => [id as string, made])
  )

const scenarios = writeScenarios((it) => {
  it("note_failure, trigger deliveries_fail: a failed delivery is listed with its current status until it is delivered, and is marked once it is given up", async (stage) => {
    const { deliveries } = await scene(stage, 4)
    const [retried, refused, recovering, untouched] = deliveries as [Delivery, Delivery, Delivery, Delivery]
    for (const one of [retried, recovering]) await becomes(stage, one, "failed")
    await becomes(stage, refused, "failed_permanent")
    const FAILING = [
      { id: retried.id, status: "failed", ended: false },
      { id: refused.id, status: "failed_permanent", ended: true }
    ]
    assert.deepEqual(await listed(stage), [...FAILING, { id: recovering.id, status: "failed", ended: false }])
    await becomes(stage, recovering, "delivered")
    await becomes(stage, untouched, "delivered")
    assert.deepEqual(await listed(stage), FAILING)
    await becomes(stage, retried, "dead_lettered")
    assert.deepEqual(await listed(stage), [
      { id: retried.id, status: "dead_lettered", ended: true },
      FAILING[1]
    ])
  })

  it("trigger deliveries_fail: a delivery that succeeds at the first attempt does not call the function that lists failures", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    await stage.rows("begin")
    await stage.rows("set local track_functions = 'pl'")
    const [one] = await stage.deliveries(acme, "acme")
    await stage.record([stage.observation(one!, { status: "delivered" })])
    const called = await stage.rows("select funcname as name from pg_stat_xact_user_functions")
    await stage.rows("rollback")
    const names = called.map(({ name }) => name)
    assert.ok(names.includes("record"))
    assert.ok(!names.includes("note_failure"))
  })

  it("forget_failures, trigger failed_deliveries_follow: a removed delivery leaves the list, and no other does", async (stage) => {
    const { deliveries } = await scene(stage, 3)
    const [gone, kept, delivered] = deliveries as [Delivery, Delivery, Delivery]
    for (const one of [gone, kept]) await becomes(stage, one, "failed_permanent")
    await becomes(stage, delivered, "delivered")
    const remove = ({ id }: Delivery) => stage.rows("delete from posthorn.deliveries where id = $1", id)
    await remove(delivered)
    await remove(gone)
    assert.deepEqual(
      (await listed(stage)).map(({ id }) => id),
      [kept.id]
    )
  })

  it("note_failure, made_up_for, replay, trigger deliveries_fail: a failure is under way while a replay of its event may be delivered, recovered once one is, and open again when all are given up", async (stage) => {
    const { acme, again, becomes, elsewhere, other, source } = await replayable(stage)
    // What happens to another event, at another endpoint and in another workspace changes nothing here.
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries")
    await stage.rows(
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, replayed_from, created_at)
         select workspace_id, 'whd_0', endpoint_id, event_id, event_type, 'x', $2, created_at from posthorn.deliveries
         where workspace_id = $1 and id = $3`,
      twin,
      other,
      source
    )
    await becomes(await again(other), "dead_lettered")
    await becomes(await again("whd_elsewhere", elsewhere), "dead_lettered")
    const open = await made(stage, acme)
    assert.deepEqual(open, {})

    const first = await again(source)
    assert.deepEqual(await made(stage, acme), { [source]: { under_way: first } })
    await becomes(first, "failed")
    assert.deepEqual(await made(stage, acme), { [source]: { under_way: first } })
    await becomes(first, "dead_lettered")
    assert.deepEqual(await made(stage, acme), {})
    const second = await again(first)
    assert.deepEqual(await made(stage, acme), {
      [source]: { under_way: second },
      [first]: { under_way: second }
    })
    // One that is made later ends first.
    const third = await again(source)
    await becomes(third, "failed_permanent")
    assert.deepEqual(await made(stage, acme), {
      [source]: { under_way: second },
      [first]: { under_way: second }
    })
    const fourth = await again(source)
    await becomes(second, "delivered")
    const recovered = {
      [source]: { recovered_by: second, under_way: fourth },
      [first]: { recovered_by: second, under_way: fourth }
    }
    assert.deepEqual(await made(stage, acme), { ...recovered, [third]: { under_way: fourth } })
    await becomes(fourth, "failed_permanent")
    assert.deepEqual(await made(stage, acme), {
      [source]: { recovered_by: second },
      [first]: { recovered_by: second }
    })
    await becomes(await again(source), "delivered")
    assert.deepEqual((await made(stage, acme))[source], { recovered_by: second })
    assert.ok(!(await listed(stage)).some(({ id }) => id === second))
    assert.deepEqual(await made(stage, twin), {})
  })

  it("note_failure: a replay that fails after a later one was delivered is recovered, and under way while a later one is pending", async (stage) => {
    const { acme, again, becomes, elsewhere, endpoint, other, source } = await replayable(stage)
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries")
    const alone = await again(source)
    // Later ones of another event, at another endpoint and in another workspace do not count.
    await again(other)
    await again("whd_elsewhere", elsewhere)
    await replayIn(stage, twin)(source, endpoint)
    await becomes(alone, "failed_permanent")
    assert.deepEqual((await made(stage, acme))[alone], undefined)
    const [first, second, third] = [await again(source), await again(source), await again(source)]
    await becomes(second, "failed_permanent")
    assert.deepEqual((await made(stage, acme))[second], { under_way: third })
    // The first was made before the second, so it does not make up for that.
    await becomes(third, "failed_permanent")
    assert.deepEqual((await made(stage, acme))[source], { under_way: first })
    assert.deepEqual((await made(stage, acme))[second], undefined)
    const fourth = await again(source)
    await becomes(fourth, "delivered")
    await becomes(first, "failed")
    const found = await made(stage, acme)
    assert.deepEqual(
      [first, second, third].map((id) => found[id]),
      Array(3).fill({ recovered_by: fourth })
    )
    assert.deepEqual(found[source], { recovered_by: fourth })
    await becomes(first, "delivered")
    assert.deepEqual((await made(stage, acme))[first], undefined)
  })

  it("made_up_for: the replay of a test send recovers it, and no other test send", async (stage) => {
    const { acme, endpoint } = await failing(stage, 1)
    const again = (id: string) => replayIn(stage, acme)(id, endpoint)
    for (const id of ["whd_test1", "whd_test2"]) {
      await stage.rows(
        `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
           values ($1, $2, $3, 'test', '1', 'x', now())`,
        acme,
        id,
        endpoint
      )
      await stage.rows("update posthorn.deliveries set status = 'failed_permanent' where id = $1", id)
    }
    const replay = await again("whd_test1")
    await stage.rows("update posthorn.deliveries set status = 'delivered' where id = $1", replay)
    assert.deepEqual(await made(stage, acme), { whd_test1: { recovered_by: replay } })
    assert.deepEqual(
      (
        await stage.rows("select delivery_id as id from posthorn.failed_deliveries where is_test order by 1")
      ).map(({ id }) => id),
      ["whd_test1", "whd_test2"]
    )
  })

  it("count_replay, replay_choice, replay_step, note_failure: a job leaves out what was recovered, is under way again, or was a test", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 4)
    const [recovered, underWay, open, last] = ids(deliveries) as [string, string, string, string]
    const again = (id: string) => replayIn(stage, acme)(id, endpoint)
    await stage.rows(
      "update posthorn.deliveries set status = 'delivered' where id = $1",
      await again(recovered)
    )
    const [earlier, later] = [await again(underWay), await again(underWay)]
    await stage.rows(
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
         values ($1, 'whd_test', $2, 'test', '1', 'x', '2026-01-02')`,
      acme,
      endpoint
    )
    await stage.rows("update posthorn.deliveries set status = 'failed_permanent' where id = 'whd_test'")
    const count = async (withRecovered: boolean, withTests: boolean) =>
      Object.values(
        await stage.row(
          "select deliveries, missed, recovered, under_way, tests from posthorn.count_replay($1, $2, '{failed_permanent}', '2025-01-01', null, false, $3, $4)",
          acme,
          endpoint,
          withRecovered,
          withTests
        )
      ).map(Number)
    assert.deepEqual(await count(false, false), [2, 0, 1, 1, 1])
    assert.deepEqual(await count(true, false), [3, 0, 0, 1, 1])
    assert.deepEqual(await count(false, true), [3, 0, 1, 1, 0])
    const job = { workspace: acme, endpoint, since: "2025-01-01" }
    const plain = await start(stage, job)
    const whole = await start(stage, { ...job, recovered: true, tests: true })
    // Somebody makes up for the last one after the start.
    const theirs = await again(last)
    await stage.rows("delete from posthorn.queue")
    assert.deepEqual(await step(stage, acme, plain), ["finished", 1])
    assert.deepEqual(
      await stage.row("select replayed::integer, failed::integer from posthorn.replays where id = $1", plain),
      {
        replayed: 2,
        failed: 98
      }
    )
    // What the first job made is under way, and counts; what is open again since the start is not this job's. Another replay of what
    // was under way already is given up.
    await stage.rows("update posthorn.deliveries set status = 'failed_permanent' where id = any ($1)", [
      theirs,
      earlier
    ])
    await stage.rows("update posthorn.deliveries set status = 'failed' where id = $1", later)
    await stage.rows("delete from posthorn.queue")
    assert.deepEqual(await step(stage, acme, whole), ["finished", 2])
    assert.deepEqual(await stage.row("select replayed::integer from posthorn.replays where id = $1", whole), {
      replayed: 3
    })
    const sources = await stage.rows(
      "select replayed_from as id from posthorn.deliveries where replay_id = $1 order by 1",
      whole
    )
    assert.deepEqual(sources.map(({ id }) => id).sort(), [recovered, "whd_test"].sort())
    assert.ok(open.length > 0)
  })

  it("count_replay: a replay counts what failed at its endpoint in its range with these statuses, and missed events when they are asked for", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme, { types: ["a"] })
    const two = await stage.endpoint(acme, { types: ["b"] })
    const off = await stage.endpoint(acme, { types: ["a"], enabled: false })
    await stage.endpoint(acme, { types: ["b"], enabled: false })
    for (const type of ["a", "b"]) await stage.deliveries(acme, "acme", 3, type)
    for (const table of ["deliveries", "missed_events"])
      await stage.rows(
        `update posthorn.${table} t set created_at = timestamptz '2026-01-01' + n * interval '1 day'
           from (select ctid as tid, row_number() over (partition by endpoint_id order by ctid) as n from posthorn.${table}) o
           where t.ctid = o.tid`
      )
    await stage.rows("update posthorn.deliveries set status = 'failed_permanent'")
    await stage.rows(
      "update posthorn.deliveries set status = 'dead_lettered' where endpoint_id = $1 and created_at = '2026-01-03'",
      one
    )
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries", "missed_events")
    const count = async (
      endpoint: string,
      {
        missed = false,
        recovered = false,
        tests = false,
        since = "2026-01-01",
        statuses = ["failed_permanent"],
        until = null as string | null,
        workspace = acme
      } = {}
    ) =>
      Object.values(
        await stage.row(
          "select deliveries, missed, recovered, under_way, tests from posthorn.count_replay($1, $2, $3, $4::timestamptz, $5::timestamptz, $6, $7, $8)",
          workspace,
          endpoint,
          statuses,
          since,
          until,
          missed,
          recovered,
          tests
        )
      ).map(Number)
    const BOTH = ["failed_permanent", "dead_lettered"]
    for (const workspace of [acme, twin]) {
      assert.deepEqual(await count(one, { workspace }), [2, 0, 0, 0, 0])
      assert.deepEqual(await count(one, { statuses: BOTH, workspace }), [3, 0, 0, 0, 0])
      assert.deepEqual(await count(two, { workspace }), [3, 0, 0, 0, 0])
      assert.deepEqual(await count(off, { workspace }), [0, 0, 0, 0, 0])
      assert.deepEqual(await count(off, { missed: true, workspace }), [0, 3, 0, 0, 0])
    }
    // `since` is part of the range, `until` is not.
    assert.deepEqual(await count(two, { since: "2026-01-03" }), [2, 0, 0, 0, 0])
    assert.deepEqual(await count(two, { until: "2026-01-03" }), [1, 0, 0, 0, 0])
    assert.deepEqual(await count(off, { missed: true, since: "2026-01-03" }), [0, 2, 0, 0, 0])
    assert.deepEqual(await count(off, { missed: true, until: "2026-01-03" }), [0, 1, 0, 0, 0])
  })
})

export const failures = scenarios
