/**
 * A shard that is taken while the poller is in the middle of something: what is published just then is read at once, not by
 * a sweep half a minute later. On a real PostgreSQL, with the queue's answers delayed at the critical moments.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import * as Queue from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Context, Deferred, Effect, Layer } from "effect"
import type { Dispatcher } from "../../src/dispatcher/Dispatcher.ts"
import { pollerOf } from "../polling/Polling.ts"
import { endpoint, publish, Setting, until, workspace } from "../Setting.ts"

/** Runs after the next answer of the queue, once. */
interface After {
  due: Effect.Effect<unknown>
  firstOfEndpoints: Effect.Effect<unknown>
}

const nothing = (): After => ({ due: Effect.void, firstOfEndpoints: Effect.void })

const once = (after: After, what: keyof After) =>
  Effect.suspend(() => {
    const now = after[what]
    after[what] = Effect.void
    return now
  })

/** The locks are never available, so the poller never sleeps. */
const awake: SleepLocks = { take: () => Effect.succeed({ taken: [], others: [] }), release: Effect.void }

const pollingWith = (after: After) =>
  Effect.gen(function* () {
    const real = Context.get(yield* Layer.build(Queue.layer), Queue.Queue)
    const queue: Queue.Queue["Type"] = {
      ...real,
      due: (...asked) => Effect.tap(real.due(...asked), once(after, "due")),
      firstOfEndpoints: (...asked) =>
        Effect.tap(real.firstOfEndpoints(...asked), once(after, "firstOfEndpoints"))
    }
    const { dispatcher, poller } = yield* pollerOf(queue)
    yield* Effect.forkScoped(poller.run)
    return { dispatcher, poller }
  })

/** An endpoint, its shard, and another one. */
const target = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const acme = yield* workspace
  const { id } = yield* endpoint(acme, "http://127.0.0.1:9/")
  const [row] = yield* sql<{ shard: number }>`select posthorn.shard_of(${id}) as shard`
  return { acme, shard: row!.shard, other: (row!.shard + 1) % 32 }
})

const read = (dispatcher: Dispatcher) =>
  until(
    Effect.sync(() => dispatcher.sizes.waiting),
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
      const { dispatcher, poller } = yield* pollingWith(after)
      const published = yield* Deferred.make<void>()
      after.due = Effect.sync(() => {
        after.firstOfEndpoints = publish(acme).pipe(
          Effect.provide(context),
          Effect.orDie,
          Effect.zipRight(Deferred.succeed(published, undefined))
        )
        dispatcher.take(shard, null)
      })
      dispatcher.take(other, null)
      poller.listening(awake)
      yield* Deferred.await(published)

      yield* read(dispatcher)
      assert.strictEqual(dispatcher.sizes.waiting, 1)
    })
  )

  it.scoped(
    "§3.1 what was published before in a transaction that is still open is found when it commits",
    () =>
      Effect.gen(function* () {
        const after = nothing()
        const { acme, other, shard } = yield* target
        const { dispatcher, poller } = yield* pollingWith(after)
        poller.listening(awake)
        dispatcher.take(other, null)
        yield* answers(after, "due", 2)

        const sql = yield* SqlClient.SqlClient
        yield* Effect.gen(function* () {
          yield* publish(acme)
          yield* answers(after, "due", 3)
          after.due = Effect.sync(() => dispatcher.take(shard, null))
          yield* answers(after, "firstOfEndpoints", 1)
          yield* answers(after, "due", 3)
        }).pipe(sql.withTransaction)

        yield* read(dispatcher)
        assert.strictEqual(dispatcher.sizes.waiting, 1)
      })
  )
})
