/** When a look that waits within the database is sent: not before what was found has gone out to receivers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { KnownEndpoints } from "../src/internal/KnownEndpoints.ts"
import { awaitDue, type Lookout } from "../src/internal/Looks.ts"
import type { Run } from "../src/Prepared.ts"

const LOOKOUT: Lookout = { known: [], loadMost: 8, fewMost: 100, whole: false, pauseMs: 1, patienceMs: 5 }

describe("a look that waits within the database", () => {
  it.effect("§8 is sent after posts that were begun beside it and take a turn of the event loop", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const run: Run = () =>
        Effect.sync(() => {
          sent.push("look")
          return [[null, null, null, null, null, null, "1"]] as never
        })
      const marks = [{ shard: 0, due: 0, deliveryId: "" }]
      const found = yield* Effect.fork(awaitDue(run, new KnownEndpoints(), marks, 1, 1, LOOKOUT))
      yield* Effect.yieldNow()
      setImmediate(() => sent.push("post"))
      assert.strictEqual((yield* found).horizon, 1)
      assert.deepStrictEqual(sent, ["post", "look"])
    })
  )
})
