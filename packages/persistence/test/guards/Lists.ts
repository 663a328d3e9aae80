/** A page of deliveries as PostgreSQL writes it: whose they are, from where, how many, and when somebody else has to make it. */
import assert from "node:assert/strict"
import type { Scenario, Stage } from "./Stage.ts"

const NEWEST = "whd_g"
const ROOM = 1_000

interface Asked {
  readonly endpoint?: string | null
  readonly before?: string
  readonly most?: number
  readonly room?: number | null
}

const ask = async (
  stage: Stage,
  workspace: string,
  { before = NEWEST, endpoint = null, most = 10, room = ROOM }: Asked = {}
) => {
  const select = "select posthorn.list_deliveries($1, $2, $3, $4, $5)"
  const page = (await stage.value(select, workspace, endpoint, before, most, room)) as string
  const [many, ids, ...lists] = page.split("\u0002")
  return { many, ids: ids === undefined ? [] : ids.split(","), payloads: lists[12]?.split("\u0001") }
}

const scenarios: ReadonlyArray<Scenario> = [
  {
    title: "a page has what is of its workspace, and of its endpoint, below an id, the newest first",
    of: ["list_deliveries"],
    play: async (stage) => {
      const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
      const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
      await stage.endpoint(other)
      await stage.deliveries(other, "other", 1)
      const made = await stage.deliveries(acme, "acme", 2)
      await stage.deliveries(other, "other", 1)
      const newest = made
        .map(({ id }) => id)
        .toSorted()
        .reverse()

      assert.deepEqual((await ask(stage, acme)).ids, newest)
      assert.deepEqual((await ask(stage, acme, { before: newest[1]! })).ids, newest.slice(2))
      for (const endpoint of [one, two]) {
        const own = newest.filter((id) => made.some((each) => each.id === id && each.endpoint === endpoint))
        assert.deepEqual((await ask(stage, acme, { endpoint })).ids, own)
        assert.deepEqual((await ask(stage, acme, { endpoint, before: own[0]! })).ids, own.slice(1))
        assert.deepEqual((await ask(stage, other, { endpoint })).ids, [])
      }

      // One more than the page may hold.
      assert.deepEqual((await ask(stage, acme, { most: 2 })).ids, newest.slice(0, 3))
      assert.equal((await ask(stage, acme, { most: 2 })).many, "3")
      assert.equal((await ask(stage, acme, { before: "whd_0" })).many, "0")
    }
  },
  {
    title:
      "a page has each delivery's own payload, none when none is asked for, and is left to others when one is too large",
    of: ["list_deliveries"],
    play: async (stage) => {
      const acme = await stage.workspace("acme")
      await stage.endpoint(acme)
      for (const payload of ["1", `"${"x".repeat(8)}"`, "2"])
        await stage.publish("acme", "a.b", null, payload)
      await stage.rows(
        `insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_type, payload, trace_id, created_at)
         values ($1, 'whd_0', 'whe_1', 'webhook.test_event', '"own"', 't', now())`,
        acme
      )
      const payloads = async (room: number | null) => (await ask(stage, acme, { room })).payloads

      assert.deepEqual(await payloads(ROOM), ["2", '"xxxxxxxx"', "1", '"own"'])
      assert.deepEqual(await payloads(10), ["2", '"xxxxxxxx"', "1", '"own"'])
      assert.equal(await payloads(9), undefined)
      assert.equal(await payloads(null), undefined)
    }
  }
]

export const lists = scenarios
