/** What publishing stores, for which endpoints, under which key, and what it waits for. */
import assert from "node:assert/strict"
import { batch, each, heard, notifications, told } from "./Publishing.ts"
import { type Row, type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

/** Publishes alone and in a batch, because each finds its endpoints by a statement of its own. Gives the deliveries. */
const ways = (stage: Stage) => [
  async (type: string) => (await stage.publish("acme", type)).delivery_ids as ReadonlyArray<string>,
  async (type: string) =>
    (await batch(stage, "acme", [[type, "1", null]]))[0]!.delivery_ids as ReadonlyArray<string>
]

export const publishing = writeScenarios((it) => {
  it("plan, matching_endpoints, store_planned, publish: an event goes to each enabled endpoint that matches, is missed by disabled ones, and reaches no other", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const wants = await stage.endpoint(acme, { types: ["a.*"] })
    const off = await stage.endpoint(acme, { types: ["*"], enabled: false })
    await stage.endpoint(acme, { types: ["b"] })
    await stage.endpoint(other)
    // The same ids in another workspace, for another type.
    const twin = await twinOf(stage, acme, "endpoints")
    await stage.rows("update posthorn.endpoints set event_types = '{twin}' where workspace_id = $1", twin)
    for (const publish of ways(stage)) {
      const made = await publish("a.b")
      const deliveries = await stage.rows("select id, endpoint_id from posthorn.deliveries")
      assert.deepEqual(deliveries, [{ id: made[0], endpoint_id: wants }])
      assert.deepEqual(await stage.rows("select delivery_id as id from posthorn.queue"), [{ id: made[0] }])
      assert.deepEqual(await stage.rows("select endpoint_id from posthorn.missed_events"), [
        { endpoint_id: off }
      ])
      assert.equal(made.length, 1)
      assert.deepEqual(await publish("twin"), [])
      await stage.rows("delete from posthorn.events where event_type = 'twin'")
      assert.deepEqual(await stage.rows("select workspace_id, deliveries, missed from posthorn.events"), [
        { workspace_id: acme, deliveries: 1, missed: 1 }
      ])
      for (const table of ["deliveries", "events"]) await stage.rows(`delete from posthorn.${table}`)
    }
  })

  it("announce, matching_endpoints: an event of Posthorn itself is not sent to the endpoint that it is about", async (stage) => {
    const acme = await stage.workspace()
    const [about, told] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.workspace("other")
    await stage.rows("select posthorn.announce($1, 'webhook.x', '1', 'x', $2, 'system sql x')", acme, about)
    assert.deepEqual(await stage.rows("select endpoint_id from posthorn.deliveries"), [{ endpoint_id: told }])
  })

  it("store_planned, audience_of, matching_endpoints, publish, plan, try_share_sleep_lock: sleeping workers are notified when there is something to do, and only then", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme, { types: ["a"] })
    await stage.endpoint(acme, { types: ["off"], enabled: false })
    const sleeper = await stage.other()
    for (const publish of ways(stage)) {
      await sleeper.rows(
        "select pg_advisory_lock(posthorn.sleep_lock_class(), shard) from generate_series(0, 31) as shard"
      )
      assert.equal(await heard(stage, () => publish("unwanted")), 0)
      assert.equal(await heard(stage, () => publish("off")), 0)
      assert.equal(await heard(stage, () => publish("a")), 1)
      // Awake workers poll without a notification.
      await sleeper.rows("select pg_advisory_unlock_all()")
      assert.equal(await heard(stage, () => publish("a")), 0)
    }
  })

  it("publish_one: each of a few deliveries is named to the worker of its shard if that worker sleeps", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme, { types: ["a"] })
    for (const _ of ["second", "third"]) await stage.endpoint(acme, { types: ["a"] })
    const { shard } = await stage.row("select posthorn.shard_of($1) as shard", endpoint)
    const sleeper = await stage.other()
    await sleeper.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), $1)", shard)

    const payloads = await notifications(stage, () => stage.publish("acme", "a"))

    const named = await stage.rows(
      `select concat_ws(' ', posthorn.micros(due_at), shard, workspace_id, endpoint_id, delivery_id) as name
        from posthorn.queue where shard = $1 order by delivery_id`,
      shard
    )
    assert.deepEqual(payloads.toSorted(), named.map(({ name }) => name as string).toSorted())

    // More than three are not named one by one, and nobody is told while all are awake.
    await stage.endpoint(acme, { types: ["a"] })
    assert.deepEqual(await told(stage, () => stage.publish("acme", "a")), [String(shard)])
    await sleeper.rows("select pg_advisory_unlock_all()")
    assert.equal(await heard(stage, () => stage.publish("acme", "a")), 0)
  })

  // A notification has at most 8,000 bytes: if it named a shard for each endpoint, a publish to 3,000 of them would fail.
  it("notify_sleepers, audience_of, plan: a shard is notified once, however many of its endpoints match the event", async (stage) => {
    const acme = await stage.workspace()
    const before = await stage.endpoint(acme, { types: ["a"] })
    const [{ shard }] = (await stage.rows("select posthorn.shard_of($1) as shard", before)) as [Row]
    for (let more = 0; more < 3; ) {
      const id = await stage.endpoint(acme, { types: ["a"] })
      const here = (await stage.row("select posthorn.shard_of($1) as shard", id)).shard === shard
      if (here) more++
      else await stage.rows("delete from posthorn.endpoints where id = $1", id)
    }
    const sleeper = await stage.other()
    await sleeper.rows(
      "select pg_advisory_lock(posthorn.sleep_lock_class(), shard) from generate_series(0, 31) as shard"
    )
    for (const publish of ways(stage))
      assert.deepEqual(await told(stage, () => publish("a")), [String(shard)])
    const announced = await told(stage, () =>
      stage.rows("select posthorn.announce($1, 'a', '1', 'x', null, 'system sql x')", acme)
    )
    assert.deepEqual(announced, [String(shard)])
  })

  // Hours are counted once nobody can add to them any more, so a publish that waited must not have a time from before its
  // wait.
  it("publish, plan: a publish is dated at or after the moment at which its endpoints were locked", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme, { types: ["a"] })
    const other = await stage.other()
    await stage.rows("set lock_timeout = '8s'")
    for (const publish of ways(stage)) {
      await other.rows("begin")
      await other.rows("select from posthorn.endpoints for update")
      const publishing = publish("a")
      await stage.waits(other)
      const released = await other.value("select date_trunc('milliseconds', clock_timestamp())::text")
      await other.rows("commit")
      const [delivery] = await publishing
      assert.deepEqual(
        await stage.row(
          `select d.created_at >= $2 as delivery, e.created_at >= $2 as event from posthorn.deliveries d
             join posthorn.events e on e.id = d.event_id where d.id = $1`,
          delivery,
          released
        ),
        { delivery: true, event: true }
      )
    }
  })

  it("matching_endpoints, plan: an endpoint that is being deleted is waited for and then left out; one that does not match is not waited for", async (stage) => {
    const acme = await stage.workspace()
    const kept = await stage.endpoint(acme, { types: ["a"] })
    const other = await stage.other()
    await stage.rows("set lock_timeout = '8s'")
    for (const publish of ways(stage)) {
      const [going, elsewhere] = [
        await stage.endpoint(acme, { types: ["a"] }),
        await stage.endpoint(acme, { types: ["b"] })
      ]
      await other.rows("begin")
      await other.rows("delete from posthorn.endpoints where id = $1", elsewhere)
      assert.equal((await publish("a")).length, 2)
      await other.rows("delete from posthorn.endpoints where id = $1", going)
      const publishing = publish("a")
      await stage.waits(other)
      await other.rows("commit")
      const [delivery] = await publishing
      assert.equal(
        await stage.value("select endpoint_id from posthorn.deliveries where id = $1", delivery),
        kept
      )
    }
    await stage.rows("reset lock_timeout")
  })

  it("check_fan_out, too_many, publish_events: a call makes at most the allowed number of deliveries; disabled endpoints do not count", async (stage) => {
    const acme = await stage.workspace()
    for (let n = 0; n < 2; n++) await stage.endpoint(acme, { types: ["a"] })
    await stage.endpoint(acme, { types: ["a"], enabled: false })
    await stage.endpoint(acme, { types: ["b"] })
    const events = [
      ["a", "1", null],
      ["a", "2", null],
      ["b", "3", null]
    ] as const
    assert.equal(
      await batch(stage, "acme", events, 4).then(
        () => null,
        ({ code }: { code: string }) => code
      ),
      "PH413"
    )
    assert.equal((await batch(stage, "acme", events, 5)).length, 3)
    assert.equal((await batch(stage, "acme", events)).length, 3)
  })

  it("plan, hold_workspaces, published_or_raise, matching_endpoints, publish, publish_one: a workspace that does not exist is refused, also one that was just removed", async (stage) => {
    const acme = await stage.workspace()
    assert.equal(await stage.code("select posthorn.publish('nobody', 'a', '1')"), "PH404")
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("delete from posthorn.workspaces where id = $1", acme)
    const publishing = stage.code("select posthorn.publish('acme', 'a', '1')")
    await stage.waits(other)
    await other.rows("commit")
    assert.equal(await publishing, "PH404")
  })

  it("refusal_of, published_or_raise, publish, plan, publish_planned: an invalid event is refused, and the refusal names the member", async (stage) => {
    await stage.endpoint(await stage.workspace())
    const refusal = (...values: ReadonlyArray<unknown>) =>
      stage.client.query("select posthorn.publish('acme', $1, $2::text::json, $3, $4)", [...values]).then(
        () => null,
        ({ code, hint }: { code: string; hint: string }) => `${code} ${hint}`
      )
    const ofBatch = await stage.client
      .query("select posthorn.publish_events('acme', '{a,no type}', '{1,1}'::text[]::json[], '{null,null}')")
      .catch(({ hint }: { hint: string }) => hint)
    assert.equal(ofBatch, "/1/eventType")
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
    assert.equal(await refusal(null, "1", null, null), "PH400 /eventType")
    assert.equal(await refusal("a".repeat(129), "1", null, null), "PH400 /eventType")
    assert.equal(await refusal("a".repeat(128), "1", null, null), null)
    assert.equal(await refusal("no type", "1", null, null), "PH400 /eventType")
    assert.equal(await refusal("webhook.x", "1", null, null), "PH400 /eventType")
    assert.equal(await refusal("a", null, null, null), "PH400 /payload")
    assert.equal(await refusal("a", deep(101), null, null), "PH400 /payload")
    assert.equal(await refusal("a", deep(100), null, null), null)
    assert.equal(await refusal("a", `[${"[],".repeat(200)}1]`, null, null), null)
    assert.equal(await refusal("a", `"${"x".repeat(1_048_575)}"`, null, null), "PH400 /payload")
    assert.equal(await refusal("a", "1", "", null), "PH400 /idempotencyKey")
    assert.equal(await refusal("a", "1", "k".repeat(256), null), "PH400 /idempotencyKey")
    assert.equal(await refusal("a", "1", null, "no trace"), "PH400 /traceId")
  })

  it("nests_deeper, refusal_of: brackets within strings do not count as depth, and neither do many shallow ones", async (stage) => {
    const deeper = (payload: string) => stage.value("select posthorn.nests_deeper($1, 3)", payload)
    assert.equal(await deeper('"[[[[[[[["'), false)
    assert.equal(await deeper("[[],[],[],[],[]]"), false)
    assert.equal(await deeper('[[[{"a":1}]]]'), true)
    assert.equal(await deeper("[[[1]]]"), false)
  })

  it("take_keys, apply_keys, compact_json, publish, publish_planned, matching_endpoints: the same key gives the same answer, in its workspace and for a day; another event under it is refused", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    for (const workspace of [acme, other]) await stage.endpoint(workspace)
    const elsewhere = await stage.publish("other", "a", "k", "7")
    const first = await stage.publish("acme", "a", "k")
    const second = await stage.publish("acme", "a", "l", "2")
    assert.deepEqual(await stage.publish("acme", "a", "l", "2"), { ...second, duplicate: true })
    assert.deepEqual(await stage.publish("acme", "a", "k", " 1 "), { ...first, duplicate: true })
    assert.equal((await stage.rows("select from posthorn.events")).length, 3)
    assert.equal(await stage.code("select posthorn.publish('acme', 'a', '2', 'k')"), "PH409")
    assert.deepEqual(await stage.publish("other", "a", "k", "7"), { ...elsewhere, duplicate: true })
    assert.deepEqual(await stage.publish("acme", "a", "k"), { ...first, duplicate: true })
    await stage.rows("update posthorn.idempotency_keys set created_at = now() - interval '24 hours 1 second'")
    const again = await stage.publish("acme", "a", "k", "3")
    assert.equal(again.duplicate, false)
    assert.equal((again.delivery_ids as Array<string>).length, 1)
    assert.equal(await stage.code("select posthorn.publish('acme', 'a', '1', 'k')"), "PH409")
  })

  it("plan, apply_keys, take_keys, store_planned: a batch answers event by event: new events with their own deliveries, repeated ones with their earlier answer", async (stage) => {
    const acme = await stage.workspace()
    for (const type of ["a", "b", "c"]) await stage.endpoint(acme, { types: [type] })
    const [known] = await batch(stage, "acme", [["b", "1", "known"]])
    const answers = await batch(stage, "acme", [
      ["a", "10", null],
      ["b", "1", "known"],
      ["c", "30", "new"],
      ["a", "40", null]
    ])
    assert.deepEqual(answers[1], { ...known, duplicate: true })
    assert.deepEqual(
      answers.map(({ duplicate }) => duplicate),
      [false, true, false, false]
    )
    const stored = await stage.rows(
      `select e.id, e.event_type, e.payload, array_agg(d.id::text) as delivery_ids from posthorn.events e
         join posthorn.deliveries d on d.event_id = e.id group by e.workspace_id, e.id`
    )
    const told = answers.map(({ delivery_ids, event_type, id }) => ({ id, event_type, delivery_ids }))
    const found = told.map(({ id }) => stored.find((event) => event.id === id)!)
    assert.deepEqual(
      found.map(({ delivery_ids, event_type, id }) => ({ id, event_type, delivery_ids })),
      told
    )
    assert.deepEqual(
      found.map(({ payload }) => payload),
      ["10", "1", "30", "40"]
    )
    assert.equal(stored.length, 4)
    assert.deepEqual(
      await stage.rows("select key, delivery_ids from posthorn.idempotency_keys order by key"),
      [
        { key: "known", delivery_ids: known!.delivery_ids },
        { key: "new", delivery_ids: answers[2]!.delivery_ids }
      ]
    )
  })

  it("plan, publish_events, publish_each: an empty batch is accepted, and publishes nothing", async (stage) => {
    await stage.workspace()
    for (const call of [
      "publish_events('acme', '{}', '{}', '{}')",
      "publish_each('{}', '{}', '{}', '{}', '{}', null, '{}')"
    ])
      assert.deepEqual(await stage.rows(`select * from posthorn.${call}`), [])
  })

  it("plan: more keys than events add no events", async (stage) => {
    await stage.workspace()
    const [answer] = await stage.rows(
      "select * from posthorn.publish_events('acme', array['a'], array['1']::json[], array['k', 'l'])"
    )
    assert.equal(answer!.duplicate, false)
    assert.deepEqual(await stage.rows("select key from posthorn.idempotency_keys"), [{ key: "k" }])
  })

  it("try_publish_all: a caller with few connections does not wait for a locked key", async (stage) => {
    await stage.workspace()
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select posthorn.publish('acme', 'a', '1', 'k')")
    await stage.rows("set statement_timeout = '8s'")
    const code = await stage.code(
      "select posthorn.try_publish_all(posthorn.workspace_of('acme'), array['a'], array['1']::json[], array['k'], null, null, 'system sql x')"
    )
    await stage.rows("reset statement_timeout")
    assert.equal(code, "55P03")
  })

  it("plan, apply_keys, take_keys, publish_planned, publish_each, matching_endpoints: independent events have an outcome each, and a refused one leaves nothing behind, not even its key", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    await stage.endpoint(acme, { types: ["a", "many"] })
    await stage.endpoint(acme, { types: ["many"] })
    await stage.endpoint(other, { types: ["a"] })
    const [before] = await each(stage, [["acme", "a", "0", "used"]])
    const outcomes = await each(
      stage,
      [
        ["acme", "a", "1", "k1"],
        ["other", "a", "2", "k1"],
        ["acme", "no type", "3", "k3"],
        ["nobody", "a", "4", "k4"],
        ["acme", "a", "5", "used"],
        ["acme", "many", "6", "k6"],
        ["acme", "a", "0", "used"],
        ["acme", "a", "1", "k1"],
        ["acme", "a", "9", "k1"],
        ["acme", "a", "10", null],
        ["nobody", "no type", "11", null]
      ],
      1
    )
    assert.deepEqual(
      outcomes.map(({ what }) => what),
      [
        "published",
        "published",
        "PH400 /eventType",
        "PH404",
        "PH409 /idempotencyKey",
        "PH413",
        "duplicate",
        "duplicate",
        "PH409 /idempotencyKey",
        "published",
        "PH400 /eventType"
      ]
    )
    assert.deepEqual([outcomes[6]!.id, outcomes[7]!.id], [before!.id, outcomes[0]!.id])
    assert.deepEqual(
      outcomes.map(({ made }) => made),
      [1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0]
    )
    assert.deepEqual(await stage.rows("select payload from posthorn.events order by id"), [
      { payload: "0" },
      { payload: "1" },
      { payload: "2" },
      { payload: "10" }
    ])
    assert.deepEqual(
      await stage.rows(
        "select key from posthorn.idempotency_keys where workspace_id = $1 order by key",
        acme
      ),
      [{ key: "k1" }, { key: "used" }]
    )
    // A lower limit on deliveries does not apply to an event that was published before.
    await stage.endpoint(acme, { types: ["a"] })
    assert.deepEqual(await each(stage, [["acme", "a", "0", "used"]], 1), [
      { id: before!.id, made: 1, what: "duplicate" }
    ])
  })

  it("apply_keys, try_publish_each: a key that another transaction holds refuses its own event only, and at once", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select posthorn.publish('acme', 'a', '1', 'held')")
    await stage.rows("set statement_timeout = '8s'")
    const events = [
      ["acme", "a", "1", "held"],
      ["acme", "a", "2", "free"],
      ["acme", "a", "3", null]
    ] as const
    assert.deepEqual(
      (await each(stage, events)).map(({ made, what }) => `${made} ${what}`),
      ["0 55P03", "1 published", "1 published"]
    )
    await stage.rows("reset statement_timeout")
    await other.rows("commit")
    assert.deepEqual(
      (await each(stage, events)).map(({ what }) => what),
      ["duplicate", "duplicate", "published"]
    )
  })
})
