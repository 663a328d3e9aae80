/**
 * The meters in the text format of Prometheus (version 0.0.4). Only Posthorn's own and those of the process: Effect counts its fibers in
 * the same registry.
 */
import { Effect, Metric, type MetricKey, type MetricPair, MetricState, Option } from "effect"
import { collect } from "./Collectors.ts"

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

/** Label by label; the buckets of a histogram stay in the order of their bounds. */
const bySeries = (a: string, b: string) => {
  const [left, right] = [seriesName(a), seriesName(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
const seriesName = (sample: string) => sample.slice(0, sample.lastIndexOf(" ")).replace(/,?le="[^"]*"/, "")

const FRESH_MS = 1_000

const turn = Effect.unsafeMakeSemaphore(1)
let made = { text: "", at: Number.NEGATIVE_INFINITY }

/** Everything there is to know, at most a second old: anybody may ask, and asking often must cost nothing. */
export const prometheusText: Effect.Effect<string> = turn.withPermits(1)(
  Effect.suspend(() =>
    performance.now() - made.at < FRESH_MS
      ? Effect.succeed(made.text)
      : Effect.map(collect, () => {
          made = { text: render(Metric.unsafeSnapshot()), at: performance.now() }
          return made.text
        })
  )
)

/** The same, made anew. */
export const freshText: Effect.Effect<string> = Effect.map(collect, () => render(Metric.unsafeSnapshot()))
