/** Large batches that become due are read once, whatever transactions are open. */
import { assert, describe, it } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Cursor, Due, DueRow, Queue } from "@posthorn/persistence/engine/Queue"
import type { SleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Clock, Effect, TestClock } from "effect"
import { pollerOf, quietQueue } from "./Polling.ts"

const locks: SleepLocks = { take: () => Effect.succeed({ taken: [], others: [] }), release: Effect.void }

/** More rows than a poll returns, due at one moment, while a transaction that has published stays open. */
const openBeside = (count: number, dueMs: number, openMs: number) => {
  const froms: Array<Cursor> = []
  const all = Array.from({ length: count }, (_, n): DueRow => {
    const deliveryId = `whd_${String(n).padStart(6, "0")}`
    const [endpointId, due] = [`whe_${n}`, databaseMicros(dueMs * 1_000)]
    return {
      workspaceId: "wsp_1",
      deliveryId,
      endpointId,
      shard: 0,
      due,
      attempts: 0,
      claims: 0,
      atOnce: false
    }
  })
  const isPast = ({ deliveryId, due }: Cursor, row: DueRow) =>
    row.due > due || (row.due === due && row.deliveryId > deliveryId)
  const look = (mark: Cursor, perShard: number) =>
    Effect.map(Clock.currentTimeMillis, (now): Due => {
      froms.push({ shard: mark.shard, due: mark.due, deliveryId: mark.deliveryId })
      const rows = now < dueMs ? [] : all.filter((row) => isPast(mark, row)).slice(0, perShard)
      const open = now < openMs ? [] : [{ transaction: "1/1", shard: 0 }]
      return { horizon: databaseMicros(now * 1_000), open, rows, stopped: [] }
    })
  const queue: Queue["Type"] = {
    ...quietQueue,
    due: ([mark], _skip, perShard) => look(mark!, perShard)
  }
  return { froms, queue }
}

describe("a poller that stopped at its limit", () => {
  it.scoped("§3.4 (Lanes) continues past what it has read while a transaction is open", () =>
    Effect.gen(function* () {
      const { froms, queue } = openBeside(10_000, 40, 20)
      const { dispatcher, poller } = yield* pollerOf(queue)
      poller.listening(locks)
      dispatcher.take(0, null)
      yield* Effect.forkScoped(poller.run)
      yield* TestClock.adjust(60)

      const stops = froms.filter(({ deliveryId }) => deliveryId !== "").map(({ deliveryId }) => deliveryId)
      assert.isAtLeast(stops.length, 5)
      assert.deepStrictEqual(stops, [...new Set(stops)].toSorted())
    })
  )
})
