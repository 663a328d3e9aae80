/**
 * Deliveries per second, and what each costs: N deliveries enqueued, then drained by a worker that starts now (its start
 * included: "cold"), then N more that become due all at once for the worker that is already running ("warm"). The clock
 * stops when the last evidence is committed and the queue is empty.
 */
import { contestants } from "../Contestants.mjs"
import { now } from "../Machine.mjs"
import {
  costs,
  drained,
  endWorker,
  enqueue,
  medians,
  memory,
  okEndpoints,
  reading,
  startWorker,
  verdict,
  withContext
} from "../Run.mjs"

/** The slow ones get fewer, so that a round does not take minutes. */
const share = { "graphile-usual": 4 }

const once = (bench, contestant, options) =>
  withContext(bench, contestant, { endpoints: okEndpoints(bench.sink) }, async (context) => {
    const n = Math.ceil(options.n / (share[contestant.name] ?? 1))
    await enqueue(contestant, context, n)
    await bench.postgres.admin.query("checkpoint")
    const before = await reading(bench, contestant, [])
    const child = startWorker(contestant, context)
    await drained(bench, contestant, context, n)
    const cold = costs(before, await reading(bench, contestant, [child.pid]), n)
    const start = await reading(bench, contestant, [child.pid])
    const due = await enqueue(contestant, context, n)
    const enqueuedAt = now()
    const mid = await reading(bench, contestant, [child.pid])
    await drained(bench, contestant, context, 2 * n)
    const end = await reading(bench, contestant, [child.pid])
    const warm = {
      ...costs(mid, end, n, due),
      walWithEnqueue: (end.wal - start.wal) / n,
      enqueueMs: enqueuedAt - start.at
    }
    const facts = await verdict(bench, contestant, context, 2 * n)
    const rss = memory(child)
    await endWorker(child)
    return { cold, warm, facts: { ...facts, rss: rss.now, rssMost: rss.most } }
  })

export const throughput = async (bench, options) => {
  const chosen = contestants.filter(
    ({ name, needsRedis }) => (!needsRedis || bench.redis) && (!options.only || options.only.includes(name))
  )
  const runs = Object.fromEntries(chosen.map(({ name }) => [name, []]))
  for (let rep = 0; rep < options.reps; rep++) {
    for (let turn = 0; turn < chosen.length; turn++) {
      const contestant = chosen[(turn + rep) % chosen.length]
      const run = await once(bench, contestant, options)
      runs[contestant.name].push(run)
      bench.say(
        `  ${rep + 1}/${options.reps} ${contestant.label.padEnd(36)} cold ${run.cold.rate.toFixed(0)}/s, warm ${run.warm.rate.toFixed(0)}/s, ` +
          `CPU ms each ${run.warm.node.toFixed(3)} + ${run.warm.postgres.toFixed(3)} + ${run.warm.redis.toFixed(3)}, ` +
          `WAL ${run.warm.wal.toFixed(0)}, sink ${run.warm.sink.toFixed(3)}, lost ${run.facts.lost}, twice ${run.facts.duplicated}`
      )
    }
  }
  return {
    scenario: "throughput",
    options,
    contestants: chosen.map(({ name, label }) => ({
      name,
      label,
      cold: medians(runs[name].map((run) => run.cold)),
      warm: medians(runs[name].map((run) => run.warm)),
      coldRates: runs[name].map((run) => run.cold.rate),
      warmRates: runs[name].map((run) => run.warm.rate),
      rss: medians(runs[name].map((run) => run.facts)).rss,
      rssMost: Math.max(...runs[name].map((run) => run.facts.rssMost)),
      lost: runs[name].reduce((sum, run) => sum + run.facts.lost, 0),
      duplicated: runs[name].reduce((sum, run) => sum + run.facts.duplicated, 0),
      badSignatures: runs[name].reduce((sum, run) => sum + run.facts.badSignatures, 0)
    }))
  }
}
