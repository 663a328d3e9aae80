/** The list of failed deliveries that triggers maintain, and the counts made from it. */
import assert from "node:assert/strict"
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
        since = "2026-01-01",
        statuses = ["failed_permanent"],
        until = null as string | null,
        workspace = acme
      } = {}
    ) =>
      Object.values(
        await stage.row(
          "select * from posthorn.count_replay($1, $2, $3, $4::timestamptz, $5::timestamptz, $6)",
          workspace,
          endpoint,
          statuses,
          since,
          until,
          missed
        )
      ).map(Number)
    const BOTH = ["failed_permanent", "dead_lettered"]
    for (const workspace of [acme, twin]) {
      assert.deepEqual(await count(one, { workspace }), [2, 0])
      assert.deepEqual(await count(one, { statuses: BOTH, workspace }), [3, 0])
      assert.deepEqual(await count(two, { workspace }), [3, 0])
      assert.deepEqual(await count(off, { workspace }), [0, 0])
      assert.deepEqual(await count(off, { missed: true, workspace }), [0, 3])
    }
    // `since` is part of the range, `until` is not.
    assert.deepEqual(await count(two, { since: "2026-01-03" }), [2, 0])
    assert.deepEqual(await count(two, { until: "2026-01-03" }), [1, 0])
    assert.deepEqual(await count(off, { missed: true, since: "2026-01-03" }), [0, 2])
    assert.deepEqual(await count(off, { missed: true, until: "2026-01-03" }), [0, 1])
  })
})

export const failures = scenarios
