/** Receivers that are only harmful in large numbers, beside good ones: one wave of them. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Setting, worker } from "../Setting.ts"
import { wave, workerSettings } from "./Wave.ts"

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** The memory of this process after a garbage collection: resident memory includes what was not collected yet. */
const kept = () => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 2 ** 20
}

const MOST_MIB = 32
const HANGING = 100

layer(Setting, { excludeTestServices: true })("a busy workspace of misbehaving receivers", (it) => {
  it.scoped(
    "§3.1 delays no good one, is recorded to the attempt, and takes a bounded number of connections",
    () =>
      Effect.gen(function* () {
        // A request given up before it arrived would be an attempt that its receiver did not see; a machine stalls for less
        // than this.
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
