/**
 * A replay job of very many deliveries beside live traffic: how long live deliveries wait with and without it, in one run,
 * in windows that take turns (the job stands while its endpoint is disabled); what memory the worker takes; how fast the
 * count is answered; and when a cancelled job has made its last delivery. The lost deliveries are written directly, set by
 * set. Their endpoint has a receiver of its own.
 */
import { spawn } from "node:child_process"
import pg from "pg"
import { posthornFile } from "../Bundle.mjs"
import { encryptionKey, endpointsAt, jobsFor, key, posthorn } from "../Contestants.mjs"
import { now, sleep, until } from "../Machine.mjs"
import {
  costs,
  drained,
  endWorker,
  enqueue,
  median,
  memory,
  quantile,
  reading,
  startWorker,
  withContext
} from "../Run.mjs"
import { connect, freePort } from "../Servers.mjs"
import { startSink } from "../SinkClient.mjs"

const LIVE = 50
const WARM_UP = 3000
const COUNTS = 5
const CHUNK = 100_000
/** After a switch, before a window begins. */
const SETTLE_MS = 1000
const TOKEN = "operator-token-of-the-benchmark-run"

const lose = (count) => `
  with target as (select workspace_id, id, event_types[1] as type from posthorn.endpoints where event_types[1] = 'bench.e${LIVE}'),
  made as materialized (
    select posthorn.id_at('evt_', at) || lpad(to_hex(n), 16, '0') as event_id, posthorn.id_at('whd_', at) || lpad(to_hex(n), 16, '0') as id,
      at, '{"sent":0,"n":' || n || ',"pad":"' || repeat('x', 330) || '"}' as payload
    from generate_series(1, ${count}) n, lateral (select now() - (${count} - n) * interval '1 millisecond' as at) as aged
  ), published as (
    insert into posthorn.events (workspace_id, id, event_type, payload, trace_id, deliveries, missed, created_at)
    select workspace_id, event_id, type, payload, md5(event_id), 1, 0, at from made, target
  ), listed as (
    insert into posthorn.failed_deliveries (workspace_id, endpoint_id, created_at, delivery_id, status, ended_by)
    select workspace_id, target.id, at, made.id, 'dead_lettered', pg_current_xact_id() from made, target
  )
  insert into posthorn.deliveries (workspace_id, id, endpoint_id, event_id, event_type, trace_id, status, attempts,
    last_http_status, last_failure_reason, last_duration_ms, last_attempt_at, dead_letter_reason, created_at)
  select workspace_id, made.id, target.id, event_id, type, md5(event_id), 'dead_lettered', 7, 503, 'http_status', 2, at,
    'retries_spent', at
  from made, target`

const outage = (count) => async (url) => {
  const client = await connect(url)
  for (let left = count; left > 0; left -= CHUNK) await client.query(lose(Math.min(CHUNK, left)))
  await client.query("vacuum analyze")
  // What is still to be written would be written during the first windows.
  await client.query("checkpoint")
  await client.end()
}

const serve = (port) => ({
  start: ({ url }) =>
    spawn(process.execPath, [posthornFile, "serve"], {
      env: {
        ...process.env,
        DATABASE_URL: url,
        ENCRYPTION_KEY: encryptionKey,
        OPERATOR_TOKEN: TOKEN,
        PORT: `${port}`,
        LOG_LEVEL: "error"
      },
      stdio: ["ignore", "ignore", "inherit"]
    })
})

const startServer = async (context) => {
  const port = await freePort()
  const child = startWorker(serve(port), context)
  const call = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/workspaces/bench${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  await until(() => call("GET", "/webhooks?limit=1").catch(() => null), "posthorn serve answers", {
    every: 50
  })
  return { call, stop: () => endWorker(child, "SIGKILL") }
}

/** One transaction for each message; gives how long after its commit each arrived. */
const livesFor = async (bench, context, { rate, seconds }) => {
  await bench.sink.reset()
  const returned = new Map()
  const calls = []
  const start = now()
  for (let n = 0; n < rate * seconds; n++) {
    await sleep(Math.max(0, start + (n * 1000) / rate - now()))
    const sent = now()
    const [job] = jobsFor([context.endpoints[n % LIVE]], 1, sent)
    calls.push(
      posthorn
        .publish({ ...context, client: context.producers }, job)
        .then(() => returned.set(sent.toFixed(3), now()))
    )
  }
  await Promise.all(calls)
  await bench.sink.reached(rate * seconds)
  const { hits } = await bench.sink.report(key, true)
  return hits.map(([, arrived, sent]) => Math.max(0, arrived - returned.get(sent.toFixed(3))))
}

/** Milliseconds of each. */
const timed = async (times, call) => {
  const all = []
  for (let n = 0; n < times; n++) {
    const from = now()
    await call()
    all.push(now() - from)
  }
  return all
}

/** From the call on: until it was answered, and until the job's last delivery was made. */
const cancelled = async (server, context, id) => {
  const { rows: began } = await context.client.query("select clock_timestamp() as at")
  const from = now()
  await server.call("DELETE", `/webhooks/replays/${id}`)
  const answeredMs = now() - from
  await until(() => posthorn.finished(context), "what the job made is delivered")
  const { rows } = await context.client.query(
    "select extract(epoch from max(created_at) - $1) * 1000 as last from posthorn.deliveries where replay_id = $2",
    [began[0].at, id]
  )
  return { answeredMs, lastMadeMs: Math.max(0, Number(rows[0].last)), drainedMs: now() - from }
}

const run = async (bench, context, target, options) => {
  const { n, rate, reps, seconds } = options
  const worker = startWorker(posthorn, context)
  const server = await startServer(context)
  const path = `/webhooks/${target.id}`
  const since = "2020-01-01T00:00:00Z"
  context.producers = new pg.Pool({ connectionString: context.url, max: 10, min: 10 })
  context.producers.on("error", () => undefined)
  try {
    await enqueue(posthorn, context, WARM_UP, context.endpoints.slice(0, LIVE))
    await drained(bench, posthorn, context, WARM_UP)
    await livesFor(bench, context, { rate, seconds: 3 })
    const countMs = await timed(COUNTS, async () => {
      const { matched } = await server.call("POST", `${path}/replays`, { since, dryRun: true })
      if (matched !== n) throw new Error(`counted ${matched} of ${n}`)
    })
    const rss = { before: memory(worker).now, during: [] }
    const startMs = now()
    const job = await server.call("POST", `${path}/replays`, { since })
    const startedMs = now() - startMs
    const progress = async () => (await server.call("GET", `/webhooks/replays/${job.id}`)).replayed
    const windows = []
    for (let rep = 0; rep < reps; rep++) {
      for (const running of rep % 2 === 0 ? [false, true] : [true, false]) {
        await server.call("PATCH", path, { enabled: running })
        await sleep(SETTLE_MS)
        const from = await reading(bench, posthorn, [worker.pid])
        const before = await progress()
        const delays = await livesFor(bench, context, { rate, seconds })
        const made = (await progress()) - before
        const {
          node,
          postgres,
          seconds: lasted
        } = costs(from, await reading(bench, posthorn, [worker.pid]), 1000)
        const cpu = { node: node / lasted, postgres: postgres / lasted }
        windows.push({ running, delays, perSecond: made / lasted, cpu })
        if (running) rss.during.push(memory(worker).now)
        bench.say(
          `  ${rep + 1}/${reps} ${running ? "with the job   " : "without the job"} p50 ${quantile(delays, 0.5).toFixed(1)} ms, ` +
            `p99 ${quantile(delays, 0.99).toFixed(1)} ms; ${(made / lasted).toFixed(0)} replays/s; ` +
            `CPU ${(cpu.node * 100).toFixed(0)} % worker, ${(cpu.postgres * 100).toFixed(0)} % PostgreSQL; RSS ${memory(worker).now.toFixed(0)} MB`
        )
      }
    }
    await server.call("PATCH", path, { enabled: true })
    const replayed = await progress()
    const cancel = await cancelled(server, context, job.id)
    const { rows } = await context.client.query(
      "select count(*) - count(distinct replayed_from) as twice from posthorn.deliveries where replay_id = $1",
      [job.id]
    )
    const delaysOf = (running) =>
      windows.filter((one) => one.running === running).flatMap(({ delays }) => delays)
    const p99s = (running) =>
      windows.filter((one) => one.running === running).map(({ delays }) => quantile(delays, 0.99))
    const figures = (running) => ({
      p50: quantile(delaysOf(running), 0.5),
      // Of the windows: one in which the machine was busy with something else would decide it all.
      p99: median(p99s(running)),
      windows: windows
        .filter((one) => one.running === running)
        .map(({ cpu, delays, perSecond }) => ({ p99: quantile(delays, 0.99), perSecond, cpu }))
    })
    return {
      countMs: { first: countMs[0], median: median(countMs) },
      startedMs,
      without: figures(false),
      with: figures(true),
      rss: { ...rss, most: memory(worker).most },
      replayed,
      cancel,
      twice: Number(rows[0].twice)
    }
  } finally {
    await server.stop()
    await endWorker(worker)
    await context.producers.end()
  }
}

export const replay = async (bench, options) => {
  const own = await startSink()
  try {
    const endpoints = endpointsAt([
      ...Array.from({ length: LIVE }, (_, n) => `${bench.sink.origin}/ok/${n}`),
      `${own.origin}/ok/recovered`
    ])
    const from = now()
    const figures = await withContext(
      bench,
      posthorn,
      { endpoints, tag: "replay", fill: outage(options.n) },
      (context) => {
        bench.say(`  ${options.n} lost deliveries made in ${((now() - from) / 1000).toFixed(0)} s`)
        return run(bench, context, context.endpoints[LIVE], options)
      }
    )
    bench.say(
      `  count answered in ${figures.countMs.median.toFixed(0)} ms (first ${figures.countMs.first.toFixed(0)}), start in ${figures.startedMs.toFixed(0)} ms; ` +
        `cancel answered in ${figures.cancel.answeredMs.toFixed(0)} ms, last made after ${figures.cancel.lastMadeMs.toFixed(0)} ms; ` +
        `${figures.replayed} replayed, ${figures.twice} twice; RSS ${figures.rss.before.toFixed(0)}, ${figures.rss.during.map((mb) => mb.toFixed(0)).join(", ")} MB`
    )
    return { scenario: "replay", options, ...figures }
  } finally {
    own.stop()
  }
}
