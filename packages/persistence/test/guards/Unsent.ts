/** What an endpoint has not seen: which events a job finds, that each is sent once, and in which order. */
import assert from "node:assert/strict"
import { replayed, start, step, whole } from "./ReplayStage.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

const SINCE = "2020-01-01"

const publish = async (stage: Stage, type = "m", payload = "1") =>
  (await stage.publish("acme", type, null, payload)).id as string

interface Counted {
  readonly since?: string
  readonly until?: string | null
  readonly unsentSince?: string
  readonly hidden?: ReadonlyArray<string>
}

/** How many unsent events there are, beside missed ones. */
const countOf = (stage: Stage, workspace: string, endpoint: string, about: Counted = {}) =>
  stage
    .row(
      "select missed::integer, unsent::integer from posthorn.count_replay($1, $2, '{dead_lettered}', $3, $4, true, false, false, true, $5, $6)",
      workspace,
      endpoint,
      about.since ?? SINCE,
      about.until ?? null,
      about.unsentSince ?? about.since ?? SINCE,
      about.hidden ?? []
    )
    .then(({ missed, unsent }) => [missed, unsent])

const stateOf = (stage: Stage, job: string) =>
  stage.row("select state, replayed::integer, failed::integer from posthorn.replays where id = $1", job)

const madeAt = (stage: Stage, event: string) => stage.value("select posthorn.made_at($1)::text", event)

export const unseen = writeScenarios((it) => {
  it("unsent_events, count_replay, replay_step, replay: an endpoint gets the events from before it was made that it wants, by their time, and no others", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const off = await stage.endpoint(acme, { types: ["m"], enabled: false })
    const sent = await stage.endpoint(acme, { types: ["m"] })
    const wanted = [await publish(stage), await publish(stage, "m", '{"of": "m"}')]
    await stage.endpoint(other)
    await stage.publish("other", "m")
    await publish(stage, "another")
    await publish(stage, "webhook_like")
    await stage.row("select posthorn.publish('acme', 'm', '1', endpoint_ids => array[$1])", sent)
    const purged = await publish(stage)
    await stage.rows("update posthorn.events set payload = 'null', purged_at = now() where id = $1", purged)
    const endpoint = await stage.endpoint(acme, { types: ["m", "webhook.*"] })
    for (const [about, type] of [
      [endpoint, "webhook.endpoint_disabled"],
      [off, "webhook.endpoint_disabled"],
      [endpoint, "webhook.other"]
    ]) {
      const payload = JSON.stringify({ endpointId: about })
      await stage.rows(
        "select posthorn.announce($1, $2, $3, 'x', $4, 'system sql x')",
        acme,
        type,
        payload,
        endpoint
      )
      const { id } = await stage.row("select max(id) as id from posthorn.events")
      if (about !== endpoint || type === "webhook.other") wanted.push(id as string)
    }
    await twinOf(stage, acme, "endpoints", "events")
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 4])
    assert.deepEqual(await countOf(stage, acme, sent), [0, 0])
    // What was missed stays missed.
    assert.deepEqual(await countOf(stage, acme, off), [3, 0])
    await stage.rows("delete from posthorn.events where workspace_id <> $1", acme)
    const range = { workspace: acme, endpoint, since: SINCE, unsent: true, matched: 4 }
    assert.equal(await whole(stage, acme, await start(stage, { ...range, unsent: false, matched: 0 })), 0)
    const job = await start(stage, range)
    assert.equal(await whole(stage, acme, job, 3), 4)
    assert.deepEqual(await replayed(stage, acme), wanted)
    assert.deepEqual(await stateOf(stage, job), { state: "done", replayed: 4, failed: 0 })
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 0])
  })

  it("unsent_events, count_replay, replay_step: since, until and the age of history limit the events", async (stage) => {
    const acme = await stage.workspace()
    const off = await stage.endpoint(acme, { enabled: false })
    const events = [await publish(stage), await publish(stage), await publish(stage)]
    const endpoint = await stage.endpoint(acme)
    // The ids of a millisecond begin with its first microsecond.
    const [, second] = [0, await madeAt(stage, events[1]!)] as [0, string]
    const first = (await stage.value("select ($1::timestamptz - interval '1 day')::text", second)) as string
    assert.deepEqual(await countOf(stage, acme, endpoint, { since: first, until: second }), [0, 1])
    assert.deepEqual(await countOf(stage, acme, endpoint, { since: second }), [0, 2])
    assert.deepEqual(await countOf(stage, acme, endpoint, { since: first, unsentSince: second }), [0, 2])
    const job = { workspace: acme, endpoint, unsent: true }
    const aged = await start(stage, { ...job, since: first, until: second })
    await stage.rows("update posthorn.replays set unsent_since = $2 where id = $1", aged, second)
    assert.equal(await whole(stage, acme, aged), 0)
    assert.equal(await whole(stage, acme, await start(stage, { ...job, since: first, until: second })), 1)
    assert.equal(await whole(stage, acme, await start(stage, { ...job, since: second })), 2)
    assert.deepEqual(await replayed(stage, acme), events)
    await stage.rows("update posthorn.endpoints set enabled = true, disabled_reason = null")
    const both = { workspace: acme, endpoint: off, missed: true, unsent: true }
    assert.equal(await whole(stage, acme, await start(stage, { ...both, since: second })), 2)
  })

  it("unsent_events, count_replay, replay_step: deliveries and missed events of others, and of other events, leave an event unsent", async (stage) => {
    const early = await stage.workspace("early")
    const acme = await stage.workspace("acme")
    const [endpoint, beside] = [
      await stage.endpoint(acme, { types: ["m"] }),
      await stage.endpoint(acme, { types: ["x"] })
    ]
    const change = (to: string) =>
      stage.rows(`update posthorn.endpoints set ${to} where (workspace_id, id) = ($1, $2)`, acme, endpoint)
    const turnOff = "enabled = false, disabled_reason = 'manual'"
    const turnOn = "enabled = true, disabled_reason = null"
    const replay = (to: string, event: string) =>
      stage.rows(
        "select posthorn.replay($1, $2, null, array[$3], 'rpl_1', 'operator', 'operator', 'rest', 'x')",
        acme,
        to,
        event
      )
    await publish(stage)
    await replay(endpoint, await publish(stage, "n"))
    await change(turnOff)
    const missed = await publish(stage)
    await change(`${turnOn}, event_types = '{m,n}'`)
    const twin = await twinOf(stage, acme, "endpoints", "events", "deliveries", "missed_events")
    await stage.rows(
      `insert into posthorn.endpoints select (jsonb_populate_record(e, jsonb_build_object('workspace_id', $2::text,
         'event_types', '{z}'::text[]))).* from posthorn.endpoints e where workspace_id = $1`,
      acme,
      early
    )
    assert.deepEqual(await countOf(stage, acme, endpoint), [1, 0])
    // What was sent and missed is no part of it.
    const job = await start(stage, { workspace: acme, endpoint, since: SINCE, unsent: true, matched: 1 })
    assert.equal(await whole(stage, acme, job), 0)
    assert.deepEqual(await stateOf(stage, job), { state: "done", replayed: 0, failed: 1 })
    for (const table of ["deliveries", "missed_events"])
      await stage.rows(`delete from posthorn.${table} where workspace_id = $1`, acme)
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 3])
    assert.deepEqual(await countOf(stage, twin, endpoint), [1, 0])
    await stage.rows(
      `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, created_at)
       values ($1, posthorn.deliveries_begin($3) || repeat('0', 16), $2, 'evt_other', 'm', 'x', now())`,
      acme,
      endpoint,
      missed
    )
    await replay(beside, missed)
    // In the same millisecond another event was missed.
    await change(`${turnOff}, event_types = '{x}'`)
    await stage.rows("select posthorn.publish_events('acme', '{x,m}', '{1,1}'::json[], '{null,null}')")
    await change(`${turnOn}, event_types = '{m,n,x}'`)
    assert.deepEqual(await countOf(stage, acme, endpoint), [1, 4])
  })

  it("unsent_events, count_replay, replay_step: types that the caller may not see are left out, by their beginnings", async (stage) => {
    const acme = await stage.workspace()
    await publish(stage, "a_b.c")
    const seen = [await publish(stage, "axb.c"), await publish(stage, "c.a_b.d")]
    const endpoint = await stage.endpoint(acme, { types: ["*"] })
    const about = { hidden: ["x.", "a_b."] }
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 3])
    assert.deepEqual(await countOf(stage, acme, endpoint, about), [0, 2])
    const job = await start(stage, { workspace: acme, endpoint, since: SINCE, unsent: true })
    await stage.rows("update posthorn.replays set hidden = $1", about.hidden)
    assert.equal(await whole(stage, acme, job), 2)
    assert.deepEqual(await replayed(stage, acme), seen)
  })

  it("unsent_events, count_replay, replay_step: the endpoint's filter judges, as it was when the job began", async (stage) => {
    const acme = await stage.workspace()
    const [small, large] = [
      await publish(stage, "m", '{"total": 1}'),
      await publish(stage, "m", '{"total": 2000}')
    ]
    const endpoint = await stage.endpoint(acme)
    await stage.rows(
      `update posthorn.endpoints set filter = '{"total": {"$gt": 1000}}', filter_path = '$.total > 1000',
         filter_program = '{"path": "$.total > 1000"}' where id = $1`,
      endpoint
    )
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 1])
    const job = await start(stage, { workspace: acme, endpoint, since: SINCE, unsent: true })
    await stage.rows("update posthorn.endpoints set filter = null, filter_path = null, filter_program = null")
    assert.equal(await whole(stage, acme, job), 1)
    assert.deepEqual(await replayed(stage, acme), [large])
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 1])
    assert.notEqual(small, large)
  })

  it("unsent_events, replay_step, replay: missed and unsent events go out together, by their time, as often as there is room", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme, { types: ["n"], enabled: false })
    const elsewhere = await stage.endpoint(acme, { types: ["n"], enabled: false })
    const events: Array<string> = []
    for (const type of ["m", "n", "m", "n", "m"]) events.push(await publish(stage, type))
    const twin = await twinOf(stage, acme, "endpoints", "events", "missed_events")
    await stage.rows(
      "update posthorn.endpoints set event_types = '{m,n}', enabled = true, disabled_reason = null where (workspace_id, id) = ($1, $2)",
      acme,
      endpoint
    )
    assert.deepEqual(await countOf(stage, acme, endpoint), [2, 3])
    const both = { workspace: acme, endpoint, since: SINCE, unsent: true, missed: true, matched: 5 }
    const job = await start(stage, both)
    assert.deepEqual(await step(stage, acme, job), ["stepped", 0])
    assert.deepEqual(await step(stage, acme, job, { batch: 2 }), ["stepped", 2])
    assert.deepEqual(await step(stage, acme, job, { room: 2 }), ["waiting", 0])
    assert.equal(await whole(stage, acme, job, 2), 3)
    assert.deepEqual(await replayed(stage, acme), events)
    // Neither another endpoint's missed events nor another workspace's.
    const left =
      "select workspace_id, endpoint_id, count(*)::integer as events from posthorn.missed_events group by 1, 2 order by 1, 2"
    assert.deepEqual(await stage.rows(left), [
      { workspace_id: acme, endpoint_id: elsewhere, events: 2 },
      { workspace_id: twin, endpoint_id: endpoint, events: 2 },
      { workspace_id: twin, endpoint_id: elsewhere, events: 2 }
    ])
    assert.deepEqual(await stateOf(stage, job), { state: "done", replayed: 5, failed: 0 })
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 0])
  })

  it("unsent_events, replay_step, deliveries_unsent: two jobs send each event once, and what one sent meanwhile the other counts as replayed", async (stage) => {
    const acme = await stage.workspace()
    const events = [await publish(stage), await publish(stage)]
    const endpoint = await stage.endpoint(acme, { types: ["m"] })
    const range = { workspace: acme, endpoint, since: SINCE, unsent: true, matched: 2 }
    const [one, two] = [await start(stage, range), await start(stage, range)]
    for (const job of [one, two]) assert.deepEqual(await step(stage, acme, job), ["stepped", 0])
    assert.deepEqual(await step(stage, acme, one, { batch: 1 }), ["stepped", 1])
    // Of the same event at the same moment, one step loses, and begins again.
    const other = await stage.other()
    await other.rows("begin")
    await step(stage, acme, one, { batch: 1, by: other })
    assert.equal(await stage.code("select posthorn.replay_step($1, $2, 10, 100)", acme, two), "55P03")
    await other.rows("commit")
    assert.equal(await whole(stage, acme, two), 0)
    assert.equal(await whole(stage, acme, one), 0)
    assert.deepEqual(await replayed(stage, acme), events)
    for (const job of [one, two])
      assert.deepEqual(await stateOf(stage, job), { state: "done", replayed: 2, failed: 0 })
    await assert.rejects(
      stage.rows(
        `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, created_at, unsent_by)
         select workspace_id, posthorn.new_id('whd_'), endpoint_id, event_id, event_type, trace_id, created_at, unsent_by
         from posthorn.deliveries`
      )
    )
  })

  it("unsent_events, replay_step: a job sends what was there when it began; what went out anew before it is no part of it", async (stage) => {
    const acme = await stage.workspace()
    const before = await publish(stage)
    const endpoint = await stage.endpoint(acme, { types: ["m"] })
    const job = await start(stage, {
      workspace: acme,
      endpoint,
      since: SINCE,
      unsent: true,
      missed: true,
      matched: 1
    })
    await stage.rows("update posthorn.endpoints set event_types = '{n}'")
    await publish(stage)
    await stage.rows(
      "update posthorn.endpoints set event_types = '{m}', enabled = false, disabled_reason = 'manual'"
    )
    await publish(stage)
    await stage.rows("update posthorn.endpoints set enabled = true, disabled_reason = null")
    assert.equal(await whole(stage, acme, job), 1)
    assert.deepEqual(await replayed(stage, acme), [before])
    assert.deepEqual(await countOf(stage, acme, endpoint), [1, 1])
    // A later job finds nothing of what an earlier one sent, and does not count it.
    const again = await start(stage, { workspace: acme, endpoint, since: SINCE, unsent: true, matched: 1 })
    assert.equal(await whole(stage, acme, again), 1)
    assert.deepEqual(await stateOf(stage, again), { state: "done", replayed: 1, failed: 0 })
  })

  it("unsent_events: a step reads a bounded number of events, for a bounded time, and goes on behind them", async (stage) => {
    const acme = await stage.workspace()
    const events = [await publish(stage, "a"), await publish(stage, "a"), await publish(stage, "a")]
    const endpoint = await stage.endpoint(acme, { types: ["m"] })
    const read = (past: string, most: number, lasting: string) =>
      stage.row(
        `select past_id, ended from posthorn.unsent_events($1, $2, '{m}', '{}', null, null, '2020-01-01', null, '2020-01-01', true, null,
           $3, 10, $4, $5)`,
        acme,
        endpoint,
        past,
        most,
        lasting
      )
    assert.deepEqual(await read("", 2, "1 minute"), { past_id: events[1], ended: false })
    assert.deepEqual(await read(events[1]!, 2, "1 minute"), { past_id: events[2], ended: true })
    assert.deepEqual(await read("", 9, "-1 second"), { past_id: events[0], ended: false })
    assert.deepEqual(await read(events[2]!, 2, "1 minute"), { past_id: events[2], ended: true })
  })

  it("count_replay: counting stops at 100,000 events, and says what to do", async (stage) => {
    const acme = await stage.workspace()
    await stage.rows(
      `insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
       select $1, posthorn.id_of('evt_', 1790000000000000 + n), 'a', '1', 'x', 0, 0, 'system sql x', now() from generate_series(1, 100000) n`,
      acme
    )
    const endpoint = await stage.endpoint(acme, { types: ["m"] })
    const refusal = await countOf(stage, acme, endpoint).catch(({ code, hint }) => `${code} ${hint}`)
    assert.equal(refusal, "PH400 /since")
    await stage.rows("delete from posthorn.events where id = (select min(id) from posthorn.events)")
    assert.deepEqual(await countOf(stage, acme, endpoint), [0, 0])
  })
})
