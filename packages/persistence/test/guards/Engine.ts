/** What polls return to a worker, how it claims, and who owns a shard. */
import assert from "node:assert/strict"
import { Effect } from "effect"
import { sleepLocks } from "../../src/engine/SleepLocks.ts"
import { type Delivery, type Row, type Stage, writeScenarios } from "./Stage.ts"

const LIMIT = 7
const WAKE_CLASS = 7_067_003

/** Queue rows of two endpoints in given shards, due `minutes` ago. */
const scene = async (stage: Stage) => {
  const acme = await stage.workspace()
  const [one, two] = [
    await stage.endpoint(acme, { types: ["a"] }),
    await stage.endpoint(acme, { types: ["b"] })
  ]
  await stage.deliveries(acme, "acme", 3, "a")
  const all = await stage.deliveries(acme, "acme", 2, "b")
  await stage.rows("update posthorn.queue set shard = case when endpoint_id = $1 then 1 else 2 end", one)
  const of = (endpoint: string) => all.filter((delivery) => delivery.endpoint === endpoint)
  return { acme, one, two, of }
}

const setDue = (stage: Stage, { id }: Delivery, minutes: number) =>
  stage.rows(
    "update posthorn.queue set due_at = now() + $2 * interval '1 minute' where delivery_id = $1",
    id,
    minutes
  )

const idsIn = (rows: ReadonlyArray<Row>): ReadonlyArray<string> =>
  rows
    .flatMap(({ delivery_ids }) => (delivery_ids === null ? [] : (delivery_ids as string).split(",")))
    .sort()

const looked = (
  stage: Stage,
  shards: ReadonlyArray<number>,
  past: number,
  id: string,
  skip: ReadonlyArray<string>,
  most: number
) =>
  stage.rows(
    "select * from posthorn.due($1, $2, $3, $4, 100, $5) order by shard, endpoint_id nulls first",
    shards,
    shards.map(() => past),
    shards.map(() => id),
    skip,
    most
  )

const due = async (
  stage: Stage,
  shards: ReadonlyArray<number>,
  past = 0,
  id = "",
  skip: ReadonlyArray<string> = []
) =>
  idsIn((await looked(stage, shards, past, id, skip, 100)).filter(({ endpoint_id }) => endpoint_id !== null))

const claim = (stage: Stage, deliveries: ReadonlyArray<Delivery>, count = 1, sending = true, attempts = 0) =>
  stage.rows(
    "select delivery_id as id, outcome from posthorn.claim($1, $2, $3, $4, $5, $6) order by 1",
    deliveries.map(({ workspace }) => workspace),
    deliveries.map(({ id }) => id),
    deliveries.map(() => attempts),
    deliveries.map(() => count),
    LIMIT,
    sending
  )

const counted = (stage: Stage) =>
  stage.rows("select delivery_id as id, claims as n from posthorn.queue where claims > 0 order by 1")

export const engine = writeScenarios((it) => {
  it("due: what is due in these shards past the cursors is returned, without the endpoints to be skipped", async (stage) => {
    const { of, one, two } = await scene(stage)
    const [first, second, third] = of(one) as [Delivery, Delivery, Delivery]
    await setDue(stage, first, -3)
    await setDue(stage, second, -2)
    await setDue(stage, third, 5)
    const mark = async (id: string) =>
      Number(
        await stage.value("select posthorn.micros(due_at) from posthorn.queue where delivery_id = $1", id)
      )
    assert.deepEqual(await due(stage, [1]), [first.id, second.id])
    assert.deepEqual(
      await due(stage, [2]),
      of(two).map(({ id }) => id)
    )
    assert.deepEqual(await due(stage, [1], await mark(first.id), first.id), [second.id])
    assert.deepEqual(
      await due(stage, [1, 2], 0, "", [one]),
      of(two).map(({ id }) => id)
    )
  })

  it("due, write_attempts: of a skipped endpoint, what goes out at once is returned, but not when it is tried again", async (stage) => {
    const { of, one } = await scene(stage)
    const [first, second] = of(one) as [Delivery, Delivery]
    await stage.rows("update posthorn.queue set at_once = true where delivery_id = $1", first.id)
    const shown = async () =>
      idsIn((await looked(stage, [1], 0, "", [one], 100)).filter(({ endpoint_id }) => endpoint_id !== null))
    assert.deepEqual(await shown(), [first.id])
    await stage.record([stage.observation(first), stage.observation(second)])
    await setDue(stage, first, -1)
    assert.deepEqual(await shown(), [])
  })

  it("due: where endpoints are skipped, at most scan_limit rows past the cursor are read in each shard, and the result says where reading ended", async (stage) => {
    const { of, one, two } = await scene(stage)
    const [first, second, third] = of(one) as [Delivery, Delivery, Delivery]
    for (const [n, delivery] of [first, second, third].entries()) await setDue(stage, delivery, n - 4)
    const mark = Number(
      await stage.value("select posthorn.micros(due_at) from posthorn.queue where delivery_id = $1", first.id)
    )
    const stops = async (shards: ReadonlyArray<number>, skip: ReadonlyArray<string>, past = 0, id = "") =>
      (await looked(stage, shards, past, id, skip, 2)).flatMap(({ delivery_ids, endpoint_id, shard }) =>
        endpoint_id === null && shard !== null ? [[shard, delivery_ids]] : []
      )
    assert.deepEqual(await stops([1, 2], [one]), [
      [1, second.id],
      [2, of(two)[1]!.id]
    ])
    assert.deepEqual(await stops([1], [one], mark, first.id), [[1, third.id]])
    assert.deepEqual(await stops([1], []), [])
    await setDue(stage, second, 5)
    await setDue(stage, third, 5)
    assert.deepEqual(await stops([1], [one]), [])
  })

  it("due, open_publishers, notify_if_asleep: among the holders of locks, the open transactions that have published to these shards are named", async (stage) => {
    const acme = await stage.workspace()
    const shard = Number(await stage.value("select posthorn.shard_of($1)", await stage.endpoint(acme)))
    const open = (looked: number) =>
      stage.value(
        "select delivery_ids from posthorn.due(array[$1]::smallint[], '{0}', array[''], '{}', 1, 10) where shard is null",
        looked
      )
    const publisher = await stage.other()
    await publisher.rows("begin")
    await publisher.rows("select posthorn.publish('acme', 'a', '1')")
    const transaction = await publisher.value(
      "select virtualtransaction from pg_locks where pid = pg_backend_pid() limit 1"
    )
    const foreign = await stage.other()
    await foreign.rows("select pg_advisory_lock_shared(1, $1)", shard)
    await foreign.rows(
      "select pg_advisory_lock_shared((posthorn.sleep_lock_class()::bigint << 32) + $1)",
      shard
    )
    const far = await stage.other({ database: "postgres" })
    await far.rows("select pg_advisory_lock_shared($1::integer, $2::integer)", WAKE_CLASS, shard)
    const other = (shard + 1) % 32
    await foreign.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), $1)", other)
    assert.equal(await open(shard), `${String(transaction)} ${shard}`)
    assert.equal(await open(other), "")
    await publisher.rows("commit")
    assert.equal(await open(shard), "")
  })

  it("take_sleep_locks: a worker that wants to sleep gets the locks of shards in which no open transaction has published, and learns which another session has", async (stage) => {
    const acme = await stage.workspace()
    const shard = Number(await stage.value("select posthorn.shard_of($1)", await stage.endpoint(acme)))
    const publisher = await stage.other()
    await publisher.rows("begin")
    await publisher.rows("select posthorn.publish('acme', 'a', '1')")
    const worker = await stage.other()
    const locks = sleepLocks({
      broken: Effect.never,
      onNotification: () => undefined,
      query: <A>(text: string, values: ReadonlyArray<unknown> = []) =>
        Effect.promise(() => worker.rows(text, ...values) as Promise<ReadonlyArray<A>>)
    })
    const other = (shard + 1) % 32
    const frozen = await stage.other()
    const [theirs, near] = [(shard + 2) % 32, (shard + 3) % 32]
    await frozen.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), $1)", theirs)
    await frozen.rows("select pg_advisory_lock(1, $1)", shard)
    await frozen.rows("select pg_advisory_lock((posthorn.sleep_lock_class()::bigint << 32) + $1)", shard)
    const far = await stage.other({ database: "postgres" })
    await far.rows("select pg_advisory_lock($1::integer, $2::integer)", WAKE_CLASS, shard)
    const waiting = await stage.other()
    const waits = waiting.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), $1)", shard)
    // Also when an assertion fails before.
    waits.catch(() => undefined)
    const waitsNow = () =>
      stage.value("select count(*)::integer from pg_locks where locktype = 'advisory' and not granted")
    while ((await waitsNow()) === 0);
    const take = (...shards: ReadonlyArray<number>) => Effect.runPromise(locks.take(shards))
    assert.deepEqual(await take(shard, other, theirs), { taken: [other], others: [theirs] })
    await publisher.rows("commit")
    await waits
    await waiting.rows("select pg_advisory_unlock_all()")
    await far.rows("select pg_advisory_unlock_all()")
    await frozen.rows("select pg_advisory_unlock_all()")
    assert.deepEqual(await take(shard, near), { taken: [shard, near], others: [] })
    await Effect.runPromise(locks.release)
    assert.equal(
      await stage.value(
        `select count(*) from pg_locks where classid = $1::oid
             and database = (select oid from pg_database where datname = current_database())`,
        WAKE_CLASS
      ),
      "0"
    )
  })

  it("load: a delivery has the payload of its own event, and a test send its own payload", async (stage) => {
    const [acme, twin] = [await stage.workspace("acme"), await stage.workspace("twin")]
    const [ofAcme, ofTwin] = [await stage.endpoint(acme), await stage.endpoint(twin)]
    const sent: Array<readonly [string, string]> = []
    for (const [slug, payload] of [
      ["acme", "1"],
      ["acme", "2"],
      ["twin", "3"]
    ] as const)
      sent.push([
        slug === "acme" ? acme : twin,
        ((await stage.publish(slug, "a", null, payload)).delivery_ids as Array<string>)[0]!
      ])
    await stage.rows("alter table posthorn.events disable trigger events_keep_ids")
    await stage.rows("update posthorn.events set id = 'evt_same' where payload in ('1', '3')")
    await stage.rows("update posthorn.deliveries set event_id = 'evt_same' where id = any ($1)", [
      sent[0]![1],
      sent[2]![1]
    ])
    const payloads = async () =>
      (
        await stage.rows(
          "select payload from posthorn.load($1, $2, $3, '{0,0,0}', '{0,0,0}') order by index",
          sent.map(([workspace]) => workspace),
          sent.map(([, id]) => id),
          [ofAcme, ofAcme, ofTwin]
        )
      ).map(({ payload }) => payload)
    assert.deepEqual(await payloads(), ["1", "2", "3"])
    await stage.rows("update posthorn.deliveries set payload = 'own' where id = $1", sent[1]![1])
    assert.deepEqual(await payloads(), ["1", "own", "3"])
    const setLength = (length: number) =>
      stage.rows(
        "update posthorn.deliveries set payload = repeat('x', $2) where id = $1",
        sent[1]![1],
        length
      )
    await setLength(65_536)
    assert.deepEqual(await payloads(), ["1", "x".repeat(65_536), "3"])
    await setLength(65_537)
    assert.deepEqual(await payloads(), ["1", null, "3"])
    await stage.rows("update posthorn.deliveries set payload = 'own' where id = $1", sent[1]![1])
  })

  it("next_due: the next due time is the earliest that is yet to come in these shards", async (stage) => {
    const { of, one, two } = await scene(stage)
    const [, second, third] = of(one) as [Delivery, Delivery, Delivery]
    await setDue(stage, second, 20)
    await setDue(stage, third, 10)
    await setDue(stage, of(two)[0]!, 5)
    const expected = await stage.value(
      "select posthorn.micros(due_at) from posthorn.queue where delivery_id = $1",
      third.id
    )
    assert.equal(await stage.value("select posthorn.next_due(array[1]::smallint[])"), expected)
  })

  it("due_of_endpoints: a lane is refilled from a given row on, with what is due of its endpoint", async (stage) => {
    const { acme, of, one } = await scene(stage)
    const [first, second, third] = of(one) as [Delivery, Delivery, Delivery]
    await setDue(stage, first, -3)
    await setDue(stage, second, -2)
    await setDue(stage, third, 5)
    const from = (await stage.value(
      "select posthorn.micros(due_at) from posthorn.queue where delivery_id = $1",
      second.id
    )) as string
    const shown = (due: string, id: string) =>
      stage.rows(
        "select * from posthorn.due_of_endpoints($1, $2, $3, $4, array[100])",
        [acme],
        [one],
        [due],
        [id]
      )
    assert.deepEqual(idsIn(await shown("0", "")), [first.id, second.id])
    assert.deepEqual(idsIn(await shown(from, second.id)), [second.id])
    await stage.rows(
      "update posthorn.endpoints set enabled = false, disabled_reason = 'manual' where id = $1",
      one
    )
    assert.deepEqual(await shown("0", ""), [])
  })

  it("load: a delivery is loaded while it waits for this attempt, with its own endpoint; previous secrets expire by the clock", async (stage) => {
    const { acme, of, one, two } = await scene(stage)
    const [waiting, done, third] = of(one) as [Delivery, Delivery, Delivery]
    await stage.rows("update posthorn.endpoints set url = 'https://' || id")
    await stage.record([stage.observation(done, { status: "delivered" })])
    const load = (
      attempts: ReadonlyArray<number>,
      known: ReadonlyArray<string>,
      endpoints: ReadonlyArray<string> = [one, one, one, two]
    ) =>
      stage.rows(
        "select index, version, url, previous_secret as old, enabled from posthorn.load($1, $2, $3, $4, $5) order by index",
        [acme, acme, acme, acme],
        [waiting.id, done.id, third.id, of(two)[0]!.id],
        endpoints,
        attempts,
        known
      )
    const unknown = ["0", "0", "0", "0"]
    const urls = async () => (await load([0, 0, 0, 0], unknown)).map(({ index, url }) => [index, url])
    assert.deepEqual(await urls(), [
      [1, `https://${one}`],
      [3, `https://${one}`],
      [4, `https://${two}`]
    ])
    // It waits for its first attempt, not for a second.
    assert.deepEqual(
      (await load([0, 1, 1, 0], unknown)).map(({ index }) => index),
      [1, 4]
    )
    assert.deepEqual(
      (await load([0, 0, 0, 0], unknown, [one, one, two, one])).map(({ index }) => index),
      [1],
      "a delivery is loaded for its own endpoint only"
    )
    const versionOf = async () => (await load([0, 0, 0, 0], unknown))[0]!.version as string
    const version = await versionOf()
    const known = [version, version, version, "0"]
    assert.deepEqual(
      (await load([0, 0, 0, 0], known)).map(({ url }) => url),
      [null, null, `https://${two}`]
    )
    const withOld = (until: string) =>
      stage.rows(
        `update posthorn.endpoints set previous_secret = 'old', previous_secret_expires_at = now() + $1::interval where id = $2`,
        until,
        one
      )
    const oldOnes = async (known: string) =>
      (await load([0, 0, 0, 0], [known, known, known, "0"])).map(({ old, url }) => [
        url !== null,
        String(old)
      ])
    await withOld("1 hour")
    const both = await versionOf()
    assert.deepEqual(await oldOnes(version), [
      [true, "old"],
      [true, "old"],
      [true, "null"]
    ])
    // By the clock, not by the start of the transaction.
    await stage.rows("begin")
    await withOld("1 millisecond")
    await stage.rows("select pg_sleep(0.01)")
    assert.deepEqual(await oldOnes(both), [
      [true, "null"],
      [true, "null"],
      [true, "null"]
    ])
    await stage.rows("commit")
    assert.equal(await versionOf(), version)
  })

  it("claim: a claim is counted once, for the given deliveries, while they wait for this attempt", async (stage) => {
    const { of, one } = await scene(stage)
    const [first, second, third] = of(one) as [Delivery, Delivery, Delivery]
    assert.deepEqual(await claim(stage, [first, second], 2), [
      { id: first.id, outcome: "counted" },
      { id: second.id, outcome: "counted" }
    ])
    assert.deepEqual(await claim(stage, [first], 2), [{ id: first.id, outcome: "counted" }])
    assert.deepEqual(await claim(stage, [third], 1, true, 1), [])
    assert.deepEqual(await counted(stage), [
      { id: first.id, n: 2 },
      { id: second.id, n: 2 }
    ])
    assert.deepEqual(await claim(stage, [first], 1), [{ id: first.id, outcome: "counted" }])
    assert.deepEqual((await counted(stage))[0], { id: first.id, n: 2 })
    assert.equal((await stage.rows("select from posthorn.dead_letters")).length, 0)
  })

  it("claim, was_visible: a dead owner cannot have claimed what was committed after it took the shard: its first claim is counted", async (stage) => {
    const { of, one } = await scene(stage)
    const [before, after, third] = of(one) as [Delivery, Delivery, Delivery]
    await stage.rows("update posthorn.shards set in_doubt_snapshot = pg_current_snapshot() where shard = 1")
    await stage.rows("update posthorn.queue set attempts = attempts where delivery_id <> $1", before.id)
    await claim(stage, [before, after], 2)
    await claim(stage, [third], 3)
    assert.deepEqual(await counted(stage), [
      { id: before.id, n: 2 },
      { id: after.id, n: 1 },
      { id: third.id, n: 3 }
    ])
  })

  it("claim, was_visible: a claim that ended in a defect is counted whenever the row was committed", async (stage) => {
    const { of, one, two } = await scene(stage)
    const [first] = of(one) as [Delivery]
    const [undoubted] = of(two) as [Delivery]
    await stage.rows("update posthorn.shards set in_doubt_snapshot = pg_current_snapshot() where shard = 1")
    await stage.rows("update posthorn.queue set attempts = attempts")
    await claim(stage, [first], 2, false)
    await claim(stage, [undoubted], 2)
    assert.deepEqual(await counted(stage), [
      { id: first.id, n: 2 },
      { id: undoubted.id, n: 2 }
    ])
  })

  it("claim: a delivery at the limit is given up at its next claim, and only that delivery", async (stage) => {
    const { of, one } = await scene(stage)
    const [first, second, third] = of(one) as [Delivery, Delivery, Delivery]
    await stage.rows("update posthorn.queue set claims = $1 where delivery_id = any ($2)", LIMIT, [
      first.id,
      second.id
    ])
    // Repeated, as if the answer were lost: the claim is counted already.
    assert.deepEqual(await claim(stage, [first], LIMIT), [{ id: first.id, outcome: "counted" }])
    assert.deepEqual(await claim(stage, [first, third], LIMIT + 1), [
      { id: first.id, outcome: "given_up" },
      { id: third.id, outcome: "counted" }
    ])
    assert.deepEqual(await stage.rows("select delivery_id as id, reason from posthorn.dead_letters"), [
      { id: first.id, reason: "no_outcome" }
    ])
    assert.deepEqual(await counted(stage), [
      { id: second.id, n: LIMIT },
      { id: third.id, n: LIMIT }
    ])
  })

  it("claim: a delivery that may have been sent is not given up as never sent", async (stage) => {
    const { of, one } = await scene(stage)
    const [sent, tried, recorded] = of(one) as [Delivery, Delivery, Delivery]
    await claim(stage, [sent], 1, true)
    await claim(stage, [tried], 1, false)
    await stage.record([stage.observation(recorded)])
    await stage.rows("update posthorn.queue set claims = $1", LIMIT)
    await claim(stage, [sent, tried], LIMIT + 1, false)
    await claim(stage, [recorded], LIMIT + 1, false, 1)
    assert.deepEqual(
      (await stage.rows("select reason from posthorn.dead_letters order by delivery_id")).map(
        ({ reason }) => reason
      ),
      ["no_outcome", "never_sent", "no_outcome"]
    )
  })

  it("claim: a dead letter that exists already does not prevent giving a delivery up", async (stage) => {
    const { acme, of, one } = await scene(stage)
    const [first] = of(one)
    await stage.rows("update posthorn.queue set claims = $1", LIMIT)
    await stage.rows(
      "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
      acme,
      first!.id
    )
    assert.deepEqual(await claim(stage, [first!], LIMIT + 1), [{ id: first!.id, outcome: "given_up" }])
  })

  it("claim: a dead letter that another transaction is writing is waited for only a moment: the call ends with 55P03, to be repeated", async (stage) => {
    const { acme, of, one } = await scene(stage)
    const [first] = of(one)
    await stage.rows("update posthorn.queue set claims = $1", LIMIT)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows(
      "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
      acme,
      first!.id
    )
    await stage.rows("set statement_timeout = '8s'")
    const code = await claim(stage, [first!], LIMIT + 1).then(
      () => null,
      (error: { readonly code: string }) => error.code
    )
    await stage.rows("reset statement_timeout")
    assert.equal(code, "55P03")
  })

  it("claim: a locked row is left alone and reported as blocked, without waiting; others are counted", async (stage) => {
    const { of, one } = await scene(stage)
    const [blocked, free, doomed] = of(one) as [Delivery, Delivery, Delivery]
    await stage.rows("update posthorn.queue set claims = $1 where delivery_id = $2", LIMIT, doomed.id)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.queue where delivery_id = $1 for update", blocked.id)
    await other.rows("select from posthorn.deliveries where id = $1 for update", doomed.id)
    await stage.rows("set statement_timeout = '8s'")
    assert.deepEqual(await claim(stage, [blocked, free, doomed], LIMIT + 1), [
      { id: blocked.id, outcome: "blocked" },
      { id: free.id, outcome: "counted" },
      { id: doomed.id, outcome: "blocked" }
    ])
    await stage.rows("reset statement_timeout")
    assert.equal((await stage.rows("select from posthorn.dead_letters")).length, 0)
  })

  it("take_shard, release_shard: a shard that was not given back is taken over with the time up to which its rows are inDoubt, until it is given back", async (stage) => {
    const take = (shard: number, owner: string) =>
      stage.value("select posthorn.take_shard($1::smallint, $2)", shard, owner)
    const giveBack = (shard: number, owner: string) =>
      stage.rows("select posthorn.release_shard($1::smallint, $2)", shard, owner)
    assert.equal(await take(3, "one"), null)
    assert.equal(await take(4, "one"), null)
    const seen = () => stage.value("select in_doubt_snapshot::text from posthorn.shards where shard = 3")
    assert.equal(await seen(), null)
    const inDoubt = await take(3, "two")
    const snapshot = await seen()
    assert.notEqual(inDoubt, null)
    assert.notEqual(snapshot, null)
    assert.equal(await take(3, "two"), inDoubt)
    assert.equal(await seen(), snapshot)
    // A worker that was taken for dead gives back a shard that it no longer owns.
    await giveBack(3, "one")
    assert.equal(await take(3, "two"), inDoubt)
    await giveBack(3, "two")
    assert.equal(await take(3, "three"), null)
    assert.deepEqual(
      await stage.rows("select shard, owner from posthorn.shards where owner is not null order by shard"),
      [
        { shard: 3, owner: "three" },
        { shard: 4, owner: "one" }
      ]
    )
  })

  it("clear_doubt: doubt ends in the given shards of an owner when no row waits there that was due when it began, and the last owner starts nothing any more", async (stage) => {
    const { of, one, two } = await scene(stage)
    for (const delivery of of(two)) await setDue(stage, delivery, 5)
    for (const delivery of of(one)) await setDue(stage, delivery, -10)
    for (const shard of [1, 2, 3, 4]) {
      await stage.rows("select posthorn.take_shard($1::smallint, 'dead')", shard)
      await stage.rows("select posthorn.take_shard($1::smallint, $2)", shard, shard === 4 ? "other" : "me")
    }
    const clear = async (...shards: ReadonlyArray<number>) =>
      (await stage.rows("select posthorn.clear_doubt($1, 'me') as shard", shards))
        .map(({ shard }) => shard)
        .sort()
    assert.deepEqual(await clear(1, 2, 4), [])
    await stage.rows("update posthorn.shards set in_doubt_until = in_doubt_until - 4400000, stopped_at = 1")
    assert.deepEqual(await clear(1, 2, 4), [])
    await stage.rows("update posthorn.shards set in_doubt_until = in_doubt_until - 100001")
    assert.deepEqual(await clear(1, 2, 4), [2])
    assert.deepEqual(
      await stage.rows(
        "select shard from posthorn.shards where in_doubt_until is not null and in_doubt_snapshot is not null and stopped_at is not null order by 1"
      ),
      [{ shard: 1 }, { shard: 3 }, { shard: 4 }]
    )
    for (const delivery of of(one)) await setDue(stage, delivery, 5)
    assert.deepEqual(await clear(1, 3), [1, 3])
  })

  it("trigger endpoints_usable, tell_usable: workers are notified when an endpoint is enabled or gets another secret or profile, and of no other change", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme, { enabled: false })
    const heard: Array<string> = []
    const listener = await stage.other()
    listener.client.on("notification", ({ payload }) => {
      if (payload?.startsWith("usable")) heard.push(payload)
    })
    await listener.rows("listen posthorn_due")
    const after = async (change: string) => {
      await stage.rows(`update posthorn.endpoints set ${change}`)
      await listener.rows("select 1")
      return heard.splice(0)
    }
    const { shard } = await stage.row("select posthorn.shard_of($1) as shard", endpoint)
    const told = [`usable ${acme} ${endpoint} ${shard}`]
    assert.deepEqual(await after("secret = secret || '1'"), [])
    assert.deepEqual(await after("enabled = true, disabled_reason = null"), told)
    assert.deepEqual(await after("enabled = true"), [])
    for (const change of [
      "secret = secret || '2'",
      "previous_secret = '3', previous_secret_expires_at = now()",
      "request = '{}'",
      "request_secrets = '4'"
    ])
      assert.deepEqual(await after(change), told)
    assert.deepEqual(await after("secret = secret"), [])
    assert.deepEqual(await after("enabled = false, disabled_reason = 'manual'"), [])
  })

  it("trigger endpoints_changed, tell_endpoint_changed: workers are notified which endpoint was enabled, or has another URL or policy, and of no other change", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme, { failures: 4 })
    const heard: Array<string> = []
    const listener = await stage.other()
    listener.client.on("notification", ({ payload }) => {
      if (payload?.startsWith("endpoint")) heard.push(payload)
    })
    await listener.rows("listen posthorn_due")
    const after = async (change: string) => {
      await stage.rows(`update posthorn.endpoints set ${change}`)
      await listener.rows("select 1")
      return heard.splice(0)
    }
    const { shard } = await stage.row("select posthorn.shard_of($1) as shard", endpoint)
    const told = [`endpoint ${endpoint} 4 ${shard}`]
    assert.deepEqual(await after("url = 'https://example.com/other'"), told)
    assert.deepEqual(await after("url = url, policy = policy, description = 'x', enabled = true"), [])
    assert.deepEqual(await after("policy = '{}'"), told)
    assert.deepEqual(await after("policy = null"), told)
    assert.deepEqual(await after("enabled = false, disabled_reason = 'manual'"), [])
    assert.deepEqual(await after("enabled = true, disabled_reason = null"), told)
  })

  it("trigger workspaces_policy, tell_policy: workers are told whose policy was changed, and of no other change", async (stage) => {
    const acme = await stage.workspace()
    const heard: Array<string> = []
    const listener = await stage.other()
    listener.client.on("notification", ({ payload }) => void heard.push(payload!))
    await listener.rows("listen posthorn_due")
    const after = async (change: string) => {
      await stage.rows(`update posthorn.workspaces set ${change}`)
      await listener.rows("select 1")
      return heard.splice(0)
    }
    assert.deepEqual(await after("policy = '{}'"), [`policy ${acme}`])
    assert.deepEqual(await after("policy = '{}', name = 'x'"), [])
    assert.deepEqual(await after("policy = null"), [`policy ${acme}`])
  })
})
