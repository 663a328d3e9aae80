/** Events that an endpoint lost and has not got back, and the notification when it is disabled. */
import assert from "node:assert/strict"
import { failing, ids, missing } from "./ReplayStage.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

/** Deliveries that were given up, those of them that were never sent, and missed events. */
const losses = async (stage: Stage, workspace: string, endpoint: string, most = 10) =>
  Object.values(
    await stage.row(
      "select stopped, never_sent, missed, recovered from posthorn.losses($1, $2, $3)",
      workspace,
      endpoint,
      most
    )
  )

const replay = (stage: Stage, workspace: string, endpoint: string, source: string) =>
  stage.rows(
    "select posthorn.replay($1, $2, array[$3], null, null, 'operator', 'operator', 'rest', 'trace')",
    workspace,
    endpoint,
    source
  )

const messages = async (stage: Stage) =>
  (await stage.rows("select message from posthorn.notifications order by id")).map(({ message }) => message)

const scenarios = writeScenarios((it) => {
  it("losses: an endpoint lost what was given up there and not replayed, and what it missed; no test send, and nothing of another endpoint", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 3)
    const [retried, unsent, refused] = ids(deliveries)
    await stage.rows("update posthorn.deliveries set status = 'failed' where id = $1", retried)
    await stage.rows(
      "update posthorn.deliveries set status = 'dead_lettered', dead_letter_reason = 'never_sent' where id = $1",
      unsent
    )
    // A test send has no event.
    await stage.rows(
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
         values ($1, 'whd_test', $2, 'test', '1', 'x', now())`,
      acme,
      endpoint
    )
    await stage.rows("update posthorn.deliveries set status = 'failed_permanent' where id = 'whd_test'")
    const { endpoint: off } = await missing(stage, acme, 2)
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries", "missed_events")
    assert.deepEqual(await losses(stage, acme, endpoint), [2, 1, 0, 0])
    assert.deepEqual(await losses(stage, acme, off), [0, 0, 2, 0])
    await replay(stage, acme, endpoint, refused!)
    assert.deepEqual(await losses(stage, acme, endpoint), [1, 1, 0, 0])
    await stage.rows("update posthorn.deliveries set status = 'delivered' where replayed_from = $1", refused)
    assert.deepEqual(await losses(stage, acme, endpoint), [1, 1, 0, 1])
    assert.deepEqual(await losses(stage, twin, endpoint), [2, 1, 0, 0])
    assert.deepEqual(await losses(stage, twin, off), [0, 0, 2, 0])
  })

  it("endpoint_stopped: the notification says what its endpoint has lost so far, and the time from which to replay", async (stage) => {
    const other = await stage.workspace("other")
    const endpoint = await stage.endpoint(other)
    const [older, last] = await stage.deliveries(other, "other", 2)
    await stage.rows("update posthorn.deliveries set created_at = '2020-01-01'")
    const twin = await twinOf(stage, other, "endpoints", "events", "deliveries")
    const at = (id: string, moment: string) =>
      stage.rows(
        "update posthorn.deliveries set created_at = $3 where workspace_id = $1 and id = $2",
        twin,
        id,
        moment
      )
    await at(older!.id, "2025-01-01")
    await at(last!.id, "2026-01-01")
    const stop = async () => {
      await stage.rows(
        "select posthorn.endpoint_stopped($1, $2, $3, 'consecutive_failures', 20, now(), 'trace')",
        twin,
        endpoint,
        last!.id
      )
      return (await messages(stage)).at(-1) as string
    }
    const first = await stop()
    assert.ok(first.includes("0 deliveries given up, 0 events missed"))
    assert.ok(first.includes("/workspaces/twin/"))
    assert.ok(first.includes('"since":"2026-01-01T00:00:00.000Z"'))
    await stage.rows(
      "update posthorn.deliveries set status = 'failed_permanent' where workspace_id = $1 and id = $2",
      twin,
      last!.id
    )
    const miss = (count: number) =>
      stage.rows(
        `with made as (
             insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
             select $1, posthorn.new_id('evt_'), 'm', '1', 'x', 0, 1, 'system sql x', '2026-01-02' from generate_series(1, $3)
             returning workspace_id, id, created_at)
           insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
           select workspace_id, $2, id, created_at from made`,
        twin,
        endpoint,
        count
      )
    await miss(1)
    assert.ok((await stop()).includes("1 delivery given up, 1 event missed"))
    await miss(999)
    await stage.rows(
      `insert into posthorn.failed_deliveries (workspace_id, endpoint_id, created_at, delivery_id, status)
         select $1, $2, '2025-12-01', 'whd_' || n, 'failed' from generate_series(1, 999) as n`,
      twin,
      endpoint
    )
    assert.ok((await stop()).includes("1 delivery or more given up, 1000 events or more missed"))
  })
})

export const losing = scenarios
