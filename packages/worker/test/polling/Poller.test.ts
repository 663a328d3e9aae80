import { assert, describe, it } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Due, DueRow, Queue } from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Clock, Effect, TestClock } from "effect"
import { tuned } from "../../src/Tuning.ts"
import { pollerOf, quietQueue } from "./Polling.ts"

/** Nobody publishes, so the locks can always be taken. */
const locks: SleepLocks = { take: (taken) => Effect.succeed({ taken, others: [] }), release: Effect.void }

const waiting = (due: number): DueRow => ({
  workspaceId: "wsp_1",
  deliveryId: "whd_1",
  endpointId: "whe_1",
  shard: 0,
  due: databaseMicros(due * 1000),
  attempts: 1,
  claims: 0,
  atOnce: false
})

/** A queue with one row that records when it was read. */
const holding = (row: DueRow) => {
  const reads: Array<number> = []
  const read = Effect.map(Clock.currentTimeMillis, (now): Due => {
    reads.push(now)
    return {
      horizon: databaseMicros(now * 1000),
      open: [],
      rows: row.due <= now * 1000 ? [row] : [],
      stopped: []
    }
  })
  const queue: Queue["Type"] = {
    ...quietQueue,
    due: () => read,
    nextDue: () => Effect.map(Clock.currentTimeMillis, (now) => (row.due > now * 1000 ? row.due : null))
  }
  return { queue, reads }
}

describe("the poller", () => {
  it.scoped("§3.1 polls seldom while a retry waits, and on time when it is due", () =>
    Effect.gen(function* () {
      const retryAt = 50_500
      const { queue, reads } = holding(waiting(retryAt))
      const { dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)

      yield* Effect.forkScoped(poller.run)
      yield* TestClock.adjust(retryAt - 100)
      const before = reads.length
      yield* TestClock.adjust(200)

      // And some at the beginning, until it is quiet.
      const regular = Math.floor(retryAt / tuned.pollMs)
      assert.isAtMost(before, regular + 30)
      assert.isAtLeast(before, regular - 1)
      // Timers have whole milliseconds.
      assert.isBelow(reads.find((at) => at >= retryAt)!, retryAt + 1)
      assert.strictEqual(dispatcher.sizes.waiting, 1)
    })
  )
})

describe("a delivery that a notification names", () => {
  it.scoped(
    "§3.1 sleeps although another session has its sleep lock, and takes the lock when it is free",
    () =>
      Effect.gen(function* () {
        const { queue, reads } = holding(waiting(1e9))
        const { dispatcher, poller } = yield* pollerOf(queue)
        let isFree = false
        let taken = 0
        poller.listening({
          ...locks,
          take: (shards) => {
            if (isFree) taken += shards.length
            return Effect.succeed(isFree ? { taken: shards, others: [] } : { taken: [], others: shards })
          }
        })
        dispatcher.take(0, null)
        yield* Effect.forkScoped(poller.run)
        yield* TestClock.adjust(5_000)
        reads.length = 0

        yield* TestClock.adjust(60_000)
        assert.isAtMost(reads.length, 60_000 / tuned.notListeningPollMs)
        isFree = true
        yield* TestClock.adjust(tuned.notListeningPollMs)
        assert.strictEqual(taken, 1)
        yield* TestClock.adjust(5_000)
        reads.length = 0
        yield* TestClock.adjust(60_000)
        assert.isAtMost(reads.length, 60_000 / tuned.pollMs)
      })
  )

  it.scoped("§3.1 waits in its lane without a poll, unless a poll may have returned it", () =>
    Effect.gen(function* () {
      const { queue, reads } = holding(waiting(1_000_000))
      const { inbox, dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)
      yield* Effect.forkScoped(poller.run)
      yield* TestClock.adjust(5_500)
      const polls = reads.length
      const polledAt = reads.at(-1)!

      inbox.tell({ kind: "delivery", row: { ...waiting(polledAt + 1), deliveryId: "whd_2", attempts: 0 } })
      yield* TestClock.adjust(1)
      assert.strictEqual(dispatcher.sizes.waiting, 1)
      assert.strictEqual(reads.length, polls)

      inbox.tell({ kind: "delivery", row: { ...waiting(polledAt), deliveryId: "whd_3", attempts: 0 } })
      yield* TestClock.adjust(1)
      assert.strictEqual(dispatcher.sizes.waiting, 1)
      assert.strictEqual(reads.length, polls + 1)
    })
  )

  it.scoped("§3.1 is polled for in a shard that no poll has read yet", () =>
    Effect.gen(function* () {
      const { queue, reads } = holding(waiting(1_000_000))
      const { inbox, dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)
      yield* Effect.forkScoped(poller.run)
      yield* TestClock.adjust(5_500)
      const polls = reads.length
      dispatcher.lose(0)
      dispatcher.take(0, null)

      inbox.tell({ kind: "delivery", row: { ...waiting(reads.at(-1)! + 1), attempts: 0 } })
      yield* TestClock.adjust(1)

      assert.strictEqual(dispatcher.sizes.waiting, 0)
      assert.isAbove(reads.length, polls)
    })
  )
})

describe("a look while a transaction that has published is open", () => {
  it.scoped("§3.1 goes back to before it published, until that is long ago", () =>
    Effect.gen(function* () {
      const looks: Array<{ readonly from: number; readonly at: number; readonly isOpen: boolean }> = []
      let isOpen = false
      const look = (from: number) =>
        Effect.map(Clock.currentTimeMillis, (now): Due => {
          looks.push({ from, at: now * 1000, isOpen })
          const open = isOpen ? [{ transaction: "1/1", shard: 0 }] : []
          return { horizon: databaseMicros(now * 1000), open, rows: [], stopped: [] }
        })
      const queue: Queue["Type"] = {
        ...holding(waiting(0)).queue,
        nextDue: () => Effect.succeed(null),
        due: ([mark]) => look(mark!.due)
      }
      yield* TestClock.adjust(10_000)
      const { dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)
      yield* Effect.forkScoped(poller.run)
      yield* TestClock.adjust(20)
      isOpen = true
      yield* TestClock.adjust(3 * tuned.restMs)

      const first = looks.findIndex((one) => one.isOpen)
      const since = looks[first - 1]!.at - 1_000
      const isYoung = (at: number) => since > at - tuned.restMs * 1_000
      const later = looks.slice(first, -1)
      assert.deepStrictEqual(
        looks.slice(first + 1).map(({ from }) => from),
        later.map(({ at }) => (isYoung(at) ? since : at - 1_000))
      )
      assert.isTrue(later.some(({ at }) => isYoung(at)) && later.some(({ at }) => !isYoung(at)))
    })
  )
})

describe("a sweep", () => {
  const row = waiting(1)

  /** Polls find nothing new; a sweep has `steps` steps of `stepMs` each, and finds `rows`. */
  const queueWith = (steps: number, stepMs: number, rows: () => ReadonlyArray<DueRow>) => {
    const seen = { heads: 0, due: 0 }
    const queue: Queue["Type"] = {
      ...quietQueue,
      due: () =>
        Effect.sync(() => {
          seen.due += 1
          return { horizon: databaseMicros(1_000_000_000), open: [], rows: [], stopped: [] }
        }),
      firstOfEndpoints: () =>
        // biome-ignore lint/plugin: a slow statement
        Effect.map(Effect.sleep(stepMs), () => {
          seen.heads += 1
          return { rows: rows(), next: seen.heads % steps === 0 ? null : row }
        }),
      dueOfEndpoints: () => Effect.sync(rows)
    }
    return { queue, seen }
  }

  const started = (queue: Queue["Type"]) =>
    Effect.gen(function* () {
      const { dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)
      yield* Effect.forkScoped(poller.run)
      return dispatcher
    })

  it.scoped("§3.1 finds what was committed behind the cursor without a notification", () =>
    Effect.gen(function* () {
      let committed: ReadonlyArray<DueRow> = []
      const { queue } = queueWith(1, 1, () => committed)
      const dispatcher = yield* started(queue)
      yield* TestClock.adjust(5_000)
      committed = [row]

      yield* TestClock.adjust(tuned.sweepMs)

      assert.strictEqual(dispatcher.sizes.waiting, 1)
    })
  )

  it.scoped("§3.1 polls between its steps, and rests for twenty times as long as all of them took", () =>
    Effect.gen(function* () {
      const { queue, seen } = queueWith(40, 100, () => [])
      yield* started(queue)
      yield* TestClock.adjust(40 * 100)
      assert.strictEqual(seen.heads, 40)
      assert.isAtLeast(seen.due, 40)

      yield* TestClock.adjust(20 * 40 * 100 - 1_500)
      assert.strictEqual(seen.heads, 40)
      yield* TestClock.adjust(4_000)
      assert.isAbove(seen.heads, 40)
    })
  )
})
