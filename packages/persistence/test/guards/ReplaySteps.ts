/** Replay jobs: which sources they replay, in which steps, and what they wait for. */
import assert from "node:assert/strict"
import { failing, ids, missing, refuse, replayed, start, step, whole } from "./ReplayStage.ts"
import { writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

export const replaySteps = writeScenarios((it) => {
  it("replay_step: a job replays what failed at its endpoint in its range with its statuses, in steps, each source once", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 6)
    const [before, first, given, second, third, until] = ids(deliveries)
    await stage.endpoint(acme, { types: ["b"] })
    await refuse(
      stage,
      (await stage.deliveries(acme, "acme", 3, "b")).filter((one) => one.endpoint !== endpoint)
    )
    await stage.rows("update posthorn.deliveries set status = 'dead_lettered' where id = $1", given)
    await stage.rows("delete from posthorn.queue")
    const range = { workspace: acme, endpoint, since: "2026-01-02", until: "2026-01-06" }
    const one = await start(stage, range)
    const two = await start(stage, { ...range, statuses: ["dead_lettered"] })
    assert.deepEqual(await step(stage, acme, one, { batch: 2 }), ["stepped", 2])
    assert.deepEqual(await replayed(stage, acme), [first, second])
    assert.deepEqual(await step(stage, acme, one, { batch: 2 }), ["finished", 1])
    assert.deepEqual(await replayed(stage, acme), [first, second, third])
    assert.deepEqual(await step(stage, acme, one), ["idle", 0])
    assert.equal(await whole(stage, acme, two), 1)
    assert.deepEqual(await stage.rows("select replayed, failed, state from posthorn.replays order by id"), [
      { replayed: "3", failed: "97", state: "done" },
      { replayed: "1", failed: "99", state: "done" }
    ])
    assert.ok(!(await replayed(stage, acme)).some((id) => id === before || id === until))
  })

  it("trigger replays_started, tell_workers: workers are notified when a job is started", async (stage) => {
    const { acme, endpoint } = await failing(stage, 1)
    let heard = 0
    const listener = await stage.other()
    listener.client.on("notification", () => {
      heard += 1
    })
    await listener.rows("listen posthorn_due")
    await start(stage, { workspace: acme, endpoint, since: "2025-01-01" })
    await listener.rows("select 1")
    assert.equal(heard, 1)
  })

  it("replay_step: a job continues past as many rows as one step may read", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 1)
    await stage.rows(
      `insert into posthorn.failed_deliveries (workspace_id, endpoint_id, created_at, delivery_id, status)
         select $1, $2, '2025-12-01', 'whd_' || n, 'failed' from generate_series(1, posthorn.replay_scan_limit()) as n`,
      acme,
      endpoint
    )
    const job = await start(stage, { workspace: acme, endpoint, since: "2025-01-01" })
    assert.deepEqual(await step(stage, acme, job), ["stepped", 0])
    assert.deepEqual(await step(stage, acme, job), ["finished", 1])
    assert.deepEqual(await replayed(stage, acme), ids(deliveries))
  })

  it("replay_step: a job replays what had failed when it was started, by its status at that time", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 3)
    const [retried, refused, late] = ids(deliveries)
    const becomes = (status: string, ...which: ReadonlyArray<string | undefined>) =>
      stage.rows("update posthorn.deliveries set status = $1 where id = any ($2)", status, which)
    for (const status of ["failed", "delivered"]) await becomes(status, retried, late)
    await becomes("failed", retried)
    const ended = await start(stage, {
      workspace: acme,
      endpoint,
      statuses: ["failed_permanent", "dead_lettered"]
    })
    const waiting = await start(stage, { workspace: acme, endpoint, statuses: ["failed"] })
    await becomes("dead_lettered", retried)
    await becomes("failed", late)
    await whole(stage, acme, ended)
    assert.deepEqual(await replayed(stage, acme), [refused])
    await whole(stage, acme, waiting)
    assert.deepEqual(await replayed(stage, acme), [refused, retried])
  })

  it("replay_step: a job sends what its endpoint had missed in its range when it was started, once", async (stage) => {
    const acme = await stage.workspace()
    const { endpoint, events } = await missing(stage, acme, 5)
    const [, first, , second] = events as [string, string, string, string, string]
    // Another endpoint that missed the same event.
    const other = await stage.endpoint(acme, { types: ["other"] })
    await stage.rows(
      "insert into posthorn.missed_events select workspace_id, $1, event_id, created_at from posthorn.missed_events",
      other
    )
    const range = { workspace: acme, endpoint, since: "2026-01-02", until: "2026-01-05" }
    const without = await start(stage, range)
    const job = await start(stage, { ...range, missed: true })
    // The third event was missed after the start, at the time of the fourth.
    await stage.rows(
      `update posthorn.missed_events set missed_by = pg_current_xact_id(), created_at = '2026-01-04'
         where endpoint_id = $1 and event_id = $2`,
      endpoint,
      events[2]
    )
    assert.equal(await whole(stage, acme, without), 0)
    assert.equal(await whole(stage, acme, job, 1), 2)
    assert.deepEqual(await replayed(stage, acme), [first, second])
    const left = (of: string) =>
      stage.rows("select event_id as id from posthorn.missed_events where endpoint_id = $1 order by 1", of)
    assert.deepEqual(
      (await left(endpoint)).map(({ id }) => id),
      [events[0], events[2], events[4]].sort()
    )
    assert.equal((await left(other)).length, 5)
  })

  it("replay_step: a job of another workspace with the same ids is left alone, and so are its deliveries and events", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 2)
    const { endpoint: off } = await missing(stage, acme, 2)
    // In the other workspace the deliveries failed at another time and wait, and the jobs have ended.
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries", "missed_events")
    await stage.rows(
      "update posthorn.failed_deliveries set created_at = '2026-01-20' where workspace_id = $1",
      twin
    )
    await stage.rows(
      `insert into posthorn.queue (workspace_id, delivery_id, endpoint_id, shard, due_at)
         select workspace_id, id, endpoint_id, 1, now() from posthorn.deliveries where workspace_id = $1`,
      twin
    )
    const [failed, missed] = [{ endpoint }, { endpoint: off, missed: true }]
    const jobs = [
      await start(stage, { ...failed, workspace: acme }),
      await start(stage, { ...missed, workspace: acme })
    ] as const
    await start(stage, { ...failed, workspace: twin, id: jobs[0] })
    await start(stage, { ...missed, workspace: twin, id: jobs[1] })
    await stage.rows(
      "update posthorn.replays set state = 'cancelled', finished_at = now() where workspace_id = $1",
      twin
    )
    const state = () => stage.rows("select * from posthorn.replays where workspace_id = $1 order by id", twin)
    const before = await state()
    assert.deepEqual(await step(stage, twin, jobs[0]), ["idle", 0])
    const enable = (is: boolean) =>
      stage.rows(
        "update posthorn.endpoints set enabled = $2, disabled_reason = case when not $2 then 'manual' end where workspace_id = $1",
        acme,
        is
      )
    await enable(false)
    assert.deepEqual(await step(stage, acme, jobs[0]), ["waiting", 0])
    await enable(true)
    assert.deepEqual(await step(stage, acme, jobs[0], { batch: 1, room: 1 }), ["stepped", 1])
    assert.deepEqual(await state(), before)
    await stage.rows("delete from posthorn.queue")
    assert.deepEqual(await step(stage, acme, jobs[0]), ["finished", 1])
    assert.equal(await whole(stage, acme, jobs[1]), 2)
    assert.deepEqual(await state(), before)
    assert.deepEqual((await replayed(stage, acme)).slice(0, 2), ids(deliveries))
    const left = await stage.rows("select from posthorn.missed_events where workspace_id = $1", twin)
    assert.equal(left.length, 2)
  })

  it("replay_step: a job waits while its endpoint is disabled, or has the maximum of waiting deliveries; other endpoints do not matter", async (stage) => {
    const { acme, endpoint } = await failing(stage, 3)
    await stage.endpoint(acme, { types: ["b"] })
    await stage.deliveries(acme, "acme", 3, "b")
    const job = await start(stage, { workspace: acme, endpoint })
    const enabled = (is: boolean) =>
      stage.rows(
        "update posthorn.endpoints set enabled = $2, disabled_reason = case when not $2 then 'manual' end where id = $1",
        endpoint,
        is
      )
    await enabled(false)
    assert.deepEqual(await step(stage, acme, job), ["waiting", 0])
    await enabled(true)
    assert.deepEqual(await step(stage, acme, job, { room: 2 }), ["stepped", 2])
    assert.deepEqual(await step(stage, acme, job, { room: 2 }), ["waiting", 0])
    assert.deepEqual(await step(stage, acme, job, { room: 3 }), ["finished", 1])
  })

  it("replay_step: a step that another worker makes is skipped without waiting; meanwhile nobody can disable its endpoint", async (stage) => {
    const { acme, endpoint } = await failing(stage, 1)
    const job = await start(stage, { workspace: acme, endpoint })
    const other = await stage.other()
    await other.rows("begin")
    assert.deepEqual(await step(stage, acme, job, { by: other }), ["finished", 1])
    assert.equal(await stage.code("select from posthorn.endpoints for no key update nowait"), "55P03")
    await stage.rows("set statement_timeout = '8s'")
    assert.deepEqual(await step(stage, acme, job), ["idle", 0])
    await stage.rows("reset statement_timeout")
    await other.rows("rollback")
    assert.deepEqual(await step(stage, acme, job), ["finished", 1])
  })

  it("replay_step: a step whose endpoint is locked ends with 55P03, to be repeated", async (stage) => {
    const { acme, endpoint } = await failing(stage, 1)
    const job = await start(stage, { workspace: acme, endpoint })
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.endpoints for update")
    await stage.rows("set statement_timeout = '8s'")
    const code = await stage.code("select posthorn.replay_step($1, $2, 10, 10)", acme, job)
    await stage.rows("reset statement_timeout")
    assert.equal(code, "55P03")
  })
})
