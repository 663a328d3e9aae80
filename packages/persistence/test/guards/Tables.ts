/** Evidence cannot be changed and is removed with its parent; subscriptions follow their endpoint. */
import assert from "node:assert/strict"
import { FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
import { type Row, writeScenarios } from "./Stage.ts"

const scenarios = writeScenarios((it) => {
  it("refuse_change, refuse_removal, trigger audit_events_immutable, trigger audit_events_kept: audit events can be neither changed nor removed, except with their workspace", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    for (const workspace of [acme, other]) await stage.audit(workspace)
    assert.equal(await stage.code("update posthorn.audit_events set action = 'x'"), "PH001")
    assert.equal(await stage.code("delete from posthorn.audit_events"), "PH001")
    assert.equal(await stage.code("delete from posthorn.workspaces where id = $1", acme), null)
    assert.equal(await stage.value("select workspace_id from posthorn.audit_events"), other)
  })

  it("refuse_change, trigger operator_audit_events_immutable: the operator's log can be neither changed nor shortened", async (stage) => {
    await stage.rows(`insert into posthorn.operator_audit_events
        (action, actor_type, actor_id, via, target_type, target_id, trace_id)
        values ('workspace.created', 'operator', 'operator', 'sql', 'workspace', 'x', 'x')`)
    assert.equal(await stage.code("update posthorn.operator_audit_events set via = 'rest'"), "PH001")
    assert.equal(await stage.code("delete from posthorn.operator_audit_events"), "PH001")
  })

  it("remove_attempts, refuse_lone_removal, trigger attempts_follow, trigger attempts_immutable, trigger attempts_kept: attempts can be neither changed nor removed, except with their delivery, and no others go with it", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const [gone, kept] = await stage.deliveries(acme, "acme", 2)
    await stage.record([gone!, kept!].map((one) => stage.observation(one, { status: "delivered" })))
    assert.equal(await stage.code("update posthorn.attempts set duration_ms = 2"), "PH001")
    assert.equal(await stage.code("delete from posthorn.attempts"), "PH001")
    assert.equal(await stage.code("delete from posthorn.deliveries where id = $1", gone!.id), null)
    assert.deepEqual(await stage.rows("select delivery_id from posthorn.attempts"), [
      { delivery_id: kept!.id }
    ])
  })

  it("trigger events_not_emptied, trigger deliveries_not_emptied, trigger attempts_not_emptied, trigger audit_events_not_emptied, trigger operator_audit_events_not_emptied: no table of evidence can be emptied, nor in a cascade", async (stage) => {
    for (const table of [
      "events",
      "deliveries",
      "attempts",
      "audit_events",
      "operator_audit_events",
      "workspaces"
    ])
      assert.equal(await stage.code(`truncate posthorn.${table} cascade`), "PH001", table)
  })

  it(": impossible attempts are refused, whoever writes them, and possible ones are accepted", async (stage) => {
    const acme = await stage.workspace()
    const told = {
      workspace_id: acme,
      id: "wha_1",
      url: "https://example.com/",
      request_headers: "{}",
      trace_id: "t"
    }
    const code = (changed: Row) =>
      stage.code(
        `insert into posthorn.attempts select (jsonb_populate_record(null::posthorn.attempts, $1::jsonb || jsonb_build_object(
             'delivery_id', posthorn.new_id('whd_'), 'at', now()))).*`,
        JSON.stringify({ ...told, ordinal: 1, status: "delivered", duration_ms: 0, ...changed })
      )
    for (const [column, refused, taken] of [
      ["ordinal", 0, 1],
      ["status", "pending", "delivered"],
      ["duration_ms", -1, 0],
      ["url", "u".repeat(2049), "\u00fc".repeat(2048)],
      ["response_headers", "\u00fc".repeat(4097), "h".repeat(8192)],
      ["response_body", "\u00fc".repeat(1025), "b".repeat(2048)]
    ] as const) {
      assert.equal(await code({ [column]: refused }), "23514", column)
      assert.equal(await code({ [column]: taken }), null, column)
    }
    for (const column of ["ordinal", "status", "duration_ms", "url"])
      assert.equal(await code({ [column]: null }), "23502", column)
    for (const column of ["failure_reason", "failure_detail", "response_headers", "response_body"])
      assert.equal(await code({ [column]: null }), null, column)
    for (const status of ["failed", "failed_permanent"])
      for (const failure_reason of FailureReason.literals)
        assert.equal(await code({ status, failure_reason }), null)
    for (const failure_detail of FailureDetail.literals) assert.equal(await code({ failure_detail }), null)
    assert.equal(await code({ failure_detail: "no detail" }), "23514")
    for (const [status, failure_reason] of [
      ["failed", "no reason"],
      ["failed", null],
      ["delivered", "http_status"]
    ])
      assert.equal(await code({ status, failure_reason }), "23514")
  })

  it("remove_deliveries, remove_events, remove_queued, trigger deliveries_follow, trigger events_follow, trigger queue_follows: deliveries are removed with their endpoint, queue rows with deliveries, events with their workspace, and nothing else", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const going = await stage.endpoint(acme)
    await stage.endpoint(acme)
    await stage.endpoint(other)
    // The same ids in both workspaces, so that rows must be found by workspace and id.
    await stage.rows("alter table posthorn.endpoints disable trigger user")
    await stage.rows(
      `insert into posthorn.endpoints select (jsonb_populate_record(e, jsonb_build_object('workspace_id', $1::text))).*
         from posthorn.endpoints e where id = $2`,
      other,
      going
    )
    await stage.rows("alter table posthorn.endpoints enable trigger user")
    await stage.publish("acme", "a")
    await stage.publish("other", "a")
    for (const table of ["deliveries", "queue"])
      await stage.rows(
        `insert into posthorn.${table} select (jsonb_populate_record(d, jsonb_build_object('workspace_id', $1::text))).*
           from posthorn.${table} d where endpoint_id = $2`,
        other,
        going
      )
    const counts = async () =>
      Object.values(
        await stage.row(`select (select count(*) from posthorn.events)::int as events,
            (select count(*) from posthorn.deliveries)::int as deliveries, (select count(*) from posthorn.queue)::int as queue`)
      )
    assert.deepEqual(await counts(), [2, 4, 4])
    await stage.rows("delete from posthorn.endpoints where workspace_id = $1 and id = $2", acme, going)
    assert.deepEqual(await counts(), [2, 3, 3])
    await stage.rows("delete from posthorn.workspaces where id = $1", acme)
    assert.deepEqual(await counts(), [1, 2, 2])
  })

  it("keep_subscriptions, trigger endpoints_subscriptions: subscriptions are the current ones of their endpoint, and no other endpoint's are changed", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [
      await stage.endpoint(acme, { types: ["a"] }),
      await stage.endpoint(acme, { types: ["b"] })
    ]
    await stage.rows("update posthorn.endpoints set event_types = '{c,c}' where id = $1", one)
    const found = await stage.rows("select pattern, endpoint_id from posthorn.subscriptions order by pattern")
    assert.deepEqual(found, [
      { pattern: "b", endpoint_id: two },
      { pattern: "c", endpoint_id: one }
    ])
  })
})

export const tables = scenarios
