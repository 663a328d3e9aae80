/** One cell: so many connections publish for so long, and what that cost the publisher, PostgreSQL and the disk. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { cpuOf, preciseCpuOf } from "../Machine.mjs"

const WARM_UP_SECONDS = 0.3

export const startProducer = () => {
  const child = fork(fileURLToPath(new URL("./Producer.mjs", import.meta.url)), { stdio: "inherit" })
  const ask = (what, config) =>
    new Promise((resolve, reject) => {
      child.once("message", ({ answer, error }) => (error ? reject(new Error(error)) : resolve(answer)))
      child.send({ ask: what, config })
    })
  return { pid: child.pid, ask, stop: () => child.disconnect() }
}

const reading = async (bench, producer, nodePids, backends) => ({
  node: nodePids.reduce((sum, pid) => sum + cpuOf(pid), 0),
  producer: preciseCpuOf(producer.pid),
  postgres: bench.postgres.cpu(),
  backends: backends.reduce((sum, pid) => sum + preciseCpuOf(pid), 0),
  wal: await bench.postgres.wal()
})

/** `events` a request; `settled` waits until what the publishing set off is over, so that its WAL is counted too. */
export const measure = async (bench, producer, config, { events = 1, nodePids, settled } = {}) => {
  const pids = await producer.ask("open", config)
  const backends = pids.filter((pid) => pid !== null)
  await producer.ask("run", { ...config, seconds: Math.min(WARM_UP_SECONDS, config.seconds) })
  await settled?.()
  const from = await reading(bench, producer, nodePids ?? [producer.pid], backends)
  const run = await producer.ask("run", config)
  const to = await reading(bench, producer, nodePids ?? [producer.pid], backends)
  await settled?.()
  const wal = await bench.postgres.wal()
  await producer.ask("close")
  const each = (name) => ((to[name] - from[name]) * 1000) / run.count / events
  return {
    rate: run.rate,
    p50: run.p50,
    p99: run.p99,
    postgres: each("postgres"),
    backends: backends.length > 0 ? each("backends") : null,
    node: each("node"),
    producer: each("producer"),
    wal: (wal - from.wal) / run.count / events
  }
}
