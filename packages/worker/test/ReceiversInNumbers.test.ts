/** Receivers that only show in numbers, beside good ones: one wave of what `npm run receivers` does for hours. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { wave, workerSettings } from "./receivers/Wave.ts"
import { Setting, worker } from "./Setting.ts"

const MOST_MIB = 128

layer(Setting, { excludeTestServices: true })("a crowd of receivers that misbehave", (it) => {
  it.scoped(
    "§3.1 keeps no good one waiting, is recorded to the attempt, and takes up a bounded number of connections",
    () =>
      Effect.gen(function* () {
        yield* worker(workerSettings)
        const before = process.memoryUsage().rss

        const { requests, wrong } = yield* wave({
          hanging: 200,
          dripping: 60,
          flapping: 40,
          good: 5,
          rounds: 10
        })

        expect(wrong).toEqual([])
        expect(requests).toBeGreaterThan(200 * 7)
        expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(MOST_MIB)
      }),
    60_000
  )
})
