/** The goals of long runs: nothing grows, nothing is lost, and what piled up goes away. */
import { known, row, two } from "../GoalRow.mjs"

/** Of its level, in a minute. */
const FLAT = 0.01
/** Halves that are shorter say nothing: the garbage collector's saw teeth are larger than any slope. */
const TELLING_SECONDS = 100

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
