import { assert, describe, it } from "@effect/vitest"
import { type Due, Queue, type Waiting } from "@posthorn/persistence/Queue"
import { Clock, Effect, TestClock } from "effect"
import { Lanes } from "../src/Lanes.ts"
import * as Reader from "../src/Reader.ts"

const waiting = (due: number): Waiting => ({
  workspaceId: "wsp_1",
  deliveryId: "whd_1",
  endpointId: "whe_1",
  shard: 0,
  due: due * 1000,
  attempts: 1,
  takeUps: 0
})

/** A queue that holds one row, and tells when it was read. */
const holding = (row: Waiting) => {
  const reads: Array<number> = []
  const read = Effect.map(Clock.currentTimeMillis, (now): Due => {
    reads.push(now)
    return { horizon: now * 1000, rows: row.due <= now * 1000 ? [row] : [] }
  })
  const queue: Queue["Type"] = {
    due: () => read,
    nextDue: () => Effect.map(Clock.currentTimeMillis, (now) => (row.due > now * 1000 ? row.due : null)),
    dueOf: () => Effect.succeed([]),
    load: () => Effect.succeed([]),
    takeUp: () => Effect.succeed(new Map()),
    disabledAmong: () => Effect.succeed([])
  }
  return { queue, reads }
}

describe("the reader", () => {
  it.scoped("§3.1 reads once a second while a retry waits, and on time when it is due", () =>
    Effect.gen(function* () {
      const retryAt = 50_500
      const { queue, reads } = holding(waiting(retryAt))
      const lanes = new Lanes({ endpointConcurrency: 10 })
      let filledAt = 0
      const now = yield* Effect.clock
      const reader = yield* Reader.make(lanes, () => {
        filledAt ||= now.unsafeCurrentTimeMillis()
      }).pipe(Effect.provideService(Queue, queue))
      reader.hearing()
      reader.take(0)

      yield* Effect.forkScoped(reader.run)
      yield* TestClock.adjust(retryAt - 100)
      const before = reads.length
      yield* TestClock.adjust(200)

      assert.isAtMost(before, 60)
      assert.isAtLeast(before, 45)
      assert.strictEqual(filledAt, retryAt)
      assert.strictEqual(lanes.waiting, 1)
    })
  )
})
