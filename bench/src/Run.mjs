/** One contestant, one database, one process: started, measured over a window, and ended. Shared by all scenarios. */
import { endpointsAt, jobsFor, key } from "./Contestants.mjs"
import { cpuOf, memoryOf, now, sleep, until } from "./Machine.mjs"
import { connect } from "./Servers.mjs"

const DONE_WITHIN = 900_000

/** 50 endpoints at one receiver, unless a scenario says otherwise. */
export const okEndpoints = (sink, count = 50) =>
  endpointsAt(Array.from({ length: count }, (_, n) => `${sink.origin}/ok/${n}`))

const templates = new Map()

/** `fill` adds what a scenario needs to the contestant's own schema; `tag` names the result. */
export const openContext = async (
  bench,
  contestant,
  { endpoints, tag = "plain", fill, requestTimeoutMs = 10_000 }
) => {
  const name = `${contestant.name}/${tag}`
  if (!templates.has(name)) {
    const made = await bench.databases.template(async (url) => {
      await contestant.schema(endpoints)(url)
      await fill?.(url, endpoints)
    })
    templates.set(name, { made, endpoints })
  }
  const { made, endpoints: known } = templates.get(name)
  const { database, url } = await bench.databases.clone(made)
  const context = { database, url, endpoints: known, requestTimeoutMs, redisUrl: bench.redis?.url }
  context.client = await connect(url)
  if (contestant.needsRedis) await bench.redis.empty()
  await contestant.prepare?.(context)
  await bench.sink.reset()
  return context
}

export const closeContext = async (bench, contestant, context) => {
  await contestant.dispose?.(context)
  await context.client.end()
  await bench.databases.drop(context.database)
}

export const forgetTemplate = async (bench, contestant, tag) => {
  const known = templates.get(`${contestant.name}/${tag}`)
  templates.delete(`${contestant.name}/${tag}`)
  if (known) await bench.databases.drop(known.made)
}

export const withContext = async (bench, contestant, options, body) => {
  const context = await openContext(bench, contestant, options)
  try {
    return await body(context)
  } finally {
    await closeContext(bench, contestant, context)
  }
}

export const startWorker = (contestant, context) => {
  const child = contestant.start(context)
  child.ended = new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve({ code, signal, at: now() }))
  )
  running.add(child)
  child.ended.then(() => running.delete(child))
  return child
}

const running = new Set()
export const killAll = () => {
  for (const child of running) child.kill("SIGKILL")
}

/** With --cpu-prof the process must end by itself to write its profile. */
export const endWorker = async (child, signal = process.env.BENCH_NODE_OPTIONS ? "SIGINT" : "SIGKILL") => {
  child.kill(signal)
  await Promise.race([child.ended, sleep(15_000)])
  child.kill("SIGKILL")
  return child.ended
}

export const enqueue = (contestant, context, count, endpoints = context.endpoints) =>
  contestant.enqueue(context, jobsFor(endpoints, count, now()))

/** Everything that costs, at one moment. */
export const reading = async (bench, contestant, pids) => ({
  at: now(),
  node: pids.reduce((sum, pid) => sum + cpuOf(pid), 0),
  postgres: bench.postgres.cpu(),
  redis: contestant.needsRedis ? bench.redis.cpu() : 0,
  sink: cpuOf(bench.sink.pid),
  wal: await bench.postgres.wal()
})

/** What `count` deliveries cost between two readings. CPU in seconds per 1,000. */
export const costs = (from, to, count, startedAt = from.at) => {
  const per1k = (name) => ((to[name] - from[name]) / count) * 1000
  return {
    count,
    seconds: (to.at - startedAt) / 1000,
    rate: count / ((to.at - startedAt) / 1000),
    node: per1k("node"),
    postgres: per1k("postgres"),
    redis: per1k("redis"),
    cpu: per1k("node") + per1k("postgres") + per1k("redis"),
    sink: per1k("sink"),
    wal: (to.wal - from.wal) / count
  }
}

/** Waits until all have come to the receiver and the contestant has written everything down. */
export const drained = async (bench, contestant, context, total) => {
  await bench.sink.reached(total)
  await until(() => contestant.finished(context), `${contestant.label} finishes`, {
    every: 10,
    within: DONE_WITHIN
  })
}

/** What came of it, judged by the receiver and by the evidence. */
export const verdict = async (bench, contestant, context, expected) => {
  const { bad, distinct, repeated, total } = await bench.sink.report(key)
  const recorded = await contestant.recorded(context)
  if (process.env.BENCH_FUNCTIONS)
    console.table(
      (
        await context.client.query(
          "select funcname, calls, total_time, self_time, round((self_time/nullif(calls,0))::numeric,3) as each from pg_stat_user_functions order by self_time desc limit 8"
        )
      ).rows
    )
  return {
    lost: expected - Math.min(distinct, recorded),
    duplicated: total - distinct,
    repeated,
    badSignatures: bad
  }
}

export const memory = (child) => memoryOf(child.pid)

export const median = (values) => {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  if (sorted.length === 0) return Number.NaN
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const quantile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

/** Medians, field by field. */
export const medians = (rows) =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, median(rows.map((row) => row[name]))]))
