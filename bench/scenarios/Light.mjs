/**
 * What a quiet installation costs. First 5, 20, 100 and 400 publishes a second over REST to one endpoint, then none: the CPU
 * of `serve`, `work` and PostgreSQL in percent of one core, and the time from publishing to arrival. Then one publish at a
 * time, and the memory of `serve` and `work` after 20,000 events.
 */
import { cpuOf, memoryOf, now, quantile, sleep } from "../Machine.mjs"
import { drive, pace, publishes } from "../Requests.mjs"

const RATES = [5, 20, 100, 400]
const ALONE = 200
const MANY = 20_000

const percents = async (bench, processes, body) => {
  const read = () => [...processes.map(({ pid }) => cpuOf(pid)), bench.postgresCpu()]
  const [began, before] = [now(), read()]
  await body()
  const [took, after] = [(now() - began) / 1000, read()]
  const [serve, work, postgres] = after.map((seconds, n) => ((seconds - before[n]) / took) * 100)
  return { all: serve + work + postgres, serve, work, postgres }
}

const shown = (what, { all, postgres, serve, work }) => ({
  [`${what}: % of a core`]: all,
  [`${what}: % serve`]: serve,
  [`${what}: % work`]: work,
  [`${what}: % PostgreSQL`]: postgres
})

export const light = {
  seconds: 8,
  endpoints: (sink) => [{ url: `${sink.origin}/`, eventTypes: ["bench.light"] }],
  run: async (bench, { opened }, { seconds }) => {
    const target = { ...opened, eventType: "bench.light" }
    const publish = publishes(target)
    const work = opened.startWork()
    const processes = [opened.serve, work]
    const arrived = async (count) => {
      await bench.sink.reached(count)
      await opened.settled()
      return (await bench.sink.report()).delays
    }
    const figures = {}
    await bench.sink.reset()
    await drive(target, publish, 4, { count: 2000 })
    await arrived(2000)
    for (const rate of RATES) {
      await sleep(500)
      await bench.sink.reset()
      const used = await percents(bench, processes, () => pace(target, publish, rate, seconds))
      const delays = await arrived(rate * seconds)
      Object.assign(figures, shown(`${rate} a second`, used), {
        [`${rate} a second: arrival p50 ms`]: quantile(delays, 0.5),
        [`${rate} a second: arrival p99 ms`]: quantile(delays, 0.99)
      })
    }
    await bench.sink.reset()
    const alone = await drive(target, publish, 1, { count: ALONE })
    const delays = await arrived(ALONE)
    figures["one at a time: answer p50 ms"] = alone.p50
    figures["one at a time: arrival p50 ms"] = quantile(delays, 0.5)
    await sleep(2000)
    Object.assign(figures, shown("idle", await percents(bench, processes, () => sleep(seconds * 1000))))
    await bench.sink.reset()
    await drive(target, publish, 16, { count: MANY })
    await arrived(MANY)
    figures["after 20,000 events: MB of serve and work"] = memoryOf(opened.serve.pid) + memoryOf(work.pid)
    await work.stop()
    return figures
  }
}
