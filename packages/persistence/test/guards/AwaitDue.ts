/** Waiting for what is due: what it waits for, and what comes with it. */
import assert from "node:assert/strict"
import type { Row, Scenario, Session, Stage } from "./Stage.ts"

/** It waits for so long where it has to; only less than that would be wrong. */
const PATIENCE_MS = 150
/** Nobody waits for so long: it is answered before. */
const LONG_MS = 60_000

interface Asked {
  readonly past?: number
  readonly known?: ReadonlyArray<string>
  readonly pauseMs?: number
  readonly patienceMs?: number
  readonly fewMost?: number
  readonly loadMost?: number
  readonly whole?: boolean
}

const awaitDue = async (
  session: Session,
  shards: ReadonlyArray<number>,
  {
    past = 0,
    known = [],
    pauseMs = 1,
    patienceMs = PATIENCE_MS,
    fewMost = 9,
    loadMost = 9,
    whole = false
  }: Asked
) => {
  const began = performance.now()
  const rows = await session.rows(
    "select * from posthorn.await_due($1, $2, $3, 1, 100, $4, $5, $6, $7, $8) order by shard nulls first, delivery_ids",
    shards,
    past,
    known,
    fewMost,
    loadMost,
    whole,
    pauseMs,
    patienceMs
  )
  return { rows, tookMs: performance.now() - began }
}

const waited = async (stage: Stage, shards: ReadonlyArray<number>, asked: Asked) =>
  (await awaitDue(stage, shards, asked)).tookMs >= PATIENCE_MS - 1

/** Between two looks. */
const sleeps = async (stage: Stage, who: Session) =>
  (await stage.value("select wait_event from pg_stat_activity where pid = $1", who.pid)) === "PgSleep"

/** For somebody who publishes to commit. */
const waits = async (stage: Stage, who: Session) =>
  (await stage.value("select wait_event_type from pg_stat_activity where pid = $1", who.pid)) === "Lock"

/** One row of an endpoint in shard 1, due a minute ago, and two of another in shard 2. */
const scene = async (stage: Stage) => {
  const acme = await stage.workspace()
  const one = await stage.endpoint(acme, { types: ["a"] })
  await stage.endpoint(acme, { types: ["b"] })
  await stage.deliveries(acme, "acme", 1, "a")
  await stage.deliveries(acme, "acme", 2, "b")
  await stage.rows(
    `update posthorn.queue set shard = case when endpoint_id = $1 then 1 else 2 end,
      due_at = date_trunc('second', now()) - interval '1 minute'`,
    one
  )
  const { due, id } = await stage.row(
    "select delivery_id as id, posthorn.micros(due_at) as due from posthorn.queue where shard = 1"
  )
  const others = await stage.rows("select delivery_id as id from posthorn.queue where shard = 2 order by 1")
  return { first: id as string, mark: Number(due), others: others.map(({ id }) => id as string) }
}

const loaded = (rows: ReadonlyArray<Row>) =>
  rows
    .filter(({ event_type }) => event_type !== null)
    .map(({ delivery_ids, event_type }) => [delivery_ids, event_type])

export const awaiting: ReadonlyArray<Scenario> = [
  {
    title:
      "who waits for something due is answered at once when there is something new, and else when the time is over",
    of: ["await_due"],
    play: async (stage) => {
      const { first, mark } = await scene(stage)
      assert.equal(await waited(stage, [3], {}), true, "for other shards")
      assert.equal(await waited(stage, [1], { past: mark + 1 }), true, "for what was due before")
      assert.equal(await waited(stage, [1], { past: mark, known: [first] }), true, "for what is known")

      const { rows, tookMs } = await awaitDue(stage, [1], { past: mark, patienceMs: LONG_MS })
      assert.ok(tookMs < LONG_MS)
      assert.deepEqual(loaded(rows), [[first, "a"]])

      await stage.rows("update posthorn.queue set due_at = now() + interval '1 hour' where shard = 1")
      assert.equal(await waited(stage, [1], {}), true, "for what is due later")
      const worker = await stage.other()
      const waiting = awaitDue(worker, [1], { patienceMs: LONG_MS })
      await stage.until("it has looked in vain", () => sleeps(stage, worker))
      await stage.rows("update posthorn.queue set due_at = now() where shard = 1")
      assert.deepEqual(loaded((await waiting).rows), [[first, "a"]])
    }
  },
  {
    title:
      "who waits for something due while somebody publishes is answered once that is committed, and holds up nobody who publishes",
    of: ["await_due", "is_awake"],
    play: async (stage) => {
      const acme = await stage.workspace()
      await stage.endpoint(acme)
      const shards = Array.from({ length: 32 }, (_, shard) => shard)
      const publish = async (who: Session) => {
        await who.rows("begin")
        await who.rows("select posthorn.publish('acme', 'a', '1')")
      }
      const locks = (who: Session) =>
        stage.value("select count(*) from pg_locks where locktype = 'advisory' and pid = $1", who.pid)
      const [publisher, another, worker] = [await stage.other(), await stage.other(), await stage.other()]
      await publish(publisher)
      const answer = awaitDue(worker, shards, { pauseMs: LONG_MS, patienceMs: 2 * LONG_MS })
      await stage.until("it waits for the publisher", () => waits(stage, worker))
      await publish(another)
      await publisher.rows("commit")
      const { rows, tookMs } = await answer
      assert.equal(loaded(rows).length, 1)
      assert.ok(tookMs < LONG_MS)
      assert.equal(await locks(worker), "0")

      const known = rows.flatMap(({ delivery_ids, shard }) => (shard === null ? [] : [String(delivery_ids)]))
      const late = await awaitDue(worker, shards, { known, pauseMs: 20 })
      assert.ok(late.tookMs >= PATIENCE_MS - 1, "nobody commits")
      assert.equal(loaded(late.rows).length, 0)
      assert.equal(await locks(worker), "0")
      await another.rows("commit")
    }
  },
  {
    title: "with what is awaited comes what its post needs, of so many that are not known",
    of: ["await_due"],
    play: async (stage) => {
      const { first, others } = await scene(stage)
      const all = [[first, "a"], ...others.map((id) => [id, "b"])]
      const { rows } = await awaitDue(stage, [1, 2], {})
      assert.equal(rows.length, 1 + all.length)
      assert.deepEqual(loaded(rows), all)
      assert.deepEqual(loaded((await awaitDue(stage, [1, 2], { loadMost: 2 })).rows), all.slice(0, 2))
      const { rows: again } = await awaitDue(stage, [1, 2], { known: [first] })
      assert.equal(again.length, 1 + all.length)
      assert.deepEqual(loaded(again), all.slice(1))
    }
  },
  {
    title:
      "who waits for something due is told who is publishing when nothing is new, or when that was asked",
    of: ["await_due"],
    play: async (stage) => {
      await scene(stage)
      const open = async (shard: number, asked: Asked) =>
        (await awaitDue(stage, [shard], asked)).rows[0]!.delivery_ids
      assert.equal(await open(1, {}), null)
      assert.equal(await open(1, { whole: true }), "")
      assert.equal(await open(3, {}), "")
    }
  },
  {
    title:
      "what is awaited is what is due in these shards from then on, and with many of them what `due` shows",
    of: ["await_due"],
    play: async (stage) => {
      const { first, mark, others } = await scene(stage)
      const shown = async (shards: ReadonlyArray<number>, asked: Asked = {}) =>
        (await awaitDue(stage, shards, { patienceMs: 0, ...asked })).rows.flatMap(
          ({ delivery_ids, shard }) => (shard === null ? [] : [delivery_ids])
        )
      assert.deepEqual(await shown([1]), [first])
      assert.deepEqual(await shown([2], { past: mark + 1 }), [])
      assert.deepEqual(await shown([1, 2], { fewMost: 4 }), [first, ...others])
      // One of each shard.
      assert.deepEqual(await shown([1, 2], { fewMost: 3 }), [first, others[0]])
      await stage.rows("update posthorn.queue set due_at = now() + interval '1 hour' where shard = 1")
      assert.deepEqual(await shown([1, 2]), others)
    }
  }
]
