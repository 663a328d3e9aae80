/** What a publish may say: the endpoints that get the event, and that each delivery has one attempt. */
import assert from "node:assert/strict"
import { newId } from "@posthorn/domain/Ids"
import { heard } from "./Publishing.ts"
import { type Row, type Session, type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

interface Choice {
  readonly ids?: ReadonlyArray<string | null>
  readonly key?: string
  readonly most?: number
  readonly payload?: string
  readonly retry?: boolean | null
}

const outcomeOf = ({ code, delivery_ids, duplicate, hint, id }: Row) => ({
  id: String(id),
  made: ((delivery_ids ?? []) as ReadonlyArray<string>).length,
  what: code != null ? `${code} ${hint ?? ""}`.trim() : duplicate === true ? "duplicate" : "published"
})

const EVENTS = "array['unwanted', 'unwanted'], array['0', $1]::json[], array[null, $2]"
const CHOICES = "endpoint_ids => array[null, $3]::json[], retries => array[null, $4]::boolean[]"

/** Statements of one event of a type that nobody wants: alone, in a batch, and beside an independent one. `$5` is not in all. */
const alone = `select * from posthorn.publish('acme', 'unwanted', $1, $2,
  endpoint_ids => (select array_agg(id) from json_array_elements_text($3) id), retry => $4)`
const inBatch = `select * from posthorn.publish_events('acme', ${EVENTS}, most_deliveries => $5, ${CHOICES}) offset 1`
const beside = `select * from posthorn.try_publish_each(array_fill(posthorn.workspace_of('acme'), array[2]), ${EVENTS},
  array[null, null], $5, array['system sql x', 'system sql x'], ${CHOICES}) order by index offset 1`
/** The path of a lone publish over REST. */
const shared = `select * from posthorn.try_publish_each(array[posthorn.workspace_of('acme')], '{unwanted}', array[$1]::json[], array[$2],
  array[null], $5, '{system sql x}', array[$3]::json[], array[$4]::boolean[])`
const WAYS = [alone, inBatch, beside, shared]

const publish = async (by: Session, way: string, choice: Choice = {}) => {
  const { ids, key = null, most = null, payload = "1", retry = true } = choice
  const values = [payload, key, ids === undefined ? null : JSON.stringify(ids), retry, most]
  return outcomeOf(await by.row(way, ...values.slice(0, way === alone ? 4 : 5)).catch((refusal) => refusal))
}

const whatOf = async (by: Session, way: string, choice?: Choice) => (await publish(by, way, choice)).what

const eventOf = (stage: Stage, id: string) =>
  stage.row(
    `select e.endpoint_ids, e.retry, e.deliveries, e.missed,
       (select array_agg(d.endpoint_id order by d.endpoint_id) from posthorn.deliveries d where d.event_id = e.id) as sent,
       (select array_agg(m.endpoint_id order by m.endpoint_id) from posthorn.missed_events m where m.event_id = e.id) as noted,
       (select count(*)::integer from posthorn.queue q join posthorn.deliveries d on d.id = q.delivery_id where d.event_id = e.id) as queued
     from posthorn.events e where e.id = $1`,
    id
  )

export const choices = writeScenarios((it) => {
  it("named_endpoints, plan, publish, publish_each, store_planned, audience_of: exactly the named endpoints get it, whatever they want; disabled ones have missed it", async (stage) => {
    const acme = await stage.workspace()
    const wants = { types: ["a"] }
    const [one, off, two] = [
      await stage.endpoint(acme, wants),
      await stage.endpoint(acme, { enabled: false }),
      await stage.endpoint(acme, wants)
    ]
    await stage.endpoint(acme, { types: ["unwanted"] })
    await twinOf(stage, acme, "endpoints")
    for (const way of WAYS) {
      const ids = [two, off, one]
      const { id, made } = await publish(stage, way, { ids })
      assert.equal(made, 2)
      assert.deepEqual(await eventOf(stage, id), {
        ...{ endpoint_ids: ids, retry: true, deliveries: 2, missed: 1 },
        ...{ sent: [one, two], noted: [off], queued: 2 }
      })
      const { endpoint_ids, sent } = await eventOf(stage, (await publish(stage, way)).id)
      assert.deepEqual([endpoint_ids, (sent as ReadonlyArray<string>).length], [null, 1])
    }
  })

  it("named_endpoints, endpoint_unknown, refusal_of_named, plan, check_fan_out: an unknown endpoint, another workspace's, and no list refuse the event and name the place", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const [known, foreign] = [await stage.endpoint(acme), await stage.endpoint(other)]
    for (const [way, place] of [
      [alone, ""],
      [inBatch, "/1"],
      [beside, ""],
      [shared, ""]
    ] as const) {
      const refused = (ids: ReadonlyArray<string | null>, most?: number) =>
        whatOf(stage, way, { ids, ...(most === undefined ? {} : { most }) })
      assert.equal(await refused([known, foreign, "whe_0"], 9), `PH400 ${place}/endpointIds/1`)
      assert.equal(await refused(["whe_z", known]), `PH400 ${place}/endpointIds/0`)
      assert.equal(await refused([known, null]), `PH400 ${place}/endpointIds`)
      assert.equal(await refused([known, known], 9), `PH400 ${place}/endpointIds`)
      const hundred = Array.from({ length: 99 }, () => newId("endpoint"))
      assert.equal(await refused([known, ...hundred]), `PH400 ${place}/endpointIds/1`)
      assert.equal(await refused([known, ...hundred, foreign]), `PH400 ${place}/endpointIds`)
    }
    const none = "select posthorn.publish('acme', 'a', '1', endpoint_ids => '{}')"
    const noList =
      "select posthorn.publish_events('acme', '{a}', '{1}', '{null}', null, 9, array['1']::json[])"
    assert.deepEqual([await stage.code(none), await stage.code(noList)], ["PH400", "PH400"])
    assert.equal(await stage.value("select count(*)::integer from posthorn.events where payload = '1'"), 0)
  })

  it("fingerprint, choices_text, apply_keys, take_keys, publish_planned: named endpoints, as a set, and `retry` belong to the event of a key", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    for (const [n, way] of WAYS.entries()) {
      const under = (choice: Choice) => whatOf(stage, way, { key: `named ${n}`, ...choice })
      assert.equal(await under({ ids: [one, two] }), "published")
      assert.equal(await under({ ids: [two, one] }), "duplicate")
      for (const choice of [{ ids: [one] }, {}, { ids: [one, two], retry: false }])
        assert.match(await under(choice), /^PH409/)
      const bare = (choice: Choice) => whatOf(stage, way, { key: `bare ${n}`, ...choice })
      assert.equal(await bare({ retry: null }), "published")
      assert.equal(await bare({ retry: true }), "duplicate")
      for (const choice of [{ retry: false }, { ids: [one, two] }]) assert.match(await bare(choice), /^PH409/)
      const once = (choice: Choice) => whatOf(stage, way, { key: `once ${n}`, ...choice })
      assert.equal(await once({ retry: false }), "published")
      assert.equal(await once({ retry: false }), "duplicate")
      assert.match(await once({}), /^PH409/)
    }
    // As before there were choices: keys that are known then still compare equal.
    const of = "select encode(fingerprint, 'hex') from posthorn.idempotency_keys where key = 'bare 0'"
    const { digest } = await stage.row(
      "select encode(sha256(convert_to(E'unwanted\\n1', 'UTF8')), 'hex') as digest"
    )
    assert.equal(await stage.value(of), digest)
    // The endpoint is gone: a repeated publish is answered as before, and another one is refused.
    await stage.rows("delete from posthorn.endpoints where id = $1", one)
    for (const [n, way] of WAYS.entries()) {
      assert.equal(await whatOf(stage, way, { key: `named ${n}`, ids: [one, two] }), "duplicate")
      assert.match(await whatOf(stage, way, { key: `named ${n}`, ids: [one] }), /^PH409/)
      assert.match(await whatOf(stage, way, { key: `fresh ${n}`, ids: [one] }), /^PH400/)
      assert.match(await whatOf(stage, way, { key: `named ${n}`, ids: [one, one] }), /^PH400/)
    }
  })

  it("plan, check_fan_out, named_endpoints: limits and quotas hold for named endpoints", async (stage) => {
    await stage.workspace("first")
    const acme = await stage.workspace()
    const [off, ...on] = [
      await stage.endpoint(acme, { types: ["a"], enabled: false }),
      await stage.endpoint(acme, { types: ["a"] }),
      await stage.endpoint(acme, { types: ["a"] })
    ] as const
    for (const way of [inBatch, beside]) {
      assert.equal(await whatOf(stage, way, { ids: [off, ...on], most: 1 }), "PH413")
      assert.equal(await whatOf(stage, way, { ids: [off, ...on], most: 2 }), "published")
    }
    for (const [quota, ids, what] of [
      ["waiting", on, "PH429 waiting"],
      ["waiting", [off], "published"],
      ["bytes", [off], "PH429 bytes"]
    ] as const) {
      await stage.rows("update posthorn.workspaces set used_up = $1", quota)
      for (const way of [alone, beside]) assert.equal(await whatOf(stage, way, { ids }), what)
    }
  })

  it("named_endpoints, plan: a named endpoint that is being deleted is waited for, and is unknown then; nothing else is locked", async (stage) => {
    const acme = await stage.workspace()
    const [free] = [await stage.endpoint(acme)]
    const other = await stage.other()
    await stage.rows("set lock_timeout = '8s'")
    for (const way of [alone, inBatch]) {
      const going = await stage.endpoint(acme)
      await other.rows("begin")
      await other.rows("delete from posthorn.endpoints where id = $1", going)
      assert.equal(await whatOf(stage, alone, { ids: [free] }), "published")
      const publishing = whatOf(stage, way, { ids: [free, going] })
      await stage.waits(other)
      await other.rows("commit")
      assert.match(await publishing, /^PH400 .*\/endpointIds\/1$/)
      // A publish holds the endpoints that it names until it commits.
      await other.rows("begin")
      await publish(other, way, { ids: [free] })
      assert.equal(
        await stage.value(
          "select count(*)::integer from (select from posthorn.endpoints for update skip locked) e"
        ),
        0
      )
      await other.rows("commit")
    }
    await stage.rows("reset lock_timeout")
  })

  it("named_endpoints, plan: workers of named endpoints that sleep are notified, and nobody for a disabled one", async (stage) => {
    const acme = await stage.workspace()
    const [on, off] = [
      await stage.endpoint(acme, { types: ["a"] }),
      await stage.endpoint(acme, { enabled: false })
    ]
    const sleeper = await stage.other()
    for (const way of [alone, inBatch]) {
      await sleeper.rows(
        "select pg_advisory_lock(posthorn.sleep_lock_class(), shard) from generate_series(0, 31) as shard"
      )
      assert.equal(await heard(stage, () => publish(stage, way, { ids: [on, off] })), 1)
      assert.equal(await heard(stage, () => publish(stage, way, { ids: [off] })), 0)
      await sleeper.rows("select pg_advisory_unlock_all()")
      assert.equal(await heard(stage, () => publish(stage, way, { ids: [on] })), 0)
    }
  })

  it("load, publish, publish_each, publish_planned, plan: `retry` is false for the deliveries of its publish, and true for their replays", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme, { types: ["unwanted"] })
    const retries = async (event: string) =>
      (
        await stage.rows(
          `select l.retry from posthorn.deliveries d
           cross join lateral posthorn.load(array[d.workspace_id], array[d.id], array[d.endpoint_id], array[d.attempts], '{0}') l
           where d.event_id = $1 order by d.id`,
          event
        )
      ).map(({ retry }) => retry)
    for (const way of WAYS)
      for (const [retry, expected] of [
        [false, false],
        [true, true],
        [null, true]
      ] as const) {
        const { id } = await publish(stage, way, { retry })
        assert.equal((await eventOf(stage, id)).retry, expected)
        assert.deepEqual(await retries(id), [expected])
        for (const again of [
          ["whd_source", null],
          [null, "rpl_1"]
        ])
          await stage.rows(
            `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, replayed_from,
               replay_id, created_at)
             values ($1, posthorn.new_id('whd_'), $2, $3, 'a', 't', $4, $5, now())`,
            acme,
            endpoint,
            id,
            ...again
          )
        assert.deepEqual(await retries(id), [expected, true, true])
      }
  })
})
