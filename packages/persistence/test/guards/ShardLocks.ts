/** Who is a worker, which shards are free, and which sessions hold some without being workers. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { Scenario, Session, Stage } from "./Stage.ts"

const CLASS = 7_067_002
const MEMBER = 1_000_000

const take = (session: Session, shard: number) =>
  session.rows("select pg_advisory_lock($1::integer, $2::integer)", CLASS, shard)
const join = (session: Session) =>
  session.rows("select pg_advisory_lock_shared($1::integer, $2::integer)", CLASS, MEMBER)

const free = (shards: ReadonlyArray<number>) => [...shards].sort((a, b) => a - b)

const without = (...taken: ReadonlyArray<number>) =>
  Array.from({ length: 32 }, (_, shard) => shard).filter((shard) => !taken.includes(shard))

/** A session of a role that may only connect. */
const visitor = async (stage: Stage, visit: (session: Session, role: string) => Promise<void>) => {
  const role = `visitor_${randomBytes(6).toString("hex")}`
  await stage.rows(`create role ${role} login password '${role}'`)
  try {
    await visit(await stage.other({ role }), role)
  } finally {
    await stage.rows(`drop role ${role}`)
  }
}

const scenarios: ReadonlyArray<Scenario> = [
  {
    title:
      "a shard is free unless somebody holds exactly its lock in this database; members are the workers that have joined",
    of: ["ShardLocks.ts STANDING"],
    play: async (stage) => {
      const holder = await stage.other()
      await take(holder, 3)
      await join(holder)
      // The same numbers, but in another class, as one number instead of two, or in another database.
      await holder.rows("select pg_advisory_lock(1, 4)")
      await holder.rows("select pg_advisory_lock(($1::bigint << 32) | 5)", CLASS)
      await take(await stage.other({ database: "postgres" }), 6)
      // A session that only waits is not a member.
      const waiting = await stage.other()
      const waited = waiting.code("select pg_advisory_lock($1::integer, $2::integer)", CLASS, MEMBER)
      await stage.waits(holder, waiting)
      await stage.repos.worker("one", async (locks) => {
        // Workers that come after a waiting one cannot join before it.
        await stage.rows("select pg_cancel_backend($1)", waiting.pid)
        await waited
        await Effect.runPromise(locks.join)
        const again = waiting.code("select pg_advisory_lock($1::integer, $2::integer)", CLASS, MEMBER)
        await stage.waits(holder, waiting)
        const { free: shards, members, position, foreignSessions } = await Effect.runPromise(locks.membership)
        assert.deepEqual(free(shards), without(3))
        assert.deepEqual([members, position, foreignSessions], [2, 1, []])
        await stage.rows("select pg_cancel_backend($1)", waiting.pid)
        await again
        await stage.repos.worker("two", async (others) => {
          await Effect.runPromise(others.join)
          const seen = [await Effect.runPromise(locks.membership), await Effect.runPromise(others.membership)]
          assert.deepEqual(
            seen.map((membership) => [membership.members, membership.position]),
            [
              [3, 1],
              [3, 2]
            ]
          )
        })
      })
    }
  },
  {
    title: "a session whose role cannot change the queue is no member, and is named with the shards it holds",
    of: ["ShardLocks.ts STANDING"],
    play: (stage) =>
      visitor(stage, async (session, role) => {
        await join(session)
        await take(session, 7)
        await stage.repos.worker("one", async (locks) => {
          await Effect.runPromise(locks.join)
          // The worker's own shard does not count as the foreign session's, which waits for it.
          await Effect.runPromise(locks.take([8]))
          const waited = session.code("select pg_advisory_lock($1::integer, 8)", CLASS)
          await stage.waits(stage, session)
          const membership = await Effect.runPromise(locks.membership)
          assert.deepEqual([membership.members, membership.position], [1, 0])
          assert.deepEqual(free(membership.free), without(7, 8))
          assert.deepEqual(
            membership.foreignSessions.map((session) => [session.pid, session.role, session.shards]),
            [[session.pid, role, 1]]
          )
          await stage.rows("select pg_cancel_backend($1)", session.pid)
          await waited
        })
      })
  },
  {
    title: "a shard that somebody else holds is not taken, and does not become his who asks",
    of: ["ShardLocks.ts TAKE"],
    play: (stage) =>
      stage.repos.worker("one", (locks) =>
        stage.repos.worker("two", async (others) => {
          const taken = async (asked: typeof locks, ...shards: ReadonlyArray<number>) =>
            (await Effect.runPromise(asked.take(shards))).map(({ shard }) => shard)
          assert.deepEqual(await taken(locks, 3), [3])
          assert.deepEqual(await taken(others, 3, 4), [4])
          assert.deepEqual(
            await stage.rows(
              "select shard, owner from posthorn.shards where owner is not null order by shard"
            ),
            [
              { shard: 3, owner: "one" },
              { shard: 4, owner: "two" }
            ]
          )
        })
      )
  }
]

export const shards = scenarios
