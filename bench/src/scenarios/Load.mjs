/**
 * A long run at nearly the highest rate the machine takes: half of the events over REST, half from SQL, for 400 endpoints in
 * 8 workspaces, and two workers. The highest rate is found first: publishers go as fast as answers come, and pause while
 * much waits; the run is paced at a share of it, or at `--rate`. For a tenth of the run, a minute at most, in its middle
 * every receiver answers slowly; what piles up has to go while publishing goes on. Sampled every two seconds; the halves
 * before and after the slow time are compared. At the end all is drained and counted, by the receiver and in the tables.
 */
import { rm } from "node:fs/promises"
import { posthorn } from "../Contestants.mjs"
import { book } from "../load/Book.mjs"
import { startChild } from "../load/Child.mjs"
import { judge, kept } from "../load/Halves.mjs"
import { heapsBy, probed } from "../load/Heap.mjs"
import { memoryBy } from "../load/Memory.mjs"
import { withReceiver } from "../load/Receiving.mjs"
import { now, sleep, until } from "../Machine.mjs"
import { openPosthorn } from "../RestServer.mjs"
import { endWorker, quantile, reading, startWorker } from "../Run.mjs"

const KINDS = 50
const CONNECTIONS = { rest: 24, sql: 24 }
const SAMPLE_MS = 2000
/** Finding the rate: publishing stops while more than this waits. */
const MOST_WAITING = 1000
const WARM_UP_SECONDS = 10
const FIND_SECONDS = 20
const SHARE = 0.8
const SLOW_MS = 2000
const SLOW_MOST_SECONDS = 60
const PRINTED_EVERY = 15

const others = Array.from({ length: 7 }, (_, n) => `load-${n + 1}`)

const open = async (bench, context, receiver) => {
  const { folder, started } = await probed(async () => ({
    server: await openPosthorn(context),
    workers: [startWorker(posthorn, context), startWorker(posthorn, context)]
  }))
  const { server, workers } = started
  const workspaces = []
  for (const slug of ["bench", ...others]) workspaces.push({ slug, token: await server.tokenFor(slug) })
  const producer = await startChild("Producer", {
    url: context.url,
    origin: server.origin,
    workspaces,
    kinds: KINDS,
    ...CONNECTIONS
  })
  const pids = { serve: server.child.pid, "worker 1": workers[0].pid, "worker 2": workers[1].pid }
  const stop = async () => {
    producer.stop()
    for (const child of [server.child, ...workers]) await endWorker(child)
    await rm(folder, { recursive: true, force: true })
  }
  const heaps = () => heapsBy(folder, pids)
  return { bench, context, receiver, producer, pids, heaps, stop, book: book(), failed: 0, bad: 0 }
}

/** Takes what happened since it was last asked into the book; gives the calls' times. */
const collect = async (run) => {
  const [sent, came] = await Promise.all([run.producer.ask("take"), run.receiver.ask("take")])
  return enter(run, sent, came)
}

const enter = (run, sent, came) => {
  run.book.commit(sent.committed)
  run.book.arrive(came.arrivals)
  if (sent.failed > run.failed) run.bench.say(`  a call failed: ${sent.lastFailure}`)
  run.failed = sent.failed
  run.bad = came.bad
  return { rest: sent.rest, sql: sent.sql, arrival: run.book.delays() }
}

/** The highest rate at which what waits stays short. */
const findRate = async (run) => {
  const begins = now() + WARM_UP_SECONDS * 1000
  const ends = begins + FIND_SECONDS * 1000
  let from = null
  await run.producer.ask("hold", { on: false })
  while (now() < ends) {
    await sleep(50)
    await collect(run)
    await run.producer.ask("hold", { on: run.book.counts().depth > MOST_WAITING })
    if (from === null && now() >= begins) from = { at: now(), arrived: run.book.counts().arrived }
  }
  await run.producer.ask("hold", { on: true })
  return (run.book.counts().arrived - from.arrived) / ((now() - from.at) / 1000)
}

const tableOf = async ({ client }) => {
  const { rows } = await client.query(
    "select pg_total_relation_size('posthorn.queue') / 1048576.0 as mb, pg_database_size(current_database()) / 1048576.0 as database"
  )
  return { queueMb: Number(rows[0].mb), databaseMb: Number(rows[0].database) }
}

const sampleOf = async (run, began, before) => {
  const spent = await reading(run.bench, posthorn, Object.values(run.pids))
  const seen = await collect(run)
  const { arrived, depth, published } = run.book.counts()
  const took = (spent.at - before.spent.at) / 1000
  return {
    seconds: (spent.at - began) / 1000,
    published,
    arrived,
    depth,
    spent,
    rates: { published: (published - before.published) / took, arrived: (arrived - before.arrived) / took },
    memory: memoryBy(run.pids, run.bench.postgres.postmaster),
    ...(await tableOf(run.context)),
    seen
  }
}

const line = ({ depth, memory, rates, seconds, seen }) =>
  `  ${seconds.toFixed(0).padStart(4)} s  ${rates.published.toFixed(0)}/s in, ${rates.arrived.toFixed(0)}/s out, ${depth} waiting; ` +
  `arrival p50 ${quantile(seen.arrival, 0.5).toFixed(1)}, p99 ${quantile(seen.arrival, 0.99).toFixed(0)} ms; REST ${quantile(seen.rest, 0.5).toFixed(1)}, ${quantile(seen.rest, 0.99).toFixed(0)} ms; ` +
  Object.entries(memory)
    .map(([name, mb]) => `${name} ${mb.toFixed(0)}`)
    .join(", ")

/** Samples until the time is over; slow in the middle. Heaps just before that, as those of the end come after a drain. */
const steadily = async (run, { seconds }) => {
  const slowFor = Math.min(SLOW_MOST_SECONDS, seconds / 10)
  const slow = { ms: SLOW_MS, seconds: slowFor, from: (seconds - slowFor) / 2, to: (seconds + slowFor) / 2 }
  const began = now()
  const samples = []
  let before = { ...run.book.counts(), spent: await reading(run.bench, posthorn, Object.values(run.pids)) }
  let slowed = 0
  let heaps = null
  while (now() < began + seconds * 1000) {
    await sleep(Math.max(0, began + (samples.length + 1) * SAMPLE_MS - now()))
    before = await sampleOf(run, began, before)
    samples.push(before)
    if (samples.length % PRINTED_EVERY === 0) run.bench.say(line(before))
    const at = (now() - began) / 1000
    const wanted = at >= slow.from && at < slow.to ? SLOW_MS : 0
    if (wanted > 0 && heaps === null) heaps = await run.heaps()
    if (wanted !== slowed) {
      await run.receiver.ask("slow", { ms: wanted })
      slowed = wanted
      slow[wanted > 0 ? "began" : "ended"] = (now() - began) / 1000
    }
  }
  return { samples, slow, heaps }
}

const drain = async (run) => {
  const last = await run.producer.ask("finish")
  enter(run, last, await run.receiver.ask("take"))
  const done = async () => {
    run.book.arrive((await run.receiver.ask("take")).arrivals)
    return run.book.counts().depth === 0 && (await posthorn.finished(run.context))
  }
  await until(done, "all is delivered", { every: 200, within: 600_000 })
  const { rows } = await run.context.client.query(
    `select count(*) filter (where status = 'delivered' and attempts = 1)::int as once, count(*)::int as all,
      (select count(*) from posthorn.attempts)::int as attempts from posthorn.deliveries`
  )
  const { arrived, published } = run.book.counts()
  return {
    published,
    arrived,
    failed: run.failed,
    bad: run.bad,
    ...run.book.verdict(),
    unrecorded: Math.abs(published - rows[0].once) + Math.abs(published - rows[0].attempts)
  }
}

const measured = async (run, options) => {
  const highest = options.rate ?? (await findRate(run))
  const rate = options.rate ?? highest * SHARE
  run.bench.say(
    `  ${options.rate ? "asked for" : `highest rate ${highest.toFixed(0)}/s; paced at`} ${rate.toFixed(0)}/s`
  )
  await run.producer.ask("pace", { rate })
  await run.producer.ask("hold", { on: false })
  const { heaps, samples, slow } = await steadily(run, options)
  const verdict = await drain(run)
  return {
    seconds: options.seconds,
    highest,
    rate,
    ...judge({ samples, slow }),
    heaps: { middle: heaps, end: await run.heaps() },
    verdict,
    samples: kept(samples)
  }
}

export const load = (bench, options) =>
  withReceiver(bench, { kinds: KINDS, others, tag: "load" }, async (context, receiver) => {
    const run = await open(bench, context, receiver)
    try {
      return { scenario: "load", options, ...(await measured(run, options)) }
    } finally {
      await run.stop()
    }
  })
