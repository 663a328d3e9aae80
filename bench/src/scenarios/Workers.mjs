/**
 * One, two and four worker processes on one database: does throughput hold, is anything sent twice in a calm run, how
 * long until the others have taken over what a killed worker (SIGKILL) had, and what does SIGTERM do to 100 requests in
 * flight.
 */
import { endpointsAt, jobsFor, key, posthorn } from "../Contestants.mjs"
import { now, sleep, until } from "../Machine.mjs"
import {
  costs,
  drained,
  endWorker,
  enqueue,
  medians,
  okEndpoints,
  quantile,
  reading,
  startWorker,
  verdict,
  withContext
} from "../Run.mjs"
import { connect } from "../Servers.mjs"

const SETTLE_MS = 4000
const RATE = 200

/** Waits until the shards have been divided among the workers. */
const settled = (context, count) =>
  until(
    async () => {
      const { rows } = await context.client.query(
        "select count(distinct owner)::int as owners, count(owner)::int as owned, count(*)::int as shards from posthorn.shards"
      )
      return rows[0].owners === count && rows[0].owned === rows[0].shards
    },
    `${count} workers share the queue`,
    { every: 50, within: 30_000 }
  )

const calm = (bench, count, n) =>
  withContext(
    bench,
    posthorn,
    { endpoints: okEndpoints(bench.sink, 64), tag: "workers" },
    async (context) => {
      const children = Array.from({ length: count }, () => startWorker(posthorn, context))
      const pids = children.map(({ pid }) => pid)
      await settled(context, count)
      await enqueue(posthorn, context, 3000 * count)
      await drained(bench, posthorn, context, 3000 * count)
      await sleep(SETTLE_MS / 4)
      const due = await enqueue(posthorn, context, n)
      const from = await reading(bench, posthorn, pids)
      await drained(bench, posthorn, context, 3000 * count + n)
      const cost = costs(from, await reading(bench, posthorn, pids), n, due)
      const facts = await verdict(bench, posthorn, context, 3000 * count + n)
      await Promise.all(children.map((child) => endWorker(child)))
      return { ...cost, lost: facts.lost, duplicated: facts.duplicated }
    }
  )

/** Two workers under a steady rate; one is killed. The longest wait of anything published since is the gap. */
const killed = (bench) =>
  withContext(
    bench,
    posthorn,
    { endpoints: okEndpoints(bench.sink, 64), tag: "workers" },
    async (context) => {
      const children = [startWorker(posthorn, context), startWorker(posthorn, context)]
      await settled(context, 2)
      let sent = 0
      let stop = false
      const producer = await connect(context.url)
      const publishing = (async () => {
        const start = now()
        while (!stop) {
          const wait = start + (sent * 1000) / RATE - now()
          if (wait > 0.3) await sleep(wait)
          const [job] = jobsFor([context.endpoints[sent % context.endpoints.length]], 1, now())
          await posthorn.publish({ client: producer }, job)
          sent += 1
        }
      })()
      await sleep(SETTLE_MS)
      const killedAt = now()
      await endWorker(children[0], "SIGKILL")
      await sleep(12_000)
      stop = true
      await publishing
      await producer.end()
      await until(() => posthorn.finished(context), "all is delivered after the kill", { within: 60_000 })
      const { hits, repeated } = await bench.sink.report(key, true)
      const facts = await verdict(bench, posthorn, context, sent)
      await endWorker(children[1])
      const since = hits.filter(([, , at]) => at > killedAt - 100)
      const late = since.map(([, arrived, at]) => arrived - at)
      return { takeoverMs: Math.max(...late), p50: quantile(late, 0.5), lost: facts.lost, repeated }
    }
  )

/** 100 requests in flight to receivers that take 2 s, and SIGTERM. */
const terminated = (bench) => {
  const slow = endpointsAt(Array.from({ length: 50 }, (_, n) => `${bench.sink.origin}/slow/2000/${n}`))
  return withContext(bench, posthorn, { endpoints: slow, tag: "slow" }, async (context) => {
    await enqueue(posthorn, context, 400)
    const child = startWorker(posthorn, context)
    await bench.sink.reached(100)
    const from = now()
    const { at, code } = await endWorker(child, "SIGTERM")
    const inFlight = await bench.sink.count()
    const recorded = await posthorn.recorded(context)
    const second = startWorker(posthorn, context)
    await until(() => posthorn.finished(context), "the rest is delivered", { within: 60_000 })
    const facts = await verdict(bench, posthorn, context, 400)
    await endWorker(second)
    return {
      seconds: (at - from) / 1000,
      code,
      inFlight,
      recorded,
      lost: facts.lost,
      duplicated: facts.duplicated
    }
  })
}

export const workers = async (bench, options) => {
  const counts = [1, 2, 4]
  const runs = Object.fromEntries(counts.map((count) => [count, []]))
  for (let rep = 0; rep < options.reps; rep++) {
    for (const count of counts) {
      const run = await calm(bench, count, options.n)
      runs[count].push(run)
      bench.say(
        `  ${rep + 1}/${options.reps} ${count} worker(s): ${run.rate.toFixed(0)}/s, CPU ms each ${run.node.toFixed(3)} + ${run.postgres.toFixed(3)}, lost ${run.lost}, twice ${run.duplicated}`
      )
    }
  }
  const kill = await killed(bench)
  bench.say(
    `  kill -9: taken over within ${kill.takeoverMs.toFixed(0)} ms, lost ${kill.lost}, sent again ${kill.repeated}`
  )
  const term = await terminated(bench)
  bench.say(
    `  SIGTERM with ${term.inFlight} in flight: ended after ${term.seconds.toFixed(1)} s, recorded ${term.recorded}, lost ${term.lost}, sent again ${term.duplicated}`
  )
  return {
    scenario: "workers",
    options,
    counts: counts.map((count) => ({ workers: count, ...medians(runs[count]), runs: runs[count] })),
    kill,
    term
  }
}
