/**
 * How long a delivery takes at 200 events a second, each published from SQL in a transaction of its own. The time runs from
 * before the statement until the arrival at the receiver, and so includes the publisher's commit.
 */
import { now, quantile, sleep } from "../Machine.mjs"
import { eventType, payload } from "../Requests.mjs"

const RATE = 200
const CONNECTIONS = 10

/** Publishes at the rate. */
const steadily = async (pool, { publishSql }, seconds) => {
  const began = now()
  const calls = []
  for (let n = 0; n < RATE * seconds; n++) {
    const wait = began + (n * 1000) / RATE - now()
    if (wait > 0.3) await sleep(wait)
    calls.push(pool.query(publishSql(eventType(n), payload(n))))
  }
  await Promise.all(calls)
}

export const pickup = {
  seconds: 10,
  endpoints: (sink) =>
    Array.from({ length: 50 }, (_, n) => ({ url: `${sink.origin}/${n}`, eventTypes: [eventType(n)] })),
  run: async (bench, { contestant, opened, url }, { seconds }) => {
    const pool = bench.pool(url, CONNECTIONS)
    const work = opened.startWork()
    await bench.sink.reset()
    await steadily(pool, contestant, 5)
    await bench.sink.reached(5 * RATE)
    await bench.sink.reset()
    const cpu = bench.cpuOf([work])
    const began = now()
    await steadily(pool, contestant, seconds)
    await bench.sink.reached(seconds * RATE)
    const used = ((bench.cpuOf([work]) - cpu) / (now() - began)) * 100_000
    const { delays } = await bench.sink.report()
    await pool.end()
    await work.stop()
    return {
      "200 a second: p50 ms": quantile(delays, 0.5),
      "200 a second: p99 ms": quantile(delays, 0.99),
      "200 a second: % of a core, worker and PostgreSQL": used
    }
  }
}
