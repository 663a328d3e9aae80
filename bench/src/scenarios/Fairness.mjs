/**
 * One dead endpoint (accepts, never answers) gets 5,000 deliveries, then 50 healthy ones get 100 each. How long do the
 * healthy ones wait, with and without the dead one? The request timeout is real time, so it is set to 2 s here instead
 * of 10 s; those who wait behind the dead endpoint would wait five times longer with 10 s.
 */
import { contestants, endpointsAt, jobsFor, key } from "../Contestants.mjs"
import { now, until } from "../Machine.mjs"
import { endWorker, enqueue, medians, okEndpoints, quantile, startWorker, withContext } from "../Run.mjs"

const HEALTHY = 50
const EACH = 100
const WARM_UP = 3000

const endpointsOf = (bench) => [
  ...okEndpoints(bench.sink, HEALTHY),
  ...endpointsAt([`${bench.sink.origin}/dead`]).map((endpoint) => ({ ...endpoint, eventType: "bench.dead" }))
]

const once = (bench, contestant, { dead, n, timeout }) =>
  withContext(
    bench,
    contestant,
    { endpoints: endpointsOf(bench), tag: "fairness", requestTimeoutMs: timeout },
    async (context) => {
      const healthy = context.endpoints.slice(0, HEALTHY)
      const child = startWorker(contestant, context)
      await enqueue(contestant, context, WARM_UP, healthy)
      await bench.sink.reached(WARM_UP)
      await until(() => contestant.finished(context), "the warm-up ends")
      await bench.sink.reset()
      const all = [
        ...(dead ? jobsFor([context.endpoints[HEALTHY]], n, now()) : []),
        ...jobsFor(healthy, HEALTHY * EACH, now())
      ]
      const due = await contestant.enqueue(context, all)
      const arrived = async () =>
        (await bench.sink.report(key, true)).hits.filter(([path]) => path.startsWith("/ok/"))
      // Asking makes the receiver judge everything, so it is asked rarely when it takes long.
      let every = 250
      const hits = await until(
        async () => {
          every = Math.min(5000, every * 1.5)
          const some = (await bench.sink.count()) >= HEALTHY * EACH ? await arrived() : []
          return some.length >= HEALTHY * EACH ? some : null
        },
        "the healthy deliveries arrive",
        { every, within: 900_000 }
      )
      const delays = hits.map(([, at]) => at - due)
      await endWorker(child, "SIGKILL")
      return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) }
    }
  )

export const fairness = async (bench, options) => {
  const compared = options.only ?? ["posthorn", "graphile", "bullmq"]
  const chosen = contestants.filter(
    ({ name, needsRedis }) => compared.includes(name) && (!needsRedis || bench.redis)
  )
  const results = []
  for (const contestant of chosen) {
    const reps = contestant.name === "posthorn" ? options.reps : 1
    const runs = { with: [], without: [] }
    for (let rep = 0; rep < reps; rep++) {
      for (const dead of [false, true]) {
        const run = await once(bench, contestant, { ...options, dead })
        runs[dead ? "with" : "without"].push(run)
        bench.say(
          `  ${rep + 1}/${reps} ${contestant.label.padEnd(36)} ${dead ? "with   " : "without"} dead endpoint: healthy p50 ${(run.p50 / 1000).toFixed(2)} s, p99 ${(run.p99 / 1000).toFixed(2)} s`
        )
      }
    }
    const middle = { with: medians(runs.with), without: medians(runs.without) }
    results.push({
      name: contestant.name,
      label: contestant.label,
      ...middle,
      ratio: middle.with.p99 / middle.without.p99,
      runs
    })
  }
  return { scenario: "fairness", options, contestants: results }
}
