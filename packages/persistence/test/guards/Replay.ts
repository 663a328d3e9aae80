/** Replaying: which sources get a new delivery, and that workers are notified. */
import assert from "node:assert/strict"
import { heard } from "./Publishing.ts"
import { failing, ids } from "./ReplayStage.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

const replay = async (
  stage: Stage,
  workspace: string,
  endpoint: string,
  sources: ReadonlyArray<string> | null,
  missed: ReadonlyArray<string> | null = null,
  resend = false
) =>
  (
    await stage.rows(
      "select source, event from posthorn.replay($1, $2, $3, $4, null, 'operator', 'operator', 'rest', 'trace', resend => $5)",
      workspace,
      endpoint,
      sources,
      missed,
      resend
    )
  ).map(({ event, source }) => source ?? event)

const audits = (stage: Stage) =>
  stage.rows(
    "select changes->>'replayedFrom' as source, changes->>'eventId' as event from posthorn.audit_events order by id"
  )

export const replaying = writeScenarios((it) => {
  it("replay: only failed deliveries are replayed, of the given endpoint and workspace", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 3)
    const [one, , delivered] = ids(deliveries)
    await stage.rows("update posthorn.deliveries set status = 'delivered' where id = $1", delivered)
    const elsewhere = await stage.endpoint(acme, { types: ["b"] })
    const other = await stage.workspace("other")
    const event = (await stage.publish("acme", "nobody")).id as string
    assert.deepEqual(await replay(stage, acme, elsewhere, [one!]), [])
    assert.deepEqual(await replay(stage, other, await stage.endpoint(other), [one!], [event]), [])
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries")
    for (const workspace of [acme, twin])
      assert.deepEqual(await replay(stage, workspace, endpoint, [one!, delivered!], [event]), [one, event])
    assert.deepEqual(await audits(stage), [
      { source: one, event: null },
      { source: null, event },
      { source: one, event: null },
      { source: null, event }
    ])
  })

  it("replay: a delivery that is still pending is not resent, and a delivered one is", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 4)
    const [pending, failed, delivered, refused] = ids(deliveries) as [string, string, string, string]
    const becomes = (status: string, id: string) =>
      stage.rows("update posthorn.deliveries set status = $1 where id = $2", status, id)
    await becomes("pending", pending)
    await becomes("failed", failed)
    await becomes("delivered", delivered)
    assert.deepEqual(await replay(stage, acme, endpoint, [pending, failed, delivered, refused], null, true), [
      delivered,
      refused
    ])
    await replay(stage, acme, endpoint, [refused])
    assert.deepEqual(await stage.rows("select action from posthorn.audit_events order by id"), [
      { action: "webhook.delivery_resent" },
      { action: "webhook.delivery_resent" },
      { action: "webhook.delivery_replayed" }
    ])
  })

  it("replay, notify_if_asleep: sleeping workers are notified of a replay, and only they", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 1)
    assert.equal(await heard(stage, () => replay(stage, acme, endpoint, ids(deliveries))), 0)
    const sleeper = await stage.other()
    await sleeper.rows(
      "select pg_advisory_lock(posthorn.sleep_lock_class(), shard) from generate_series(0, 31) as shard"
    )
    assert.equal(await heard(stage, () => replay(stage, acme, endpoint, ids(deliveries))), 1)
  })
})
