/**
 * Deliveries a second, and the CPU for each. Cold: a worker starts while a number of deliveries wait, its start included.
 * Warm: as many become due in one commit while the worker runs. The clock stops when the last delivery arrives; CPU is
 * counted until all are recorded.
 */
import { cpuOf, now } from "../Machine.mjs"
import { eventType, payload } from "../Requests.mjs"

const CHUNK = 1000

const published = async (bench, { contestant, url }, count) => {
  const client = await bench.connect(url)
  await client.query("begin")
  for (let n = 0; n < count; n += CHUNK) {
    const some = Array.from({ length: Math.min(CHUNK, count - n) }, (_, k) => n + k)
    await client.query(contestant.publishAll(some.map(eventType), some.map(payload)))
  }
  await client.query("commit")
  await client.end()
}

const arrived = async (bench, opened, began, count) => {
  await bench.sink.reached(count)
  const { last, repeated } = await bench.sink.report()
  await opened.settled()
  return { rate: (count / (last - began)) * 1000, repeated }
}

export const deliver = {
  count: 10_000,
  endpoints: (sink) =>
    Array.from({ length: 50 }, (_, n) => ({ url: `${sink.origin}/${n}`, eventTypes: [eventType(n)] })),
  run: async (bench, place, { count }) => {
    const { opened } = place
    await published(bench, place, count)
    await bench.sink.reset()
    const started = now()
    const work = opened.startWork()
    const cold = await arrived(bench, opened, started, count)
    await bench.sink.reset()
    const before = { work: cpuOf(work.pid) }
    await published(bench, place, count)
    const [due, postgres] = [now(), bench.postgresCpu()]
    const warm = await arrived(bench, opened, due, count)
    const each = (seconds) => (seconds * 1000) / count
    const figures = {
      "cold: a second": cold.rate,
      "warm: a second": warm.rate,
      "warm: ms of the worker's CPU": each(cpuOf(work.pid) - before.work),
      "warm: ms of PostgreSQL's CPU": each(bench.postgresCpu() - postgres),
      "sent twice": cold.repeated + warm.repeated
    }
    await work.stop()
    return figures
  }
}
