/** Receivers that only show in numbers, beside good ones: one wave of them. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Setting, worker } from "../Setting.ts"
import { wave, workerSettings } from "./Wave.ts"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** What a collection leaves, of this process: resident memory holds what the collector has not got round to. */
const kept = () => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 2 ** 20
}

const MOST_MIB = 32
const HANGING = 100

layer(Setting, { excludeTestServices: true })("a crowd of receivers that misbehave", (it) => {
  it.scoped(
    "§3.1 keeps no good one waiting, is recorded to the attempt, and takes up a bounded number of connections",
    () =>
      Effect.gen(function* () {
        // A request that was given up before it came would be no attempt of its receiver's: a machine stands still for less.
        yield* worker({ ...workerSettings, requestTimeoutMs: 3_000 })
        const before = kept()

        const { requests, wrong } = yield* wave({
          hanging: HANGING,
          dripping: 60,
          flapping: 40,
          good: 5,
          rounds: 10
        })

        expect(wrong).toEqual([])
        expect(requests).toBeGreaterThan(HANGING * 7)
        const grown = kept() - before
        expect(grown).toBeLessThan(MOST_MIB)
      })
  )
})
