/**
 * A shard that is taken while the poller is in the middle of something: what is published just then is read at once, not by
 * a sweep half a minute later. On a real PostgreSQL, with the queue's answers delayed at the critical moments.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import * as Queue from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Context, Deferred, Effect, Layer } from "effect"
import type { Lanes } from "../../src/lanes/Lanes.ts"
import { endpoint, publish, Setting, until, workspace } from "../Setting.ts"
import { pollerOf } from "./Polling.ts"

/** Runs after the next answer of the queue, once. */
interface After {
  due: Effect.Effect<unknown>
  heads: Effect.Effect<unknown>
}

const nothing = (): After => ({ due: Effect.void, heads: Effect.void })

const once = (after: After, what: keyof After) =>
  Effect.suspend(() => {
    const now = after[what]
    after[what] = Effect.void
    return now
  })

/** The locks are never available, so the poller never sleeps. */
const awake: SleepLocks = { take: () => Effect.succeed([]), giveBack: Effect.void }

const pollingWith = (after: After) =>
  Effect.gen(function* () {
    const real = Context.get(yield* Layer.build(Queue.layer), Queue.Queue)
    const queue: Queue.Queue["Type"] = {
      ...real,
      due: (...asked) => Effect.tap(real.due(...asked), once(after, "due")),
      heads: (...asked) => Effect.tap(real.heads(...asked), once(after, "heads"))
    }
    const { lanes, poller } = yield* pollerOf(queue)
    yield* Effect.forkScoped(poller.run)
    return { lanes, poller }
  })

/** An endpoint, its shard, and another one. */
const target = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const acme = yield* workspace
  const { id } = yield* endpoint(acme, "http://127.0.0.1:9/")
  const [row] = yield* sql<{ shard: number }>`select posthorn.shard_of(${id}) as shard`
  return { acme, shard: row!.shard, other: (row!.shard + 1) % 32 }
})

const read = (lanes: Lanes) =>
  until(
    Effect.sync(() => lanes.sizes.waiting),
    (waiting) => waiting === 1
  )

/** Waits until the queue has answered this many times more. */
const answers = (after: After, what: keyof After, times: number) =>
  Effect.gen(function* () {
    for (let n = 0; n < times; n++) {
      const answered = yield* Deferred.make<void>()
      after[what] = Deferred.succeed(answered, undefined)
      yield* Deferred.await(answered)
    }
  })

layer(Setting, { excludeTestServices: true })("a shard taken while the poller reads others", (it) => {
  it.scoped("§3.1 what is published between the sweep of a shard and its first poll is found", () =>
    Effect.gen(function* () {
      const after = nothing()
      const { acme, other, shard } = yield* target
      const context = yield* Effect.context<SqlClient.SqlClient>()
      const { lanes, poller } = yield* pollingWith(after)
      const published = yield* Deferred.make<void>()
      after.due = Effect.sync(() => {
        after.heads = publish(acme).pipe(
          Effect.provide(context),
          Effect.orDie,
          Effect.zipRight(Deferred.succeed(published, undefined))
        )
        lanes.take(shard, null)
      })
      lanes.take(other, null)
      poller.listening(awake)
      yield* Deferred.await(published)

      yield* read(lanes)
      assert.strictEqual(lanes.sizes.waiting, 1)
    })
  )

  it.scoped(
    "§3.1 what was published before in a transaction that is still open is found when it commits",
    () =>
      Effect.gen(function* () {
        const after = nothing()
        const { acme, other, shard } = yield* target
        const { lanes, poller } = yield* pollingWith(after)
        poller.listening(awake)
        lanes.take(other, null)
        yield* answers(after, "due", 2)

        const sql = yield* SqlClient.SqlClient
        yield* Effect.gen(function* () {
          yield* publish(acme)
          yield* answers(after, "due", 3)
          after.due = Effect.sync(() => lanes.take(shard, null))
          yield* answers(after, "heads", 1)
          yield* answers(after, "due", 3)
        }).pipe(sql.withTransaction)

        yield* read(lanes)
        assert.strictEqual(lanes.sizes.waiting, 1)
      })
  )
})
