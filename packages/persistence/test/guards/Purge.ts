/** Purging an event: what it removes, what it leaves, and that no other statement may do it. */
import assert from "node:assert/strict"
import { failing, missing } from "./ReplayStage.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

const purge = async (stage: Stage, workspace: string, event: string) =>
  (await stage.row("select outcome from posthorn.purge_event($1, $2)", workspace, event)).outcome

/** Two deliveries of two events that failed for good, each with an attempt that was answered. */
const answered = async (stage: Stage) => {
  const acme = await stage.workspace()
  await stage.endpoint(acme, { types: ["a"] })
  const deliveries = await stage.deliveries(acme, "acme", 2, "a")
  await stage.record(
    deliveries.map((one) => ({
      ...stage.observation(one, { status: "failed_permanent" }),
      responseBody: "no",
      responseHeaders: "{}"
    }))
  )
  const events = await stage.rows("select event_id as id from posthorn.deliveries order by id")
  return { acme, deliveries, events: events.map(({ id }) => id as string) }
}

const bodies = async (stage: Stage) =>
  (await stage.rows("select response_body as body from posthorn.attempts order by delivery_id")).map(
    ({ body }) => body
  )

const scenarios = writeScenarios((it) => {
  it("purge_event, refuse_all_but_purging, trigger attempts_immutable, trigger events_keep_ids: blanks this event and its answers, once, and nothing of others", async (stage) => {
    const { acme, events } = await answered(stage)
    const [purged, kept] = events
    const other = await stage.workspace("other")
    assert.equal(await purge(stage, other, purged!), "unknown")
    assert.equal(await purge(stage, acme, purged!), "purged")
    assert.equal(await purge(stage, acme, purged!), "again")
    const texts = await stage.rows(
      "select id, payload, purged_at is not null as gone from posthorn.events order by id"
    )
    assert.deepEqual(texts, [
      { id: purged, payload: "null", gone: true },
      { id: kept, payload: texts[1]!.payload, gone: false }
    ])
    assert.notEqual(texts[1]!.payload, "null")
    const [first, second] = await bodies(stage)
    assert.equal(first, null)
    assert.notEqual(second, null)
  })

  it("refuse_all_but_purging, trigger attempts_immutable, trigger events_keep_ids: evidence can be changed in no other way", async (stage) => {
    const { acme, events } = await answered(stage)
    const [purged, kept] = events
    await purge(stage, acme, purged!)
    for (const change of [
      "response_body = null, response_headers = null",
      "response_body = 'other'",
      "duration_ms = 7"
    ])
      assert.equal(
        await stage.code(`update posthorn.attempts set ${change} where response_body is not null`),
        "PH001"
      )
    assert.equal(
      await stage.code("update posthorn.attempts set response_body = 'x' where response_body is null"),
      "PH001"
    )
    assert.equal(
      await stage.code("update posthorn.attempts set duration_ms = 7 where response_body is null"),
      "PH001"
    )
    // Other scenarios disable this trigger.
    await stage.rows("alter table posthorn.events enable trigger events_keep_ids")
    for (const change of [
      "payload = 'null'",
      "payload = '7', purged_at = now()",
      "id = 'evt_x', payload = 'null', purged_at = now()",
      "workspace_id = 'wsp_x', payload = 'null', purged_at = now()"
    ])
      assert.equal(
        await stage.code(`update posthorn.events set ${change} where id = $1`, kept),
        "PH001",
        change
      )
    for (const change of ["purged_at = null", "purged_at = now()", "payload = '1'"])
      assert.equal(
        await stage.code(`update posthorn.events set ${change} where id = $1`, purged),
        "PH001",
        change
      )
  })

  it("purge_event: is refused while one of its deliveries waits for an attempt", async (stage) => {
    const { acme, deliveries, events } = await answered(stage)
    for (const status of ["pending", "failed"]) {
      await stage.rows("update posthorn.deliveries set status = $2 where id = $1", deliveries[0]!.id, status)
      assert.equal(await purge(stage, acme, events[0]!), "waiting")
      assert.equal(
        await stage.value("select count(*)::integer from posthorn.events where purged_at is not null"),
        0
      )
    }
    assert.equal(await purge(stage, acme, events[1]!), "purged")
  })

  it("purge_event: another workspace with the same ids keeps everything, and does not prevent the purge", async (stage) => {
    const { acme, events } = await answered(stage)
    const { events: missed } = await missing(stage, acme, 1)
    await stage.rows(
      `insert into posthorn.idempotent_answers (workspace_id, caller, key, fingerprint, status, headers, body)
       select $1, 'x', 'k', '\\x00', 202, '{}', format('{"eventId":"%s","payload":1}', e.id)
       from posthorn.events e where e.id = $2`,
      acme,
      events[0]
    )
    const tables = [
      "endpoints",
      "events",
      "deliveries",
      "attempts",
      "missed_events",
      "idempotent_answers"
    ] as const
    const twin = await twinOf(stage, acme, ...tables)
    await stage.rows("update posthorn.deliveries set status = 'pending' where workspace_id = $1", twin)
    const picture = async () => {
      const rows: Array<ReadonlyArray<unknown>> = []
      for (const table of [...tables, "failed_deliveries"])
        rows.push(
          await stage.rows(
            `select to_jsonb(t)::text as row from posthorn.${table} t where workspace_id = $1 order by 1`,
            twin
          )
        )
      return rows
    }
    const before = await picture()
    assert.equal(await purge(stage, acme, events[0]!), "purged")
    assert.equal(await purge(stage, acme, missed[0]!), "purged")
    assert.deepEqual(await picture(), before)
    assert.ok(before.every((rows) => rows.length > 0))
  })

  it("purge_event, replay: a purged event is neither replayed nor counted as lost, and others are", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 2)
    const lost = await missing(stage, acme, 2)
    const events = await stage.rows("select event_id as id from posthorn.deliveries order by id")
    await purge(stage, acme, events[0]!.id as string)
    await purge(stage, acme, lost.events[0]!)
    const sources = (of: string) =>
      stage.rows(
        `select coalesce(source, event) as id from posthorn.replay($1, $2, ${of}, null, 'operator', 'operator', 'rest', 'trace')`,
        acme,
        of.startsWith("null") ? lost.endpoint : endpoint,
        of.startsWith("null") ? lost.events : deliveries.map(({ id }) => id)
      )
    assert.deepEqual(
      await stage.rows("select delivery_id as id from posthorn.failed_deliveries order by 1"),
      [{ id: deliveries[1]!.id }]
    )
    assert.deepEqual(await stage.rows("select event_id as id from posthorn.missed_events order by 1"), [
      { id: lost.events[1] }
    ])
    assert.deepEqual(await sources("$3, null"), [{ id: deliveries[1]!.id }])
    assert.deepEqual(await sources("null, $3"), [{ id: lost.events[1] }])
  })

  it("purge_event, replay: a replay that began first is waited for, and then prevents the purge", async (stage) => {
    const { acme, deliveries, endpoint } = await failing(stage, 1)
    const event = (await stage.value("select event_id from posthorn.deliveries")) as string
    const other = await stage.other()
    await other.rows("begin")
    await other.rows(
      "select posthorn.replay($1, $2, array[$3], null, null, 'operator', 'operator', 'rest', 'trace')",
      acme,
      endpoint,
      deliveries[0]!.id
    )
    const purging = purge(stage, acme, event)
    await stage.waits(other)
    await other.rows("commit")
    assert.equal(await purging, "waiting")
  })

  it("purge_event: an answer kept under an idempotency key loses the event's content, and no other does", async (stage) => {
    const { acme, events } = await answered(stage)
    const keep = (key: string, body: string) =>
      stage.rows(
        `insert into posthorn.idempotent_answers (workspace_id, caller, key, fingerprint, status, headers, body)
         values ($1, 'x', $2, '\\x00', 202, '{}', $3)`,
        acme,
        key,
        body
      )
    await keep("delivery", JSON.stringify({ eventId: events[0], payload: 1 }))
    await keep("other", JSON.stringify({ eventId: events[1], payload: 1 }))
    await keep("publish", JSON.stringify({ items: [{ id: events[0] }] }))
    await purge(stage, acme, events[0]!)
    assert.deepEqual(
      await stage.rows("select key, body is not null as kept from posthorn.idempotent_answers order by key"),
      [
        { key: "delivery", kept: false },
        { key: "other", kept: true },
        { key: "publish", kept: true }
      ]
    )
  })
})

export const purging = scenarios
