/** Where many become due they are read once, whoever is still publishing. */
import { assert, describe, it } from "@effect/vitest"
import type { Due, Queue, Waiting, Watermark } from "@posthorn/persistence/Queue"
import type { SleepLocks } from "@posthorn/persistence/SleepLocks"
import { Clock, Effect, TestClock } from "effect"
import { lookingOut, quietQueue, readerOf } from "./Reading.ts"

const locks: SleepLocks = { take: () => Effect.succeed([]), giveBack: Effect.void }

/** More rows than a read takes, due at one moment, while a transaction that has published stays open from another on. */
const crowded = (count: number, dueMs: number, openMs: number) => {
  const froms: Array<Watermark> = []
  const all = Array.from({ length: count }, (_, n): Waiting => {
    const deliveryId = `whd_${String(n).padStart(6, "0")}`
    const [endpointId, due] = [`whe_${n}`, dueMs * 1_000]
    return { workspaceId: "wsp_1", deliveryId, endpointId, shard: 0, due, attempts: 0, takeUps: 0 }
  })
  const isPast = ({ deliveryId, due }: Watermark, row: Waiting) =>
    row.due > due || (row.due === due && row.deliveryId > deliveryId)
  const look = (mark: Watermark, perShard: number) =>
    Effect.map(Clock.currentTimeMillis, (now): Due => {
      froms.push({ ...mark })
      const rows = now < dueMs ? [] : all.filter((row) => isPast(mark, row)).slice(0, perShard)
      const open = now < openMs ? [] : [{ transaction: "1/1", shard: 0 }]
      return { horizon: now * 1_000, open, rows, loaded: new Map(), stopped: [] }
    })
  const queue: Queue["Type"] = {
    ...quietQueue,
    due: ([mark], _skip, perShard, _lookMost, lookout) =>
      Effect.zipRight(
        lookingOut(lookout, () => false),
        look(mark!, perShard)
      )
  }
  return { froms, queue }
}

describe("a reader that stopped at its limit", () => {
  it.scoped("decision §7 (Lanes) reads on past what it has read while a transaction is open", () =>
    Effect.gen(function* () {
      const { froms, queue } = crowded(10_000, 40, 20)
      const { lanes, reader } = yield* readerOf(queue)
      reader.hearing(locks)
      lanes.take(0, null)
      yield* Effect.forkScoped(reader.run)
      yield* TestClock.adjust(60)

      const stops = froms.filter(({ deliveryId }) => deliveryId !== "").map(({ deliveryId }) => deliveryId)
      assert.isAtLeast(stops.length, 5)
      assert.deepStrictEqual(stops, [...new Set(stops)].toSorted())
    })
  )
})
