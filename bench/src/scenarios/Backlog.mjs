/**
 * A backlog that is due, drained by one worker: what a delivery costs and how much memory the worker takes, for each tenth
 * of it. It is what an installation has to do after its workers were away for long.
 */
import { posthorn } from "../Contestants.mjs"
import { book } from "../load/Book.mjs"
import { memoryBy } from "../load/Memory.mjs"
import { withReceiver } from "../load/Receiving.mjs"
import { writeRows } from "../load/Rows.mjs"
import { now, sleep } from "../Machine.mjs"
import { costs, endWorker, median, reading, startWorker } from "../Run.mjs"

const OTHERS = ["backlog-1", "backlog-2", "backlog-3"]
const KINDS = 100
const TENTHS = 10
const WITHIN_MS = 1_800_000

const fill = (bench, rows) => async (url) => {
  const from = now()
  await writeRows(url, "due", rows, { ageSeconds: 60, lastsSeconds: 3600 })
  bench.say(`  ${rows / 1e6}M due deliveries written in ${((now() - from) / 1000).toFixed(0)} s`)
}

/** Each event is due from the beginning, and counts as committed then. */
const written = (rows) => {
  const pairs = new Float64Array(2 * rows)
  for (let n = 0; n < rows; n++) pairs.set([n + 1, now()], 2 * n)
  return pairs
}

const drainIn = async (bench, context, receiver, rows) => {
  const arrivals = book()
  arrivals.commit(written(rows))
  const child = startWorker(posthorn, context)
  const tenths = []
  const ends = now() + WITHIN_MS
  let from = null
  let before = 0
  let bad = 0
  /** Of the worker, since the last tenth was full: a single one says where the garbage collector stands. */
  let samples = []
  const finished = () => posthorn.finished(context)
  for (let over = false; !over; ) {
    await sleep(100)
    const came = await receiver.ask("take")
    bad = came.bad
    arrivals.arrive(came.arrivals)
    arrivals.delays()
    samples.push(memoryBy({ worker: child.pid }, null).worker)
    const { arrived } = arrivals.counts()
    if (from === null && arrived > 0) {
      from = await reading(bench, posthorn, [child.pid])
      before = arrived
    }
    if (arrived >= ((tenths.length + 1) * rows) / TENTHS && arrived > before) {
      const to = await reading(bench, posthorn, [child.pid])
      const memory = { worker: median(samples) }
      samples = []
      tenths.push({ ...costs(from, to, arrived - before), memory })
      const { node, postgres, rate } = tenths.at(-1)
      bench.say(
        `  ${arrived}: ${rate.toFixed(0)}/s, CPU ms each ${node.toFixed(3)} + ${postgres.toFixed(3)}; worker ${memory.worker.toFixed(0)} MB`
      )
      from = to
      before = arrived
    }
    over = tenths.length === TENTHS && (await finished())
    if (now() > ends) throw new Error("the backlog is not gone")
  }
  await endWorker(child)
  const recorded = await posthorn.recorded(context)
  return { tenths, verdict: { ...arrivals.verdict(), bad, unrecorded: rows - recorded } }
}

export const backlog = (bench, options) =>
  withReceiver(
    bench,
    { kinds: KINDS, others: OTHERS, tag: "backlog", fill: fill(bench, options.backlog) },
    async (context, receiver) => ({
      scenario: "backlog",
      options,
      ...(await drainIn(bench, context, receiver, options.backlog))
    })
  )
