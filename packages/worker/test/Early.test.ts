/** What a read has loaded along with what it found is sent without another statement, if it is still true. */
import { assert, describe, it } from "@effect/vitest"
import type { Loaded, Queue, Waiting } from "@posthorn/persistence/Queue"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Effect, TestClock } from "effect"
import { Lanes } from "../src/Lanes.ts"
import { makeLoader } from "../src/Loader.ts"
import type { Parts } from "../src/Parts.ts"
import { tuned } from "../src/Tuning.ts"

const waiting = (deliveryId: string, attempts = 0): Waiting => ({
  workspaceId: "wsp_1",
  deliveryId,
  endpointId: `whe_${deliveryId}`,
  shard: 0,
  due: 1,
  attempts,
  takeUps: 0
})

const of = (payload: string): Loaded => ({
  eventType: "invoice.paid",
  payload,
  traceId: "0af7651916cd43dd8448eb211c80319c",
  endpoint: {
    url: "https://example.com/",
    enabled: true,
    generation: 0,
    secret: Buffer.of(1),
    previousSecret: null
  },
  failures: 0
})

/** A loader, what it asks the database for, and what it has made ready. */
const loading = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const asked: Array<string> = []
  const lanes = new Lanes({ endpointConcurrency: 10, slots: 10 })
  lanes.take(0, null)
  const load: Queue["Type"]["load"] = (rows) =>
    Effect.sync(() => {
      asked.push(...rows.map(({ deliveryId }) => deliveryId))
      return rows.map(() => of("asked for"))
    })
  const parts = { clock, lanes, ownership: { certain: () => true }, queue: { load }, tuning: tuned }
  yield* Effect.forkScoped(makeLoader(parts as unknown as Parts))
  const read = (rows: ReadonlyArray<Waiting>, shown: ReadonlyArray<Waiting>, late = 0) =>
    Effect.sync(() => {
      const loaded = new Map(shown.map(({ deliveryId }) => [deliveryId, of("shown")]))
      lanes.early.put(shown, loaded, elapsed(clock), elapsed(clock) - late)
      lanes.add(rows)
      return { lanes }
    })
  const ready = Effect.sync(() => {
    const payloads: Record<string, string> = {}
    for (let row = lanes.slots.next(); row !== undefined; row = lanes.slots.next())
      payloads[row.deliveryId] = row.loaded!.payload
    return payloads
  })
  return { asked, read, ready }
})

describe("what a read has loaded", () => {
  it.scoped("decision §7 (Snapshot) is sent as it is, and only the rest is asked for", () =>
    Effect.gen(function* () {
      const { asked, read, ready } = yield* loading
      yield* read([waiting("a"), waiting("b")], [waiting("a")])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asked, ["b"])
      assert.deepStrictEqual(yield* ready, { a: "shown", b: "asked for" })
    })
  )

  it.scoped("decision §7 (Snapshot) is asked for again when it is for another attempt", () =>
    Effect.gen(function* () {
      const { asked, read } = yield* loading
      yield* read([waiting("a")], [waiting("a", 1)])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asked, ["a"])
    })
  )

  it.scoped("decision §7 (Snapshot) is asked for again when its answer came late", () =>
    Effect.gen(function* () {
      const { asked, read } = yield* loading
      yield* read([waiting("a")], [waiting("a")], 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asked, ["a"])
    })
  )

  it.scoped(
    "decision §7 (Snapshot) is asked for again when it was forgotten, as its endpoint was disabled",
    () =>
      Effect.gen(function* () {
        const { asked, read } = yield* loading
        const { lanes } = yield* read([], [waiting("a")])
        lanes.early.forget()
        lanes.add([waiting("a")])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(asked, ["a"])
      })
  )

  it.scoped("decision §7 (Snapshot) is asked for again when it is not fresh any more", () =>
    Effect.gen(function* () {
      const { asked, read } = yield* loading
      const { lanes } = yield* read([], [waiting("a")])
      yield* TestClock.adjust(tuned.freshMs + 1)
      lanes.add([waiting("a")])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asked, ["a"])
    })
  )
})
