/** The deliveries of one event, found by its id; the patterns that match a type; and refusals within a batch. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

interface Made {
  readonly id?: string
  readonly event: string
  readonly from?: string
  readonly job?: string
}

/** A delivery inserted by hand. */
const make = (stage: Stage, workspace: string, { event, from, id, job }: Made) =>
  stage.value(
    `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, replayed_from, replay_id,
       created_at)
     values ($1, coalesce($2, posthorn.new_id('whd_')), 'whe_1', $3, 'a.b', 't', $4, $5, now()) returning id`,
    workspace,
    id ?? null,
    event,
    from ?? null,
    job ?? null
  )

const scenarios = writeScenarios((it) => {
  it("deliveries_of_event: each delivery of an event is found once by the event's id: those of its publish, and replays", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    await stage.endpoint(acme)
    const { delivery_ids, id: event } = await stage.publish("acme")
    const [first] = delivery_ids as ReadonlyArray<string>
    const beside = (n: number) => `${first!.slice(0, 17)}${String(n).padStart(16, "0")}`
    const wanted = [
      first,
      await make(stage, acme, { event: event as string, from: first! }),
      await make(stage, acme, { event: event as string, job: "rpl_1" }),
      // In the same microsecond as the event.
      await make(stage, acme, { event: event as string, from: first!, id: beside(1) }),
      await make(stage, acme, { event: event as string, job: "rpl_1", id: beside(2) })
    ]
    await make(stage, acme, { event: "evt_other", id: beside(3) })
    await make(stage, acme, { event: "evt_other", from: first! })
    await make(stage, other, { event: event as string, id: beside(4) })
    await make(stage, other, { event: event as string, from: first! })
    const found = await stage.rows("select posthorn.deliveries_of_event($1, $2) as id", acme, event)
    assert.deepEqual(found.map(({ id }) => id).toSorted(), wanted.toSorted())
  })

  it("patterns_of: a type is matched by itself, by `*`, and by each shorter prefix", async (stage) => {
    const patterns = async (type: string) =>
      ((await stage.value("select posthorn.patterns_of($1)", type)) as ReadonlyArray<string>).toSorted()
    assert.deepEqual(await patterns("a"), ["*", "a"])
    assert.deepEqual(await patterns("a.b"), ["*", "a.*", "a.b"])
    assert.deepEqual(await patterns("a.b.c"), ["*", "a.*", "a.b.*", "a.b.c"])
    assert.deepEqual(await patterns("a.b.c.d"), ["*", "a.*", "a.b.*", "a.b.c.*", "a.b.c.d"])
  })

  it("plan: an event that is refused in a batch is refused alone, and locks no endpoint", async (stage) => {
    const acme = await stage.workspace()
    const [wanted, unwanted] = [
      await stage.endpoint(acme, { types: ["wanted"] }),
      await stage.endpoint(acme, { types: ["unwanted"] })
    ]
    const other = await stage.other()
    await other.rows("begin")
    const answers = await other.rows(
      `select code from posthorn.publish_each(array_fill(posthorn.workspace_of('acme'), array[2]), array['wanted', 'unwanted'], array['1', '1']::json[],
           array[null, null]::text[], array[null, 'no trace id'], null, array_fill('system sql x'::text, array[2])) order by index`
    )
    const free = await stage.rows("select id from posthorn.endpoints for update skip locked")
    await other.rows("rollback")
    assert.deepEqual(answers, [{ code: null }, { code: "PH400" }])
    assert.deepEqual([free, wanted === unwanted], [[{ id: unwanted }], false])
  })
})

export const ofEvent = scenarios
