/**
 * How long a message waits when little is going on: one transaction per message at a steady rate. `fromCommit` counts
 * from the moment the producer learns of its commit, `fromCall` from before its statement, so it contains the
 * producer's own commit. Then the idle cost: CPU of worker and server while nothing is published, once what the load left behind
 * is over; and that of the server alone, when the worker has ended.
 */
import pg from "pg"
import { contestants, jobsFor, key } from "../Contestants.mjs"
import { now, preciseCpuOf, sleep } from "../Machine.mjs"
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

/** Not the minimal loop: it reads past a moment once, so it never sees what commits late. */
const compared = ["posthorn", "graphile", "bullmq"]
const WARM_UP = 3000
const IDLE_SECONDS = 15
/** Pools close what they have not needed for 10 s. */
const SETTLE_MS = 12_000
const OURS = "bench producers"

/** The worker's sessions: all but ours. */
const sessionsOf = async ({ client }) => {
  const { rows } = await client.query(
    `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
      and pid <> pg_backend_pid() and application_name <> $1`,
    [OURS]
  )
  return rows.map(({ pid }) => pid)
}

const cpuOfEach = (pids) => pids.map((pid) => preciseCpuOf(pid))

/** Of those that are still there: pools close what they have not needed for long. */
const spent = (from, to) => to.reduce((sum, seconds, n) => sum + Math.max(0, seconds - from[n]), 0)

/** Percents of a core while nothing happens. */
const atRest = async (bench, sessions, worker) => {
  const look = () => ({
    at: now(),
    node: worker === null ? 0 : preciseCpuOf(worker),
    postgres: bench.postgres.cpu(),
    sessions: cpuOfEach(sessions)
  })
  const from = look()
  await sleep(IDLE_SECONDS * 1000)
  const to = look()
  const percent = (seconds) => (seconds / (to.at - from.at)) * 100_000
  return {
    node: percent(to.node - from.node),
    postgres: percent(to.postgres - from.postgres),
    sessions: percent(spent(from.sessions, to.sessions))
  }
}

/** Publishes at the rate; gives, by the time stamp in the payload, when each call returned. */
const steadily = async (contestant, context, rate, seconds) => {
  const returned = new Map()
  const calls = []
  const start = now()
  for (let n = 0; n < rate * seconds; n++) {
    const due = start + (n * 1000) / rate
    const wait = due - now()
    if (wait > 0.3) await sleep(wait)
    const sent = now()
    const [job] = jobsFor([context.endpoints[n % context.endpoints.length]], 1, sent)
    calls.push(
      contestant
        .publish({ ...context, client: context.producers }, job)
        .then(() => returned.set(sent.toFixed(3), now()))
    )
  }
  await Promise.all(calls)
  return returned
}

const once = (bench, contestant, { rate, seconds }) =>
  withContext(bench, contestant, { endpoints: okEndpoints(bench.sink) }, async (context) => {
    context.producers = new pg.Pool({
      connectionString: context.url,
      max: 10,
      min: 10,
      application_name: OURS
    })
    context.producers.on("error", () => undefined)
    const child = startWorker(contestant, context)
    await enqueue(contestant, context, WARM_UP)
    await drained(bench, contestant, context, WARM_UP)
    await steadily(contestant, context, rate, 2)
    const warm = WARM_UP + 2 * rate
    await drained(bench, contestant, context, warm)
    const before = await reading(bench, contestant, [child.pid])
    const returned = await steadily(contestant, context, rate, seconds)
    await drained(bench, contestant, context, warm + rate * seconds)
    const steady = costs(before, await reading(bench, contestant, [child.pid]), rate * seconds)
    const { hits } = await bench.sink.report(key, true)
    const facts = await verdict(bench, contestant, context, warm + rate * seconds)
    await sleep(SETTLE_MS)
    const idle = await atRest(bench, await sessionsOf(context), child.pid)
    await endWorker(child)
    await context.producers.end()
    await sleep(SETTLE_MS / 10)
    const alone = await atRest(bench, [], null)
    const measured = hits.slice(warm).filter(([, , sent]) => returned.has(sent.toFixed(3)))
    const fromCall = measured.map(([, arrived, sent]) => arrived - sent)
    const fromCommit = measured.map(([, arrived, sent]) =>
      Math.max(0, arrived - returned.get(sent.toFixed(3)))
    )
    return {
      p50: quantile(fromCall, 0.5),
      p99: quantile(fromCall, 0.99),
      p50FromCommit: quantile(fromCommit, 0.5),
      p99FromCommit: quantile(fromCommit, 0.99),
      busyPercent: (steady.cpu / 1000) * rate * 100,
      idleNodePercent: idle.node,
      idleOwnPercent: idle.node + idle.sessions,
      idlePercent: idle.node + idle.postgres,
      serverAlonePercent: alone.postgres,
      lost: facts.lost,
      duplicated: facts.duplicated
    }
  })

export const pickup = async (bench, options) => {
  const chosen = contestants.filter(
    ({ name, needsRedis }) => (options.only ?? compared).includes(name) && (!needsRedis || bench.redis)
  )
  const runs = Object.fromEntries(chosen.map(({ name }) => [name, []]))
  for (let rep = 0; rep < options.reps; rep++) {
    for (const contestant of chosen) {
      const run = await once(bench, contestant, options)
      runs[contestant.name].push(run)
      bench.say(
        `  ${rep + 1}/${options.reps} ${contestant.label.padEnd(36)} p50 ${run.p50.toFixed(1)} ms, p99 ${run.p99.toFixed(1)} ms ` +
          `(after the commit ${run.p50FromCommit.toFixed(1)}, ${run.p99FromCommit.toFixed(1)}); ` +
          `CPU busy ${run.busyPercent.toFixed(0)} %, idle ${run.idlePercent.toFixed(1)} % (worker ${run.idleNodePercent.toFixed(1)} %, with its own sessions ${run.idleOwnPercent.toFixed(1)} %; the server alone ${run.serverAlonePercent.toFixed(1)} %)`
      )
    }
  }
  return {
    scenario: "pickup",
    options,
    contestants: chosen.map(({ name, label }) => ({ name, label, ...medians(runs[name]), runs: runs[name] }))
  }
}
