/** The goals of long runs: nothing grows, nothing is lost, and what piled up goes away. */
import { known, row, two } from "../GoalRow.mjs"

/** Of its level, in a minute: below that the few looks of a half do not tell growth from the garbage collector's moods. */
const FLAT = 0.02
/** Halves that are shorter say nothing. */
const TELLING_SECONDS = 200

const memory = ({ memory: trends }) =>
  Object.entries(trends).map(([name, { first, second }]) => {
    const telling = Math.min(first.seconds, second.seconds) >= TELLING_SECONDS
    const share = second.perMinute / second.level
    return row(
      `memory of ${name}`,
      `second half grows <= ${FLAT * 100} % a minute`,
      `${(share * 100).toFixed(1)} % (${second.perMinute.toFixed(2)} MB a minute at ${second.level.toFixed(0)} MB; first half ${first.perMinute.toFixed(2)} at ${first.level.toFixed(0)})`,
      telling && known(share) ? share <= FLAT : null
    )
  })

/** A leak of 20 bytes for each event of 300 s at 1,000 a second is a fifth of a worker's heap. */
const HELD = 1.2

const heap = ({ heaps: { end, middle } }) =>
  Object.entries(middle).map(([name, before]) =>
    row(
      `what ${name} holds after a collection, at the end against the middle`,
      `<= ${HELD}x`,
      `${two(end[name] / before)}x (${before.toFixed(1)}, ${end[name].toFixed(1)} MB)`,
      end[name] <= HELD * before
    )
  )

export const load = (result) => {
  if (result === undefined) return []
  const { drainedSeconds, first, rate, second, slow, verdict } = result
  return [
    row(
      `${result.seconds.toFixed(0)} s at ${rate.toFixed(0)} events/s`,
      "nothing lost or sent twice, no failed call, no bad signature",
      `${verdict.lost} lost, ${verdict.twice} twice, ${verdict.failed} failed, ${verdict.bad} bad, of ${verdict.published}`,
      verdict.lost + verdict.twice + verdict.failed + verdict.bad + verdict.unrecorded === 0
    ),
    ...memory(result),
    ...heap(result),
    row(
      "commit to arrival, second half against first",
      "p50 <= 1.3x",
      `${two(second.arrival.p50 / first.arrival.p50)}x (p50 ${first.arrival.p50.toFixed(1)}, ${second.arrival.p50.toFixed(1)} ms; p99 ${first.arrival.p99.toFixed(0)}, ${second.arrival.p99.toFixed(0)} ms)`,
      second.arrival.p50 <= 1.3 * first.arrival.p50
    ),
    row(
      "PostgreSQL's CPU for an event, second half against first",
      "<= 1.2x",
      `${two(second.postgres / first.postgres)}x (${first.postgres.toFixed(3)}, ${second.postgres.toFixed(3)} ms)`,
      known(second.postgres) ? second.postgres <= 1.2 * first.postgres : null
    ),
    row(
      `${slow.seconds.toFixed(0)} s in which each receiver takes ${slow.ms / 1000} s`,
      "the backlog is gone before as long again has passed",
      drainedSeconds === null
        ? `not by the end, of ${slow.most}`
        : `${slow.most} waiting at most, gone after ${drainedSeconds.toFixed(0)} s`,
      drainedSeconds !== null && drainedSeconds <= slow.seconds
    )
  ]
}

const sum = (some, of) => some.reduce((total, one) => total + of(one), 0)

/** Halves are compared: a checkpoint, a sweep or an autovacuum decides what a single tenth costs. */
export const backlog = (result) => {
  if (result === undefined) return []
  const { options, tenths, verdict } = result
  const halves = [tenths.slice(0, tenths.length / 2), tenths.slice(tenths.length / 2)]
  const [first, second] = halves.map((some) => ({
    rate: sum(some, ({ count }) => count) / sum(some, ({ seconds }) => seconds),
    postgres: sum(some, (one) => one.postgres * one.count) / sum(some, ({ count }) => count),
    memory: sum(some, ({ memory }) => memory.worker) / some.length
  }))
  const what = `${options.backlog / 1e6}M due deliveries, drained`
  const each = (of) => tenths.map(of).join(", ")
  return [
    row(
      what,
      "nothing lost or sent twice",
      `${verdict.lost} lost, ${verdict.twice} twice, ${verdict.bad} bad`,
      verdict.lost + verdict.twice + verdict.bad + Math.abs(verdict.unrecorded) === 0
    ),
    row(
      `${what}: second half against the first`,
      ">= 0.9x deliveries/s",
      `${two(second.rate / first.rate)}x (by tenths ${each(({ rate }) => rate.toFixed(0))} a second)`,
      second.rate >= 0.9 * first.rate
    ),
    row(
      `${what}: PostgreSQL's CPU for a delivery`,
      "second half <= 1.1x of the first",
      `${two(second.postgres / first.postgres)}x (by tenths ${each(({ postgres }) => postgres.toFixed(3))} ms)`,
      known(second.postgres) ? second.postgres <= 1.1 * first.postgres : null
    ),
    row(
      `${what}: memory of the worker`,
      "second half <= 1.15x of the first",
      `${two(second.memory / first.memory)}x (by tenths ${each(({ memory }) => memory.worker.toFixed(0))} MB, median RSS)`,
      second.memory <= 1.15 * first.memory
    )
  ]
}

/**
 * An answer may take so many times what it takes with little history, and a little more: pages tell, time is the machine's mood.
 * What looks at a fixed number of rows at most may come up to that bound, which little history does not reach.
 */
const SAME = { pages: 1.5, ms: 2 }
const MORE = { pages: 100, ms: 15 }
const BOUNDS = {
  "listWebhookDeliveries, none that failed": 11_000,
  "listWorkspaceDeliveries, none that failed": 11_000,
  diagnoseEndpoint: 4_000
}

export const history = (result) => {
  if (result === undefined) return []
  const { few, many } = result
  const what = `${many.rows / 1e6}M events, deliveries and attempts against ${few.rows}`
  const rows = Object.entries(many.operations).map(([name, { ms, pages }]) => {
    const before = few.operations[name]
    const bound = BOUNDS[name]
    const most = bound ?? Math.max(SAME.pages * before.pages, before.pages + MORE.pages)
    return row(
      `${name}, ${what}`,
      bound === undefined
        ? `<= ${SAME.pages}x, or ${MORE.pages} pages more`
        : `<= ${bound} pages, as it looks at so many rows at most`,
      `${pages} pages, ${ms.toFixed(1)} ms (${before.pages}, ${before.ms.toFixed(1)})`,
      pages <= most && (bound !== undefined || ms <= Math.max(SAME.ms * before.ms, before.ms + MORE.ms))
    )
  })
  const ratio = many.engine.postgres / few.engine.postgres
  return [
    ...rows,
    row(
      `publishing and delivering, ${what}`,
      "PostgreSQL's CPU <= 1.25x",
      `${two(ratio)}x (${few.engine.postgres.toFixed(3)}, ${many.engine.postgres.toFixed(3)} ms)`,
      known(ratio) ? ratio <= 1.25 : null
    )
  ]
}
