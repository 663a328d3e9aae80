/**
 * The meters in the text format of Prometheus (version 0.0.4). Only Posthorn's own and those of the process, without Effect's
 * counts of fibers in the same registry.
 */
import { Effect, Metric, type MetricKey, type MetricPair, MetricState, Option } from "effect"
import { collect } from "./Collectors.ts"
import { elapsedNow } from "./Elapsed.ts"

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

const OURS = /^(posthorn|process|nodejs)_/

const escaped = (text: string) => text.replace(/[\\"\n]/g, (found) => (found === "\n" ? "\\n" : `\\${found}`))
const help = (text: string) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

const labelled = (key: MetricKey.MetricKey.Untyped, more = "") => {
  const labels = key.tags.map((tag) => `${tag.key}="${escaped(tag.value)}"`)
  if (more !== "") labels.push(more)
  return labels.length === 0 ? "" : `{${labels.join(",")}}`
}

const numberText = (value: number) => (value === Number.POSITIVE_INFINITY ? "+Inf" : String(value))

const samplesOf = ({ metricKey, metricState }: MetricPair.MetricPair.Untyped): ReadonlyArray<string> => {
  const { name } = metricKey
  if (MetricState.isCounterState(metricState)) return [`${name}${labelled(metricKey)} ${metricState.count}`]
  if (MetricState.isGaugeState(metricState)) return [`${name}${labelled(metricKey)} ${metricState.value}`]
  if (!MetricState.isHistogramState(metricState)) return []
  const { buckets, count, sum } = metricState
  return [
    ...Array.from(buckets as Iterable<readonly [number, number]>, ([bound, within]) => {
      return `${name}_bucket${labelled(metricKey, `le="${numberText(bound)}"`)} ${within}`
    }),
    `${name}_sum${labelled(metricKey)} ${sum}`,
    `${name}_count${labelled(metricKey)} ${count}`
  ]
}

const typeOf = ({ metricState }: MetricPair.MetricPair.Untyped) =>
  MetricState.isCounterState(metricState)
    ? "counter"
    : MetricState.isGaugeState(metricState)
      ? "gauge"
      : "histogram"

const render = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>): string => {
  const families = new Map<string, { readonly head: string; readonly samples: Array<string> }>()
  for (const pair of pairs) {
    const { description, name } = pair.metricKey
    if (!OURS.test(name)) continue
    const told = Option.getOrElse(description, () => name)
    const family = families.get(name) ?? {
      head: `# HELP ${name} ${help(told)}\n# TYPE ${name} ${typeOf(pair)}\n`,
      samples: []
    }
    families.set(name, family)
    family.samples.push(...samplesOf(pair))
  }
  return [...families]
    .filter(([, { samples }]) => samples.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { head, samples }]) => `${head}${samples.sort(bySeries).join("\n")}\n`)
    .join("")
}

/** Sorted by labels; a histogram's buckets stay in the order of their bounds. */
const bySeries = (a: string, b: string) => {
  const [left, right] = [seriesName(a), seriesName(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
const seriesName = (sample: string) => sample.slice(0, sample.lastIndexOf(" ")).replace(/,?le="[^"]*"/, "")

const FRESH_MS = 1_000

/** All meters as text. */
export const freshText: Effect.Effect<string> = Effect.zipRight(collect, Effect.map(Metric.snapshot, render))

/** The same, cached for a second: anybody may request it, and frequent requests must be cheap. */
export const makePrometheusText: Effect.Effect<Effect.Effect<string>> = Effect.gen(function* () {
  const turn = yield* Effect.makeSemaphore(1)
  let made = { text: "", at: Number.NEGATIVE_INFINITY }
  return Effect.gen(function* () {
    const now = yield* elapsedNow
    if (now - made.at >= FRESH_MS) made = { text: yield* freshText, at: now }
    return made.text
  }).pipe(turn.withPermits(1))
})
