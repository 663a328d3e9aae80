/** Publishing in the application's own transaction: each way with 1, 8 and 32 connections, in a database of its own. */
import { until } from "../Machine.mjs"
import { endWorker, okEndpoints, startWorker, withContext } from "../Run.mjs"
import { measure } from "./Measure.mjs"
import { createApplication, lone, publishers } from "./Publishers.mjs"

const CONNECTIONS = [1, 8, 32]
const KINDS = 50
/** Slow enough for a worker to be idle at each, fast enough to be worth measuring. */
const IDLE_RATE = 100

const options = (bench) => ({
  endpoints: okEndpoints(bench.sink, KINDS),
  tag: "publish",
  fill: createApplication
})

const configOf = (publisher, context, connections, seconds, more) => ({
  name: publisher.name,
  url: context.url,
  redisUrl: context.redisUrl,
  connections,
  seconds,
  kinds: KINDS,
  ...more
})

/** A disk that flushes in 10 ms: whoever commits sleeps so long before the flush, and whoever comes meanwhile shares it. */
const slowCommits = async (bench, body) => {
  const { admin } = bench.postgres
  const set = async (delay, siblings) => {
    await admin.query(`alter system set commit_delay = ${delay}`)
    await admin.query(`alter system set commit_siblings = ${siblings}`)
    await admin.query("select pg_reload_conf()")
  }
  await set(10_000, 0)
  try {
    return await body()
  } finally {
    await set(0, 5)
  }
}

const withoutWorker = (bench, producer, publisher, { seconds }, emit) =>
  withContext(bench, publisher, options(bench), async (context) => {
    const cell = async (connections, mode) =>
      emit(
        publisher,
        connections,
        mode,
        await measure(bench, producer, configOf(publisher, context, connections, seconds))
      )
    if (publisher === lone) return cell(4, "alone")
    for (const connections of CONNECTIONS) await cell(connections, "alone")
    await slowCommits(bench, () => cell(16, "slow commits"))
  })

/** The events are delivered meanwhile; each cell waits until the last of them is. */
const withWorker = (bench, producer, publisher, { seconds }, emit) =>
  withContext(bench, publisher, options(bench), async (context) => {
    const child = startWorker(publisher, context)
    const settled = () =>
      until(() => publisher.finished(context), "the worker delivers", { every: 20, within: 300_000 })
    const cell = async (connections, mode, length, more) =>
      emit(
        publisher,
        connections,
        mode,
        await measure(bench, producer, configOf(publisher, context, connections, length, more), { settled })
      )
    if (publisher === lone) await cell(4, "idle", Math.max(3, seconds), { rate: IDLE_RATE })
    for (const connections of publisher === lone ? [4] : CONNECTIONS)
      await cell(connections, "delivering", seconds)
    await endWorker(child)
  })

const LARGE = { events: 200, bytes: 20_000, endpoints: 10 }

/** Text that does not compress away, as JSON. */
const largePayload = () => {
  let text = ""
  while (text.length < LARGE.bytes) text += Math.random().toString(36).slice(2)
  return JSON.stringify({ text: text.slice(0, LARGE.bytes - 11) })
}

/** One event of 20 KB to 10 endpoints, published but not delivered: the bytes that its copies cost. */
const large = (bench) => {
  const endpoints = okEndpoints(bench.sink, LARGE.endpoints).map((one) => ({
    ...one,
    eventType: "bench.large"
  }))
  return withContext(bench, lone, { endpoints, tag: "large" }, async ({ client }) => {
    const size = async () => {
      const { rows } = await client.query("select pg_database_size(current_database())::float8 as n")
      return rows[0].n
    }
    const [bytes, wal] = [await size(), await bench.postgres.wal()]
    for (let n = 0; n < LARGE.events; n++)
      await client.query("select posthorn.publish('bench', 'bench.large', $1::json)", [largePayload()])
    return {
      wal: ((await bench.postgres.wal()) - wal) / LARGE.events,
      disk: ((await size()) - bytes) / LARGE.events / LARGE.bytes
    }
  })
}

/** One repetition. `emit` takes each cell; gives what the large event costs. */
export const sqlCells = async (bench, producer, rep, given, emit) => {
  const wanted = [...publishers, lone].filter(
    ({ name, needsRedis }) => (!needsRedis || bench.redis) && (given.only ?? [name]).includes(name)
  )
  for (let turn = 0; turn < wanted.length; turn++) {
    const publisher = wanted[(turn + rep) % wanted.length]
    await withoutWorker(bench, producer, publisher, given, emit)
    if (["posthorn", "alone"].includes(publisher.name))
      await withWorker(bench, producer, publisher, given, emit)
  }
  return wanted.includes(lone) ? large(bench) : null
}
