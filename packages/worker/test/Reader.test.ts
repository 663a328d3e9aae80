import { assert, describe, it } from "@effect/vitest"
import type { Due, Lookout, Queue, Waiting } from "@posthorn/persistence/Queue"
import type { SleepLocks } from "@posthorn/persistence/SleepLocks"
import { Clock, Effect, TestClock } from "effect"
import { tuned } from "../src/Tuning.ts"
import { lookingOut, quietQueue, readerOf } from "./Reading.ts"

/** Nobody publishes, so they can always be had. */
const locks: SleepLocks = { take: (shards) => Effect.succeed(shards), giveBack: Effect.void }

const waiting = (due: number): Waiting => ({
  workspaceId: "wsp_1",
  deliveryId: "whd_1",
  endpointId: "whe_1",
  shard: 0,
  due: due * 1000,
  attempts: 1,
  takeUps: 0
})

const nothing = () => false

/** A queue that holds one row, and tells when it was read. */
const holding = (row: Waiting) => {
  const reads: Array<number> = []
  const read = Effect.map(Clock.currentTimeMillis, (now): Due => {
    reads.push(now)
    return {
      horizon: now * 1000,
      open: [],
      rows: row.due <= now * 1000 ? [row] : [],
      loaded: new Map(),
      stopped: []
    }
  })
  const queue: Queue["Type"] = {
    ...quietQueue,
    due: (_marks, _skip, _perShard, _lookMost, lookout) =>
      Effect.zipRight(lookingOut(lookout, nothing), read),
    nextDue: () => Effect.map(Clock.currentTimeMillis, (now) => (row.due > now * 1000 ? row.due : null))
  }
  return { queue, reads }
}

describe("the reader", () => {
  it.scoped("§3.1 reads once a second while a retry waits, and on time when it is due", () =>
    Effect.gen(function* () {
      const retryAt = 50_500
      const { queue, reads } = holding(waiting(retryAt))
      const { lanes, reader } = yield* readerOf(queue)
      reader.hearing(locks)
      lanes.take(0, null)

      yield* Effect.forkScoped(reader.run)
      yield* TestClock.adjust(retryAt - 100)
      const before = reads.length
      yield* TestClock.adjust(200)

      // And some at the beginning, until it is quiet.
      assert.isAtMost(before, 80)
      assert.isAtLeast(before, 45)
      assert.strictEqual(
        reads.find((at) => at >= retryAt),
        retryAt
      )
      assert.strictEqual(lanes.waiting, 1)
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
          return { horizon: now * 1000, open, rows: [], loaded: new Map(), stopped: [] }
        })
      const queue: Queue["Type"] = {
        ...holding(waiting(0)).queue,
        nextDue: () => Effect.succeed(null),
        due: ([mark], _skip, _perShard, _lookMost, lookout) =>
          Effect.zipRight(lookingOut(lookout, nothing), look(mark!.due))
      }
      yield* TestClock.adjust(10_000)
      const { lanes, reader } = yield* readerOf(queue)
      reader.hearing(locks)
      lanes.take(0, null)
      yield* Effect.forkScoped(reader.run)
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

describe("a read that found something and did not ask who is publishing", () => {
  const EVERY_MS = 3

  it.scoped(
    "§3.1 is gone on from where it began, and names what it has shown, until it has named enough",
    () =>
      Effect.gen(function* () {
        const due = (n: number) => 10_000 + n * EVERY_MS
        const rows = Array.from({ length: 2 * tuned.wholeFrom }, (_, n) => ({
          ...waiting(due(n)),
          deliveryId: `whd_${n}`
        }))
        const looks: Array<{ readonly from: number; readonly lookout: Lookout | null; readonly due: Due }> =
          []
        const shown = (from: number) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            rows.filter((row) => row.due >= from && row.due <= now * 1000)
          )
        const read = (from: number, lookout: Lookout | null): Effect.Effect<Due> =>
          Effect.gen(function* () {
            // What a call takes, or a read that is always answered at once would hold up the test's clock.
            yield* Effect.sleep(1)
            const asked = yield* Clock.currentTimeMillis
            const rows = yield* shown(from)
            const isNew = rows.some(({ deliveryId }) => !lookout?.known.includes(deliveryId))
            if (lookout !== null && !isNew && lookout.patienceMs > 0) {
              yield* Effect.sleep(lookout.pauseMs)
              return yield* read(from, { ...lookout, patienceMs: lookout.patienceMs - lookout.pauseMs - 1 })
            }
            const isBare = lookout !== null && !lookout.whole && isNew
            return { horizon: asked * 1000, open: isBare ? null : [], rows, loaded: new Map(), stopped: [] }
          })
        const queue: Queue["Type"] = {
          ...holding(waiting(0)).queue,
          nextDue: () => Effect.succeed(null),
          due: ([mark], _skip, _perShard, _lookMost, lookout) =>
            Effect.tap(read(mark!.due, lookout), (due) => {
              looks.push({ from: mark!.due, lookout, due })
            })
        }
        yield* TestClock.adjust(due(0) - 20)
        const { lanes, reader } = yield* readerOf(queue)
        reader.hearing(locks)
        lanes.take(0, null)
        yield* Effect.forkScoped(reader.run)
        yield* TestClock.adjust(due(rows.length) + 20 - (due(0) - 20))

        const ids = ({ rows }: Due) => rows.map(({ deliveryId }) => deliveryId)
        const bare = looks.slice(0, -1).flatMap(({ due, from }, n) => {
          const next = looks[n + 1]!
          return due.open === null ? [{ due, from, next }] : []
        })
        assert.isAtLeast(bare.length, tuned.wholeFrom)
        for (const { due, from, next } of bare) {
          assert.strictEqual(next.from, from)
          assert.deepStrictEqual(next.lookout?.known, ids(due))
          assert.strictEqual(next.lookout?.whole, due.rows.length >= tuned.wholeFrom)
        }
        // Once it has asked, it goes on from there.
        const whole = looks.findIndex(({ lookout }) => lookout?.whole)
        assert.isAbove(looks[whole + 1]!.from, looks[whole]!.from)
        assert.isBelow(looks[whole + 1]!.lookout!.known.length, tuned.wholeFrom)
        assert.strictEqual(lanes.waiting, rows.length)
      })
  )

  it.scoped("§3.1 is not waited in once it would have to name too much", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: tuned.knownMost + 1 }, (_, n) => ({
        ...waiting(1),
        deliveryId: `whd_${n}`
      }))
      const known: Array<number> = []
      let count = 0
      const queue: Queue["Type"] = {
        ...holding(waiting(0)).queue,
        nextDue: () => Effect.succeed(null),
        due: (_marks, _skip, _perShard, _lookMost, lookout) =>
          Effect.map(Effect.sleep(1), () => {
            if (lookout !== null) {
              known.push(lookout.known.length)
              count = rows.length
            }
            const shown = rows.slice(0, count)
            return {
              horizon: 1_000_000,
              open: shown.length > 0 && lookout !== null ? null : [],
              rows: shown,
              loaded: new Map(),
              stopped: []
            }
          })
      }
      const { lanes, reader } = yield* readerOf(queue)
      reader.hearing(locks)
      lanes.take(0, null)
      yield* Effect.forkScoped(reader.run)
      yield* TestClock.adjust(tuned.restMs)

      assert.strictEqual(lanes.waiting, rows.length)
      assert.isAbove(known.length, 0)
      assert.isAtMost(Math.max(...known), tuned.knownMost)
    })
  )
})

describe("a sweep", () => {
  const row = waiting(1)

  /** Reads nothing new; a sweep takes `steps` steps of `stepMs` each, and finds `rows`. */
  const queueWith = (steps: number, stepMs: number, rows: () => ReadonlyArray<Waiting>) => {
    const seen = { heads: 0, due: 0 }
    const queue: Queue["Type"] = {
      ...quietQueue,
      due: (_marks, _skip, _perShard, _lookMost, lookout) =>
        Effect.map(lookingOut(lookout, nothing), () => {
          seen.due += 1
          return { horizon: 1_000_000_000, open: [], rows: [], loaded: new Map(), stopped: [] }
        }),
      heads: () =>
        Effect.map(Effect.sleep(stepMs), () => {
          seen.heads += 1
          return { rows: rows(), next: seen.heads % steps === 0 ? null : row }
        }),
      dueOf: () => Effect.sync(rows)
    }
    return { queue, seen }
  }

  const started = (queue: Queue["Type"]) =>
    Effect.gen(function* () {
      const { lanes, reader } = yield* readerOf(queue)
      reader.hearing(locks)
      lanes.take(0, null)
      yield* Effect.forkScoped(reader.run)
      return lanes
    })

  it.scoped("§3.1 finds what was committed behind the watermark and told to nobody", () =>
    Effect.gen(function* () {
      let committed: ReadonlyArray<Waiting> = []
      const { queue } = queueWith(1, 1, () => committed)
      const lanes = yield* started(queue)
      yield* TestClock.adjust(5_000)
      committed = [row]

      yield* TestClock.adjust(tuned.sweepMs)

      assert.strictEqual(lanes.waiting, 1)
    })
  )

  it.scoped(
    "§3.1 reads what is new between its steps, and rests for twenty times as long as all of them took",
    () =>
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
