/**
 * Receivers that misbehave in numbers, for as long as it is told to: `npm run receivers -- --seconds 3600`. One worker in this
 * process, wave after wave of hundreds that hang, drip and flap, beside good ones; each wave is judged by itself. Ends with 1
 * as soon as a wave is off, or when memory grows from the third wave on by more than 128 MiB.
 */
import { Effect, Layer, Logger, LogLevel } from "effect"
import * as Database from "../packages/persistence/src/Database.ts"
import * as SecretBox from "../packages/persistence/src/SecretBox.ts"
import { make as makeCluster } from "../packages/testkit/src/OwnCluster.ts"
import { wave, workerSettings } from "../packages/worker/test/receivers/Wave.ts"
import { box, worker } from "../packages/worker/test/Stage.ts"
import { optionsOf } from "./Options.ts"

const values = optionsOf("receivers", { seconds: { type: "string" }, hanging: { type: "string" } })
const seconds = Number(values.seconds ?? 120)
const hanging = Number(values.hanging ?? 300)
if (!(seconds >= 1) || !(hanging >= 100)) {
  console.error(
    "receivers: --seconds is at least 1, --hanging at least 100, such as: --seconds 3600 --hanging 300"
  )
  process.exit(2)
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130))

const SETTLED = 3
const MOST_MIB = 128
const memory = () => {
  globalThis.gc?.()
  return process.memoryUsage().rss / 2 ** 20
}

const waves = Effect.gen(function* () {
  yield* worker(workerSettings)
  const end = Date.now() + seconds * 1000
  let settled = 0
  for (let n = 1; n === 1 || Date.now() < end; n++) {
    const counted = yield* wave({ hanging, dripping: 80, flapping: 40, good: 5, rounds: 10 })
    const now = memory()
    if (n === SETTLED) settled = now
    const { mostConnections, requests, slowestMs, wrong } = counted
    console.log(
      `receivers: wave ${n}: ${requests} requests, the slowest good one after ${Math.round(slowestMs)} ms, ` +
        `${mostConnections} connections at most, ${Math.round(now)} MiB`
    )
    const grown =
      n > SETTLED && now - settled > MOST_MIB ? [`memory grew by ${Math.round(now - settled)} MiB`] : []
    for (const said of [...wrong, ...grown]) console.error(`receivers: ${said}`)
    if (wrong.length + grown.length > 0) return 1
  }
  return 0
})

const database = Layer.unwrapScoped(
  Effect.map(makeCluster, ({ url }) =>
    Database.layer({ url, applicationName: "posthorn-receivers", maxConnections: 10 })
  )
)

const code = await Effect.runPromise(
  waves.pipe(
    Effect.scoped,
    Effect.provide(Layer.mergeAll(database, Layer.succeed(SecretBox.SecretBox, box))),
    Effect.provide(Logger.minimumLogLevel(LogLevel.Error))
  )
)
process.exit(code)
