/**
 * What hangs in one workspace beside another one: 300 endpoints that never answer, and 6,000 of them with ten deliveries
 * waiting each, published first. How long do the other workspace's deliveries wait, one at a time, with and without? The
 * request timeout is as it is by default, 10 s: nobody who waits for a slot of theirs gets through earlier.
 */
import { endpointsAt, jobsFor, key, posthorn, sealerOf, secret } from "../Contestants.mjs"
import { now, sleep, until } from "../Machine.mjs"
import { endWorker, enqueue, medians, okEndpoints, quantile, startWorker, withContext } from "../Run.mjs"
import { connect } from "../Servers.mjs"

const RATE = 20
const WARM_UP = 500
/** Hanging by then: all slots but those that are kept for others. */
const TAKEN = 80
const WITHIN = 120_000

export const cases = [
  { name: "alone", endpoints: 0, each: 0 },
  { name: "slots", endpoints: 300, each: 4 },
  { name: "memory", endpoints: 6000, each: 10 }
]

/** Another workspace, whose endpoints all want the same event. */
const crowdOf = (sink, count) => async (url) => {
  const client = await connect(url)
  const workspace = "wsp_ffffffffffffffffffffffffffffff"
  const seal = sealerOf()
  const endpoints = endpointsAt(Array.from({ length: count }, () => `${sink.origin}/dead`))
  await client.query("insert into posthorn.workspaces (id, slug, name) values ($1, 'crowd', 'Crowd')", [
    workspace
  ])
  await client.query(
    `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
     select $1, e.id, e.url, array['bench.crowd'], true, e.secret from unnest($2::text[], $3::text[], $4::bytea[]) as e(id, url, secret)`,
    [
      workspace,
      endpoints.map(({ id }) => id),
      endpoints.map(({ url: target }) => target),
      endpoints.map(({ id }) => seal(workspace, id, secret))
    ]
  )
  await client.end()
}

const publishCrowd = ({ client }, each) =>
  client.query(
    "select count(*) from posthorn.publish_events('crowd', array_fill('bench.crowd'::text, array[$1::int]), array_fill('{}'::json, array[$1::int]), array_fill(null::text, array[$1::int]))",
    [each]
  )

const steadily = async (context, count) => {
  const start = now()
  const calls = []
  for (let n = 0; n < count; n++) {
    await sleep(Math.max(0, start + (n * 1000) / RATE - now()))
    calls.push(posthorn.publish(context, jobsFor(context.endpoints, 1, now())[0]))
  }
  await Promise.all(calls)
}

const once = (bench, { each, endpoints, name }, { seconds }) =>
  withContext(
    bench,
    posthorn,
    {
      endpoints: okEndpoints(bench.sink, 1),
      tag: `workspaces-${name}`,
      fill: endpoints > 0 ? crowdOf(bench.sink, endpoints) : undefined
    },
    async (context) => {
      const child = startWorker(posthorn, context)
      await enqueue(posthorn, context, WARM_UP)
      await bench.sink.reached(WARM_UP)
      await until(() => posthorn.finished(context), "the warm-up ends")
      await bench.sink.reset()
      if (each > 0) {
        await publishCrowd(context, each)
        await bench.sink.reached(TAKEN)
      }
      const count = seconds * RATE
      await steadily(context, count)
      const arrived = async () =>
        (await bench.sink.report(key, true)).hits.filter(([path]) => path.startsWith("/ok/"))
      const began = now()
      const hits = await until(
        async () => {
          const some = await arrived()
          return some.length >= count || now() - began > WITHIN ? some : null
        },
        "the other workspace's deliveries arrive",
        { every: 1000, within: WITHIN + 10_000 }
      )
      await endWorker(child, "SIGKILL")
      const delays = hits.map(([, at, sent]) => at - sent)
      return { arrived: hits.length / count, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) }
    }
  )

export const workspaces = async (bench, options) => {
  const runs = Object.fromEntries(cases.map(({ name }) => [name, []]))
  for (let rep = 0; rep < options.reps; rep++) {
    for (const one of cases) {
      const run = await once(bench, one, options)
      runs[one.name].push(run)
      bench.say(
        `  ${rep + 1}/${options.reps} beside ${String(one.endpoints).padStart(5)} hanging endpoints: ${(run.arrived * 100).toFixed(0)} % arrived, ` +
          `p50 ${run.p50.toFixed(1)} ms, p99 ${run.p99.toFixed(1)} ms`
      )
    }
  }
  return {
    scenario: "workspaces",
    options,
    cases: cases.map((one) => ({ ...one, ...medians(runs[one.name]), runs: runs[one.name] }))
  }
}
