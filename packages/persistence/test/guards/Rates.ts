/** When attempts under a rate began, and what is made of that. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

const HOUR = 3_600

const begin = (stage: Stage, workspace: string, endpoint: string, ...secondsAgo: ReadonlyArray<number>) =>
  stage.rows(
    `insert into posthorn.attempt_starts (workspace_id, endpoint_id, at, id)
      select $1, $2, now() - ago * interval '1 second', 'wha_' || ago from unnest($3::float8[]) as ago`,
    workspace,
    endpoint,
    secondsAgo
  )

const begun = async (
  stage: Stage,
  workspace: string,
  asked: ReadonlyArray<{ endpoint: string; requests: number; seconds?: number; most?: number }>
) => {
  const rows = await stage.rows(
    "select ages from posthorn.starts_since($1, $2, $3, $4, $5) order by index",
    asked.map(() => workspace),
    asked.map(({ endpoint }) => endpoint),
    asked.map(({ requests }) => requests),
    asked.map(({ seconds = HOUR }) => seconds),
    asked.map(({ most = 10, requests }) => Math.min(most, requests))
  )
  return rows.map(({ ages }) => (ages as Array<number>).map((ms) => Math.round(ms / 1_000)))
}

/** Earlier owners of the endpoint's shard began nothing more from `ago` seconds ago on. */
const die = (stage: Stage, endpoint: string, ago = 0) =>
  stage.rows(
    `update posthorn.shards set owner = 'me', stopped_at = posthorn.micros(now() - $2 * interval '1 second')
      where shard = posthorn.shard_of($1)`,
    endpoint,
    ago
  )

const permit = async (stage: Stage, workspace: string, endpoint: string) => {
  const { seconds } = await stage.row(
    "select round(extract(epoch from posthorn.next_start($1, $2) - now()))::integer as seconds",
    workspace,
    endpoint
  )
  return seconds as number | null
}

const setPolicy = (stage: Stage, table: string, id: string, policy: object | null) =>
  stage.rows(`update posthorn.${table} set policy = $2 where id = $1`, id, policy)

export const rates = writeScenarios((it) => {
  it("starts_since: what was begun of each endpoint within its window, the last first, as many as its rate counts", async (stage) => {
    const acme = await stage.workspace()
    const [one, two, three] = [
      await stage.endpoint(acme),
      await stage.endpoint(acme),
      await stage.endpoint(acme)
    ]
    await begin(stage, acme, one, 5, 61, 1, 63)
    await begin(stage, acme, two, 7)
    assert.deepEqual(
      await begun(stage, acme, [
        { endpoint: one, requests: 9, seconds: 60 },
        { endpoint: two, requests: 9 },
        { endpoint: three, requests: 9 },
        { endpoint: one, requests: 2 }
      ]),
      [[1, 5, 61], [7], [], [1, 5]]
    )
  })

  it("starts_since: what an owner that died may have begun counts as begun at its end, also when asked again, and no more", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme, { types: ["a"] })
    const two = await stage.endpoint(acme, { types: ["b"] })
    await stage.deliveries(acme, "acme", 3, "a")
    await stage.deliveries(acme, "acme", 9, "b")
    await stage.rows("update posthorn.queue set due_at = now() - interval '1 minute'")
    const ages = async (endpoint: string, more: { requests: number; seconds?: number; most?: number }) =>
      (await begun(stage, acme, [{ endpoint, ...more }]))[0]

    // The last owners gave their shards back.
    assert.deepEqual(await ages(one, { requests: 9 }), [])
    await die(stage, one, 20)
    // As many as wait; not those of others.
    assert.deepEqual(await ages(one, { requests: 9 }), [20, 20, 20])
    assert.deepEqual(await ages(one, { requests: 9 }), [20, 20, 20])
    assert.deepEqual(await ages(two, { requests: 9 }), [])
    await die(stage, two, 20)
    // No more than it may have had in flight.
    assert.deepEqual(await ages(two, { requests: 9, most: 4 }), [20, 20, 20, 20])
    // Stored: also for the next owner, when this one has given it back.
    await stage.rows("update posthorn.shards set stopped_at = null")
    assert.deepEqual(await ages(one, { requests: 9 }), [20, 20, 20])
    assert.deepEqual(await ages(two, { requests: 9 }), [20, 20, 20, 20])
    // While it may still go on, they are to come.
    await die(stage, one, -3)
    assert.deepEqual(await ages(one, { requests: 9, seconds: 10 }), [-3, -3, -3])
  })

  it("take_shard, starts_since: attempts are counted of an owner that may have begun some, until it has stopped", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme, { types: ["a"] })
    await stage.deliveries(acme, "acme", 3, "a")
    await stage.rows("update posthorn.queue set due_at = now() - interval '1 minute'")
    const take = (owner: string) =>
      stage.rows("select posthorn.take_shard(posthorn.shard_of($1)::smallint, $2)", one, owner)
    const ages = async () => {
      await stage.rows("delete from posthorn.attempt_starts")
      return (await begun(stage, acme, [{ endpoint: one, requests: 9 }]))[0]
    }
    const rewind = (seconds: number) =>
      stage.rows("update posthorn.shards set stopped_at = stopped_at - $1 * 1000000", seconds)
    const stopped = () =>
      stage.value("select count(*)::integer from posthorn.shards where stopped_at is not null")

    await take("first")
    // The first of all, or one that began nothing in this shard, leaves nothing to count.
    const shard = await stage.value("select posthorn.shard_of($1)", one)
    let elsewhere = await stage.endpoint(acme)
    while ((await stage.value("select posthorn.shard_of($1)", elsewhere)) === shard)
      elsewhere = await stage.endpoint(acme)
    await begun(stage, acme, [{ endpoint: elsewhere, requests: 9 }])
    await take("second")
    assert.equal(await stopped(), 0)
    assert.deepEqual(await ages(), [])
    // It has begun some, and died: until now.
    await take("third")
    await rewind(5)
    // This one began nothing: what the one before it began stays.
    await take("fourth")
    assert.deepEqual(await ages(), [5, 5, 5])
    await take("fourth")
    assert.deepEqual(await ages(), [5, 5, 5])
    await take("fifth")
    assert.deepEqual(await ages(), [0, 0, 0])
    // It only lost its shards, and may go on.
    await stage.rows("select posthorn.show_life('fifth')")
    await take("sixth")
    await rewind(2)
    assert.deepEqual(await ages(), [-2, -2, -2])
    await stage.rows("select pg_advisory_unlock_all()")
    // It has released the shard.
    await stage.rows("select posthorn.release_shard(posthorn.shard_of($1)::smallint, 'sixth')", one)
    await take("seventh")
    assert.equal(await stopped(), 0)
  })

  it("owner_lives: an owner lives while a session holds its lock, and no other lock", async (stage) => {
    const lives = () => stage.value("select posthorn.owner_lives('one')")
    await stage.rows(`select pg_advisory_lock(posthorn.life_class() - 1, posthorn.life_lock('one')),
      pg_advisory_lock((posthorn.life_class()::bigint << 32) | posthorn.life_lock('one')), posthorn.show_life('other')`)
    const { lock, type } = await stage.row(
      "select posthorn.life_class() as type, posthorn.life_lock('one') as lock"
    )
    const far = await stage.other({ database: "postgres" })
    await far.rows("select pg_advisory_lock_shared($1::integer, $2::integer)", type, lock)
    assert.equal(await lives(), false)
    await stage.rows("select posthorn.show_life('one')")
    assert.equal(await lives(), true)
    await stage.rows("select pg_advisory_unlock_all()")
    assert.equal(await lives(), false)
  })

  it("starts_since: starts in the future, after the database's clock was set back, count as now", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme)
    await begin(stage, acme, one, -100, -4, 3)
    assert.deepEqual((await begun(stage, acme, [{ endpoint: one, requests: 9 }]))[0], [0, -4, 3])
  })

  it("starts_since: an owner that died had begun what its rate allowed, of what was due by then", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme, { types: ["a"] })
    await stage.deliveries(acme, "acme", 9, "a")
    await stage.rows("update posthorn.queue set due_at = now() - interval '1 minute'")
    await stage.rows(
      `update posthorn.queue set due_at = now() - interval '5 seconds'
        where delivery_id in (select delivery_id from posthorn.queue order by delivery_id limit 5)`
    )
    // Within the minute before its end it had begun two, of five; before that, and since then, others.
    await begin(stage, acme, one, 2, 3, 21, 22, 90)
    await begin(stage, acme, await stage.endpoint(acme), 21, 22, 23)
    await die(stage, one, 20)
    assert.deepEqual(
      (await begun(stage, acme, [{ endpoint: one, requests: 5, seconds: 60 }]))[0],
      [2, 3, 20, 20, 20]
    )
    await stage.rows("delete from posthorn.attempt_starts where id like 'unrecorded%'")
    // Four of nine were due by then.
    assert.deepEqual(
      (await begun(stage, acme, [{ endpoint: one, requests: 9, seconds: 60 }]))[0],
      [2, 3, 20, 20, 20, 20, 21, 22]
    )
  })

  it("record: of attempts under a rate it keeps when they began, once, also of those that come too late", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const [first, second] = await stage.deliveries(acme, "acme", 2)
    const [one, other] = [
      stage.observation(first!, { rateLimited: true }),
      stage.observation(second!, { rateLimited: false })
    ]
    await stage.record([one, other])
    await stage.record([one])
    const late = stage.observation(first!, { rateLimited: true })
    await stage.record([late])
    assert.deepEqual(
      (
        await stage.rows(
          "select id, extract(epoch from at) * 1000 as ms from posthorn.attempt_starts where workspace_id = $1",
          acme
        )
      )
        .map(({ id, ms }) => [id, Number(ms)])
        .sort(),
      [one, late].map(({ at, attemptId }) => [attemptId, at]).sort()
    )
  })

  it("next_start, rate_of: when the last attempts that the rate in force allows began, one window later", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    const rate = (requests: number, perSeconds: number) => ({ rateLimit: { requests, perSeconds } })
    await begin(stage, acme, one, 5, 10, 20, 63)
    await begin(stage, acme, two, 30)
    const beta = await stage.workspace("beta")
    await setPolicy(stage, "workspaces", beta, rate(1, 9))
    await begin(stage, beta, one, 1, 2, 3, 4)
    assert.equal(await permit(stage, acme, one), null)
    await setPolicy(stage, "endpoints", one, rate(2, 60))
    assert.deepEqual([await permit(stage, acme, one), await permit(stage, acme, two)], [50, null])
    // Its permit is free for three seconds; for more than ten, and it is not the rate that it waits for.
    await setPolicy(stage, "endpoints", one, rate(4, 60))
    assert.equal(await permit(stage, acme, one), -3)
    await setPolicy(stage, "endpoints", one, rate(3, 9))
    assert.equal(await permit(stage, acme, one), null)
    // The workspace's, where the endpoint has none of its own; null is its own.
    await setPolicy(stage, "workspaces", acme, rate(1, 100))
    assert.deepEqual([await permit(stage, acme, one), await permit(stage, acme, two)], [null, 70])
    await setPolicy(stage, "endpoints", two, { rateLimit: null })
    assert.equal(await permit(stage, acme, two), null)
    await setPolicy(stage, "endpoints", two, { jitter: 0 })
    assert.equal(await permit(stage, acme, two), 70)
    assert.equal(await permit(stage, beta, one), null)
  })

  it("forget_starts, remove_deliveries: beginnings are forgotten after the longest window, and with their endpoint", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await begin(stage, acme, one, 1, 3_602, 3_661)
    await begin(stage, acme, two, 1)
    assert.deepEqual(await stage.row("select posthorn.forget_starts() as n"), { n: 1 })
    await stage.rows("delete from posthorn.endpoints where id = $1", one)
    assert.deepEqual(
      await stage.rows("select endpoint_id from posthorn.attempt_starts where workspace_id = $1", acme),
      [{ endpoint_id: two }]
    )
  })
})
