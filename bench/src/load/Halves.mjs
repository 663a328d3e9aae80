/** What the samples of a long run say: its two halves beside each other, and about sixty of the samples in short. */
import { median, quantile } from "../Run.mjs"
import { trend } from "./Flat.mjs"

const KEPT = 60

const quantiles = (values) => ({ p50: quantile(values, 0.5), p99: quantile(values, 0.99) })

/** What the samples of a half say together. */
const half = (samples) => {
  const [start, end] = [samples[0], samples.at(-1)]
  const events = end.arrived - start.arrived
  const all = (name) => samples.slice(1).flatMap(({ seen }) => Array.from(seen[name]))
  return {
    from: start.seconds,
    to: end.seconds,
    events,
    arrival: quantiles(all("arrival")),
    rest: quantiles(all("rest")),
    sql: quantiles(all("sql")),
    depth: median(samples.map(({ depth }) => depth)),
    queueMb: end.queueMb,
    postgres: ((end.spent.postgres - start.spent.postgres) / events) * 1000,
    node: ((end.spent.node - start.spent.node) / events) * 1000
  }
}

/** The first half ends when receivers become slow; the second begins when what piled up is gone. */
export const judge = ({ samples, slow }) => {
  const calm = samples.filter(({ seconds }) => seconds < slow.began)
  const usual = median(calm.map(({ depth }) => depth))
  const after = samples.filter(({ seconds }) => seconds > slow.ended)
  const gone = after.find(({ depth }) => depth <= 2 * usual + 100)
  const firstHalf = calm.slice(Math.floor(calm.length / 10))
  const secondHalf = gone === undefined ? after : after.filter(({ seconds }) => seconds >= gone.seconds)
  const trendOf = (some, name) => trend(some.map(({ memory, seconds }) => ({ seconds, value: memory[name] })))
  return {
    slow: { ...slow, most: Math.max(...samples.map(({ depth }) => depth)) },
    drainedSeconds: gone === undefined ? null : gone.seconds - slow.ended,
    first: half(firstHalf),
    second: half(secondHalf),
    memory: Object.fromEntries(
      Object.keys(samples[0].memory).map((name) => [
        name,
        { first: trendOf(firstHalf, name), second: trendOf(secondHalf, name) }
      ])
    )
  }
}

const rounded = (value) => Math.round(value * 10) / 10

export const kept = (samples) =>
  samples
    .filter((_, n) => n % Math.ceil(samples.length / KEPT) === 0)
    .map(({ databaseMb, depth, memory, queueMb, rates, seconds, seen }) =>
      [
        `${seconds.toFixed(0)} s: ${rates.published.toFixed(0)}/s in, ${rates.arrived.toFixed(0)}/s out, ${depth} waiting`,
        `arrival p50 ${rounded(quantile(seen.arrival, 0.5))} p99 ${rounded(quantile(seen.arrival, 0.99))} ms`,
        `REST p50 ${rounded(quantile(seen.rest, 0.5))} p99 ${rounded(quantile(seen.rest, 0.99))} ms`,
        `MB ${Object.entries(memory)
          .map(([name, mb]) => `${name} ${rounded(mb)}`)
          .join(", ")}`,
        `queue ${rounded(queueMb)} MB of ${rounded(databaseMb)}`
      ].join("; ")
    )
