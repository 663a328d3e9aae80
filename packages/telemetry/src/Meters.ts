/**
 * Counters, gauges and histograms on Effect's metric registry: one for the process, read by `/metrics` and by OTLP.
 *
 * Meters are made once, at the top of a file. Callbacks of drivers and of the worker update them outside of effects, for which
 * `Metric` has only its unsafe update: it is called only here, and takes 0.1 us. Names and units are those of Prometheus: base
 * units, counters end in `_total`. A label has few values, which are known beforehand: never an id.
 */
import { Metric, MetricBoundaries, MetricLabel } from "effect"

type Labels = ReadonlyArray<string>

/** The series for each combination of label values, made on first use. */
const seriesOf = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>, labels: Labels) => {
  const made = new Map<string, Metric.Metric<Type, In, Out>>()
  return (values: Labels): Metric.Metric<Type, In, Out> => {
    const key = values.join("\0")
    const found = made.get(key)
    if (found !== undefined) return found
    const series = Metric.taggedWithLabels(
      metric,
      labels.map((label, n) => MetricLabel.make(label, values[n]!))
    )
    made.set(key, series)
    return series
  }
}

interface Counter {
  readonly add: (by: number, ...values: Labels) => void
}

/**
 * A counter. `expected` lists the label values that can occur: their series, like a counter without labels, are shown from 0
 * on, because Prometheus' `increase()` misses the first increment of a series that begins with it.
 */
export const counter = (
  name: string,
  description: string,
  labels: Labels = [],
  expected: ReadonlyArray<Labels> = labels.length === 0 ? [[]] : []
): Counter => {
  const series = seriesOf(Metric.counter(name, { description, incremental: true }), labels)
  const add = (by: number, ...values: Labels) => series(values).unsafeUpdate(by, [])
  for (const values of expected) add(0, ...values)
  return { add }
}

interface Gauge {
  /** Not shown before it is first set. */
  readonly set: (value: number, ...values: Labels) => void
}

/** A gauge, set by a collector (`Collectors.ts`) when the meters are read. */
export const gauge = (name: string, description: string, ...labels: Labels): Gauge => {
  const series = seriesOf(Metric.gauge(name, { description }), labels)
  return { set: (value, ...values) => series(values).unsafeUpdate(value, []) }
}

interface Histogram {
  readonly observe: (value: number, ...values: Labels) => void
}

/** A histogram: how often a value was at most each of `bounds`. */
export const histogram = (
  name: string,
  description: string,
  bounds: ReadonlyArray<number>,
  ...labels: Labels
): Histogram => {
  const series = seriesOf(Metric.histogram(name, MetricBoundaries.fromIterable(bounds), description), labels)
  return { observe: (value, ...values) => series(values).unsafeUpdate(value, []) }
}

/** In seconds, from a fast statement to the longest wait for a receiver. */
export const SECONDS: ReadonlyArray<number> = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30
]
