/**
 * Five receivers that never answer beside one that does. Each event goes to all six, 40 events a second. Measures how long a
 * delivery to the good receiver takes from publishing to arrival. Requests time out after 10 s, the default.
 */
import { quantile } from "../Machine.mjs"
import { drive, pace, publishes } from "../Requests.mjs"

const RATE = 40
const HANGING = 5

/** Give up on a worker that has no slot left for the good receiver. */
const PATIENCE_MS = 45_000

export const fairness = {
  seconds: 20,
  endpoints: (sink) => [
    { url: `${sink.origin}/`, eventTypes: ["bench.fair", "bench.warm"] },
    ...Array.from({ length: HANGING }, (_, n) => ({
      url: `${sink.origin}/hang/${n}`,
      eventTypes: ["bench.fair"]
    }))
  ],
  run: async (bench, { opened }, { seconds }) => {
    const work = opened.startWork()
    const warm = { ...opened, eventType: "bench.warm" }
    await bench.sink.reset()
    await drive(warm, publishes(warm), 4, { count: 1000 })
    await bench.sink.reached(1000)
    await bench.sink.reset()
    const fair = { ...opened, eventType: "bench.fair" }
    await pace(fair, publishes(fair), RATE, seconds)
    const count = RATE * seconds
    const all = bench.sink.reached(count)
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS).unref())
    await Promise.race([all, late])
    const { delays } = await bench.sink.report()
    const lacking = Array.from({ length: count - delays.length }, () => Number.POSITIVE_INFINITY)
    // A graceful stop would wait for the requests that hang.
    await work.stop("SIGKILL")
    return {
      "the good receiver waits: p50 ms": quantile([...delays, ...lacking], 0.5),
      "the good receiver waits: p99 ms": quantile([...delays, ...lacking], 0.99),
      "arrived: %": (delays.length / count) * 100
    }
  }
}
