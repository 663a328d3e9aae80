/**
 * A process of its own, because the settings are of a process. Prints how many bytes of objects that nobody keeps are made among
 * the old ones after V8 has seen many of their kind live long, and how many running fibers Effect keeps in its set.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect, Fiber } from "effect"
import { keepShortLivedYoung } from "../src/ShortLived.ts"

keepShortLivedYoung()
setFlagsFromString("--expose-gc")
const collect: (options?: { readonly type: "minor" }) => void = runInNewContext("gc")

const make = (n: number) => ({ n, of: { n }, list: [n] })

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")!.space_used_size

for (let round = 0; round < 20; round++) {
  const kept = Array.from({ length: 3_000 }, (_, n) => make(n))
  collect({ type: "minor" })
  collect({ type: "minor" })
  kept.splice(0)
}
collect()
const before = oldBytes()
let made = 0
for (let n = 0; n < 50_000; n++) made += make(n).list.length
const bytes = oldBytes() - before

const fiber = Effect.runFork(Effect.async<void>(() => undefined))
const isRunning = fiber.unsafePoll() === null
process.stdout.write(JSON.stringify({ made, bytes, isRunning, roots: Fiber.unsafeRoots().length }))
