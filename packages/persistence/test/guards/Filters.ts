/** Filters: what is judged, what is let through unjudged, and who is left out. */
import assert from "node:assert/strict"
import { compile, explained } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import { Either } from "effect"
import { each, told } from "./Publishing.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { twinOf } from "./Twin.ts"

const read = (filter: string) => Either.getOrThrow(parseFilter(filter))

const put = async (stage: Stage, endpoint: string, filter: string) => {
  await stage.rows(
    `update posthorn.endpoints set filter = $2::json, filter_program = $3::jsonb, filter_path = posthorn.path_of($3::jsonb, 0),
       filter_weight = ($3::jsonb ->> 'weight')::integer where id = $1`,
    endpoint,
    filter,
    compile(read(filter))
  )
  return endpoint
}

const holds = (stage: Stage, filter: string, payload: string) =>
  stage.value(
    "select posthorn.filter_holds(posthorn.path_of($1::jsonb, 0), $1::jsonb, posthorn.judged($2))",
    compile(read(filter)),
    payload
  )

/** What became of events of `acme` in one shared statement. */
const together = async (stage: Stage, ...payloads: ReadonlyArray<string>) =>
  (
    await each(
      stage,
      payloads.map((payload) => ["acme", "a", payload, null] as const)
    )
  ).map(({ what }) => what)

/** Who got the newest event, who missed it, and whether it was judged. */
const newest = (stage: Stage) =>
  stage.row(
    `select e.unfilterable,
       array(select d.endpoint_id::text from posthorn.deliveries d where d.event_id = e.id order by 1) as sent,
       array(select m.endpoint_id::text from posthorn.missed_events m where m.event_id = e.id order by 1) as missed
     from posthorn.events e order by e.id desc limit 1`
  )

const publish = (stage: Stage, payload: string) =>
  stage.rows("select posthorn.publish('acme', 'a', $1)", payload)

const YES = '{"n":1}'
const NO = '{"n":2}'
/** 20,000 elements, with a filter of 100 conditions more than may be judged. */
const LARGE = `{"n":[${Array(20_000).fill(2)}]}`
const HEAVY = `{"n":{"$in":[${Array(100).fill(1)}]}}`

export const filtering = writeScenarios((it) => {
  it("path_of, nesting_of, judged, filter_holds, first_failing: arrays in arrays are looked into by names only; what jsonb cannot hold passes", async (stage) => {
    const deep = (inner: string) => "[".repeat(9) + inner + "]".repeat(9)
    for (const [filter, payload, held] of [
      [YES, YES, true],
      [YES, NO, false],
      [YES, deep(YES), true],
      [YES, deep(NO), false],
      [YES, `[[${YES}]]`, true],
      ['{"n":{"$exist":false}}', "[[]]", false],
      ['{"$eq":1}', "[1]", true],
      ['{"$eq":1}', "[[1]]", false],
      ['{"$eq":1}', deep("1"), false],
      [YES, '{"n":"\\u0000"}', true],
      [YES, `${"[".repeat(100_000)}${"]".repeat(100_000)}`, true]
    ] as const)
      assert.equal(await holds(stage, filter, payload), held, `${filter} ${payload.slice(0, 40)}`)
    const { conditions, path } = explained(read('{"a":1,"b":2,"c":3}'))
    const failing = (payload: string) =>
      stage.value(
        "select posthorn.first_failing($1, $2, posthorn.judged($3))",
        path,
        conditions.length,
        payload
      )
    assert.deepEqual(
      [
        await failing('{"a":1,"b":2,"c":3}'),
        await failing('{"a":1,"c":3}'),
        await failing('{"a":1,"b":2}'),
        await failing('{"a":"\\u0000"}')
      ],
      [null, 2, 3, null]
    )
  })

  it("sift, plan, publish_one, announce: who does not want an event gets none of it and misses none of it", async (stage) => {
    const acme = await stage.workspace()
    const [all, yes, no] = [
      await stage.endpoint(acme),
      await stage.endpoint(acme),
      await stage.endpoint(acme)
    ]
    const [offYes, offNo] = [
      await stage.endpoint(acme, { enabled: false }),
      await stage.endpoint(acme, { enabled: false })
    ]
    for (const one of [yes, offYes]) await put(stage, one, YES)
    for (const one of [no, offNo]) await put(stage, one, NO)
    const twin = await twinOf(stage, acme, "endpoints")
    await stage.rows("update posthorn.endpoints set filter_path = '1 == 2' where workspace_id = $1", twin)
    await publish(stage, YES)
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [all, yes].sort(), missed: [offYes] })
    assert.deepEqual(await together(stage, "0", NO), ["published", "published"])
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [all, no].sort(), missed: [offNo] })
    await stage.rows("select posthorn.announce($1, 'a', $2, 't', null, 'system sql x')", acme, YES)
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [all, yes].sort(), missed: [offYes] })
    await publish(stage, '{"n":"\\u0000"}')
    assert.equal((await newest(stage)).unfilterable, true)
    assert.equal(((await newest(stage)).sent as ReadonlyArray<string>).length, 3)
  })

  it("sift, publish_one: a worker that sleeps is woken only for deliveries", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await put(stage, await stage.endpoint(acme), YES)
    const shard = await stage.value("select posthorn.shard_of($1)", endpoint)
    const worker = await stage.other()
    await worker.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), $1)", shard)
    assert.deepEqual(await told(stage, () => publish(stage, NO)), [])
    assert.equal((await told(stage, () => publish(stage, YES))).length, 1)
    let awake = endpoint
    while ((await stage.value("select posthorn.shard_of($1)", awake)) === shard)
      awake = await stage.endpoint(acme)
    await put(stage, awake, NO)
    assert.deepEqual(await told(stage, () => publish(stage, NO)), [])
  })

  it("sift, work_of, plan: what takes too long passes unjudged, and holds up no other event", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await put(stage, await stage.endpoint(acme), HEAVY)
    await publish(stage, LARGE)
    assert.deepEqual(await newest(stage), { unfilterable: true, sent: [endpoint], missed: [] })
    // Another endpoint's filter that asks little is judged all the same.
    await put(stage, await stage.endpoint(acme), '{"k":1}')
    await publish(stage, LARGE)
    assert.deepEqual(await newest(stage), { unfilterable: true, sent: [endpoint], missed: [] })
    await publish(stage, LARGE.replace('"n"', '"m"'))
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [], missed: [] })
    const small = `{"n":[${Array(100).fill(2)}]}`
    const long = `{"m":"${"x".repeat(65_536)}"}`
    assert.deepEqual(await together(stage, small, long, NO, YES), [
      "55P03",
      "55P03",
      "published",
      "published"
    ])
    assert.deepEqual(await together(stage, small), ["published"])
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [], missed: [] })
    await publish(stage, long)
    assert.deepEqual(await newest(stage), { unfilterable: null, sent: [], missed: [] })
  })

  it("check_fan_out, sift: a batch is refused only for deliveries that filters let through", async (stage) => {
    const acme = await stage.workspace()
    await put(stage, await stage.endpoint(acme), YES)
    await put(stage, await stage.endpoint(acme), YES)
    const code = (payloads: ReadonlyArray<string>, most: number) =>
      stage.code(
        "select posthorn.publish_events('acme', array_fill('a'::text, array[cardinality($1::text[])]), $1::text[]::json[], null, null, $2)",
        payloads,
        most
      )
    assert.equal(await code([YES, NO, NO], 1), "PH413")
    assert.equal(await code([YES, NO, NO], 2), null)
  })
})
