/** A single event without a key, the most frequent case: it stores the same as a batch would. */
import assert from "node:assert/strict"
import { each } from "./Publishing.ts"
import type { Scenario, Stage } from "./Stage.ts"

/** From the application's SQL and through the shared statement. Gives the number of deliveries. */
const ways = (stage: Stage) => [
  async (type: string) => ((await stage.publish("acme", type)).delivery_ids as ReadonlyArray<string>).length,
  async (type: string) => (await each(stage, [["acme", type, "1", null]]))[0]!.made
]

const takeAll = (stage: Stage) =>
  stage.row(`with gone as (delete from posthorn.events returning id, deliveries, missed, trace_id, created_at),
      queued as (delete from posthorn.queue returning *), delivered as (delete from posthorn.deliveries returning *),
      left_out as (delete from posthorn.missed_events returning endpoint_id, event_id)
    select (select count(*)::integer from gone) as events, max(g.deliveries) as deliveries, max(g.missed) as missed,
      (select count(*)::integer from left_out l where l.event_id = any (array_agg(g.id))) as noted,
      count(distinct d.endpoint_id)::integer as endpoints, count(q.*)::integer as queued,
      bool_and(d.trace_id = g.trace_id and d.next_attempt_at = d.created_at and q.due_at = d.created_at
        and q.shard = posthorn.shard_of(d.endpoint_id) and d.created_at = posthorn.made_at(d.id)) as alike
    from gone g left join delivered d on d.event_id = g.id left join queued q on q.delivery_id = d.id
      and q.endpoint_id = d.endpoint_id`)

export const publishingOne: ReadonlyArray<Scenario> = [
  {
    title: "an event by itself that is not valid is refused, and stores nothing",
    of: ["publish_one", "publish"],
    play: async (stage) => {
      await stage.workspace()
      assert.equal(await stage.code("select posthorn.publish('acme', 'not valid', '1')"), "PH400")
      assert.equal(await stage.value("select count(*)::integer from posthorn.events"), 0)
    }
  },
  {
    title: "an event by itself goes to all that want it, few or many, and is missed by all that are disabled",
    of: ["publish_one", "publish", "publish_each"],
    play: async (stage) => {
      const acme = await stage.workspace()
      for (let wanted = 1; wanted <= 5; wanted++)
        for (const off of [0, 2]) {
          const types = [`to.${wanted}.and.${off}`]
          for (let n = 0; n < wanted; n++) await stage.endpoint(acme, { types })
          for (let n = 0; n < off; n++) await stage.endpoint(acme, { types, enabled: false })
          for (const publish of ways(stage)) {
            assert.equal(await publish(types[0]!), wanted)
            const all = { deliveries: wanted, endpoints: wanted, queued: wanted, missed: off, noted: off }
            assert.deepEqual(await takeAll(stage), { ...all, events: 1, alike: true })
          }
        }
    }
  },
  {
    title: "an event by itself that only disabled endpoints want, or nobody, is stored and makes no delivery",
    of: ["publish_one", "publish", "publish_each"],
    play: async (stage) => {
      const acme = await stage.workspace()
      await stage.endpoint(acme, { types: ["off"], enabled: false })
      for (const publish of ways(stage))
        for (const type of ["off", "unwanted"]) {
          assert.equal(await publish(type), 0)
          const { events, noted } = await takeAll(stage)
          assert.deepEqual({ events, noted }, { events: 1, noted: type === "off" ? 1 : 0 })
        }
    }
  },
  {
    title: "who wants an event by itself is looked up once, also when it is nobody",
    of: [],
    play: async (stage) => {
      const acme = await stage.workspace()
      await stage.endpoint(acme, { types: ["on"] })
      await stage.endpoint(acme, { types: ["off"], enabled: false })
      for (const publish of ways(stage)) {
        const looks = async () =>
          (await stage.value(
            `select (seq_scan + idx_scan)::integer from pg_stat_xact_user_tables
             where relid = 'posthorn.subscriptions'::regclass`
          )) as number
        const looksOf = async (type: string) => {
          await stage.rows("begin")
          const before = await looks()
          await publish(type)
          const after = await looks()
          await stage.rows("commit")
          return after - before
        }
        const wanted = await looksOf("on")
        assert.ok(wanted > 0)
        for (const type of ["off", "unwanted"]) assert.equal(await looksOf(type), wanted)
      }
    }
  },
  {
    title: "an event by itself makes no more deliveries than it may, and nothing when it would",
    of: ["publish_one", "publish_each"],
    play: async (stage) => {
      const acme = await stage.workspace()
      for (let n = 0; n < 2; n++) await stage.endpoint(acme)
      const what = async (most: number) => (await each(stage, [["acme", "a", "1", null]], most))[0]!.what
      assert.equal(await what(1), "PH413")
      assert.equal(await stage.value("select count(*)::integer from posthorn.events"), 0)
      assert.equal(await what(2), "published")
    }
  },
  {
    title: "of several events none of which has a key, each is published",
    of: ["publish_each"],
    play: async (stage) => {
      const acme = await stage.workspace()
      await stage.endpoint(acme)
      const events = ["a", "b"].map((type) => ["acme", type, "1", null] as const)
      const outcomes = (await each(stage, events)).map(({ made, what }) => `${what} ${made}`)
      assert.deepEqual(outcomes, ["published 1", "published 1"])
    }
  }
]
