/** The catalogue: which events are judged and counted, once, and which are the newest of a type. */
import assert from "node:assert/strict"
import { type EventTypeSettings, EventTypesRepo } from "../../src/repositories/EventTypesRepo.ts"
import { type Stage, writeScenarios } from "./Stage.ts"

const DEVIATIONS =
  "select workspace_id, event_type, day::text, count::integer, last_event_id from posthorn.deviations order by 1, 2, 3"

const eventsOf = async (stage: Stage, workspace: string) =>
  (await stage.rows("select id from posthorn.events where workspace_id = $1 order by id", workspace)).map(
    ({ id }) => String(id)
  )

const idsOf = async (stage: Stage, statement: string, ...values: ReadonlyArray<unknown>) =>
  (await stage.rows(statement, ...values)).map((row) => Object.values(row))

const add = (
  stage: Stage,
  workspaces: ReadonlyArray<string>,
  types: ReadonlyArray<string>,
  events: ReadonlyArray<string>
) => stage.rows("select posthorn.add_deviations($1, $2, $3)", workspaces, types, events)

const SETTINGS: EventTypeSettings = {
  description: null,
  group: null,
  schema: null,
  examples: [],
  validation: "off",
  deprecated: false,
  replacedBy: null,
  hidden: false
}

const scenarios = writeScenarios((it) => {
  it("add_deviations: counts by workspace, type and day, and leaves out workspaces that are gone", async (stage) => {
    const [acme, other] = [await stage.workspace(), await stage.workspace("other")]
    const [first, second] = [await stage.publish("acme"), await stage.publish("acme")]
    const ids = [String(first.id), String(second.id)]
    await add(stage, [acme, acme, "wsp_gone"], ["a.b", "a.b", "a.b"], [ids[1]!, ids[0]!, ids[0]!])
    await add(stage, [acme, other, acme], ["a.b", "a.b", "c"], [ids[0]!, ids[0]!, ids[0]!])
    const found = await stage.rows(DEVIATIONS)
    assert.deepEqual(
      found.map(({ count, event_type, last_event_id, workspace_id }) => [
        workspace_id,
        event_type,
        count,
        last_event_id
      ]),
      [
        [acme, "a.b", 3, ids[1]],
        [acme, "c", 1, ids[0]],
        [other, "a.b", 1, ids[0]]
      ].sort()
    )
  })

  it("deviations_of, remove_old_deviations: the last 30 days, of one workspace or all", async (stage) => {
    const [acme, other] = [await stage.workspace(), await stage.workspace("other")]
    const today = "(now() at time zone 'UTC')::date"
    await stage.rows(
      `insert into posthorn.deviations (workspace_id, event_type, day, count, since, last_event_id)
       values ($1, 'a', ${today}, 1, now(), 'evt_3'), ($1, 'a', ${today} - 29, 2, now(), 'evt_2'),
         ($1, 'a', ${today} - 30, 4, now(), 'evt_9'), ($1, 'b', ${today} - 30, 4, now(), 'evt_9'), ($2, 'a', ${today}, 8, now(), 'evt_4'), ($1, 'b', ${today}, 16, now(), 'evt_5')`,
      acme,
      other
    )
    const of = (workspace: string | null) =>
      idsOf(stage, "select count::integer, last_event_id from posthorn.deviations_of('a', $1)", workspace)
    assert.deepEqual(
      [await of(acme), await of(other), await of(null)],
      [[[3, "evt_3"]], [[8, "evt_4"]], [[11, "evt_4"]]]
    )
    for (const removed of [1, 1, 0])
      assert.equal(await stage.value("select posthorn.remove_old_deviations(1)"), removed)
    assert.deepEqual(await of(null), [[11, "evt_4"]])
  })

  it("workspaces_to_judge, events_to_judge, move_judged: each event from SQL once, from its type's put on", async (stage) => {
    const [acme, other] = [await stage.workspace(), await stage.workspace("other")]
    for (const type of ["a.b", "c", "a.b", "a.b", "a.b"]) await stage.publish("acme", type)
    await stage.publish("other")
    const ids = await eventsOf(stage, acme)
    const [theirs] = await eventsOf(stage, other)
    await stage.rows("update posthorn.events set purged_at = now(), payload = 'null' where id = $1", ids[3])
    const read = (past: string, horizon: string, most = 10, bytes = 1_000) =>
      idsOf(
        stage,
        "select id, payload from posthorn.events_to_judge($1, $2, $3, '{a.b}', $4, $5, $6)",
        ...[acme, past, horizon, [ids[1]], most, bytes]
      )
    // The first is older than the schema, the second of another type, the fourth purged.
    assert.deepEqual(await read("", "evt_g"), [
      [ids[0], null],
      [ids[1], null],
      [ids[2], "1"],
      [ids[3], null],
      [ids[4], "1"]
    ])
    assert.deepEqual(await read(ids[1]!, ids[2]!), [[ids[2], "1"]])
    assert.deepEqual(await read("", "evt_g", 2), [
      [ids[0], null],
      [ids[1], null]
    ])
    assert.deepEqual(await read("", "evt_g", 10, 1), [
      [ids[0], null],
      [ids[1], null],
      [ids[2], "1"]
    ])

    const waiting = (from: string, horizon = "evt_g", most = 10) =>
      idsOf(
        stage,
        "select workspace_id, past, stored from posthorn.workspaces_to_judge($1, $2, $3, $4)",
        from,
        ids[1],
        horizon,
        most
      )
    const [low, high] = [acme, other].sort()
    assert.deepEqual(
      (await waiting("")).map(([id]) => id),
      [low, high]
    )
    assert.deepEqual(
      (await waiting(low!)).map(([id]) => id),
      [high]
    )
    assert.deepEqual(
      (await waiting("", "evt_g", 1)).map(([id]) => id),
      [low]
    )
    assert.deepEqual(
      (await waiting("", ids[4])).map(([id]) => id),
      theirs! > ids[4]! ? [acme] : [low, high]
    )
    const move = (workspace: string, before: string | null, to: string) =>
      stage.value("select posthorn.move_judged($1, $2, $3, '{a.b}', $4)", workspace, before, to, [ids[2]])
    assert.equal(await move("wsp_gone", null, ids[2]!), false)
    assert.equal(await move(acme, null, ids[2]!), true)
    assert.equal(await move(acme, null, ids[4]!), false)
    assert.equal(await move(acme, ids[1]!, ids[4]!), false)
    assert.equal(await move(acme, ids[2]!, ids[4]!), true)
    assert.deepEqual(
      (await stage.rows(DEVIATIONS)).map(({ count, workspace_id }) => [workspace_id, count]),
      [[acme, 2]]
    )
    assert.deepEqual(await waiting(""), [[other, ids[1], null]])
    assert.deepEqual(await idsOf(stage, "select * from posthorn.judged_events"), [[acme, ids[4]]])
  })

  it("events_to_judge: events that came over REST are judged there", async (stage) => {
    const acme = await stage.workspace()
    await stage.publish("acme")
    await stage.rows("update posthorn.events set missed = missed")
    await stage.rows(
      `insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
       select workspace_id, id || 'f', event_type, payload, trace_id, 0, 0, 'api_token rest tok_1', created_at from posthorn.events`
    )
    const found = await idsOf(
      stage,
      "select payload from posthorn.events_to_judge($1, '', 'evt_g', '{a.b}', '{evt_}', 10, 1000)",
      acme
    )
    assert.deepEqual(found, [["1"], [null]])
  })

  it("EventTypesRepo.ts put, EventTypesRepo.ts remove: a put replaces its own type, a removal removes it", async (stage) => {
    const types = await stage.repos.get(EventTypesRepo)
    const stored = () => idsOf(stage, "select event_type, hidden from posthorn.event_types order by 1")
    for (const [type, hidden] of [
      ["a", false],
      ["b", false],
      ["a", true]
    ] as const)
      await stage.repos.run(types.put(type, { ...SETTINGS, hidden }))
    assert.deepEqual(await stored(), [
      ["a", true],
      ["b", false]
    ])
    await stage.repos.run(types.remove("a"))
    assert.deepEqual(await stored(), [["b", false]])
    await stage.rows("delete from posthorn.event_types")
  })

  it("newest_of_type: the newest of all workspaces, but for purged ones", async (stage) => {
    const [acme] = [await stage.workspace(), await stage.workspace("other")]
    const made: Array<string> = []
    for (const slug of ["acme", "other", "acme", "acme"]) made.push(String((await stage.publish(slug)).id))
    await stage.publish("acme", "c")
    await stage.rows(
      "update posthorn.events set purged_at = now(), payload = 'null' where workspace_id = $1 and id = $2",
      acme,
      made[2]
    )
    const newest = (most: number, bytes = 100) =>
      idsOf(stage, "select id, workspace from posthorn.newest_of_type('a.b', $1, $2)", most, bytes)
    assert.deepEqual(await newest(10), [
      [made[3], "acme"],
      [made[1], "other"],
      [made[0], "acme"]
    ])
    assert.deepEqual(await newest(3), [
      [made[3], "acme"],
      [made[1], "other"]
    ])
    assert.deepEqual(await newest(10, 1), [[made[3], "acme"]])
    const { id } = await stage.publish("other")
    await stage.publish("acme", "A")
    assert.deepEqual(await newest(1), [[id, "other"]])
  })
})

export const catalogue = scenarios
