/** A run's result as text. */
import type { Gap, Outcome } from "./Failover.ts"

const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

export const passed = ({ laws, lost, restarts }: Outcome): boolean =>
  lost === 0 && restarts === 0 && Object.values(laws).every(({ violations }) => violations.length === 0)

const gapLine = ({ back, deliveredAfter, gone, kind, published, publishedAfter }: Gap): string =>
  `  ${kind === "kill" ? "killed  " : "planned "} without a primary for ${inSeconds(back - gone)}, nothing acknowledged for ${inSeconds(published)}; after the promotion acknowledged in ${inSeconds(publishedAfter)}, delivered in ${inSeconds(deliveredAfter)}`

const violationsOf = (laws: Outcome["laws"]): ReadonlyArray<string> =>
  Object.entries(laws).flatMap(([name, { violations }]) =>
    violations.slice(0, 5).map((violation) => `  ${name}: ${violation}`)
  )

export const reportOf = (outcome: Outcome): string => {
  const { acknowledged, attempts, calmMs, gaps, laws, logs, lost, posts, repeated, restarts, unjudged } =
    outcome
  const broken = violationsOf(laws)
  const judged = Object.values(laws).reduce((sum, { cases }) => sum + cases, 0)
  return [
    ...gaps.map(gapLine),
    `  ${acknowledged} events acknowledged, ${lost} lost`,
    `  ${attempts} attempts on record, ${posts} requests: ${repeated} repeated, under the same webhook-id`,
    `  ${restarts} restarts of serve and work; calm after ${inSeconds(calmMs)}`,
    `  ${Object.keys(laws).length} laws on ${judged} cases, ${broken.length === 0 ? "every one held" : "BROKEN:"}`,
    ...broken,
    ...violationsOf(unjudged).map((violation) => `${violation} (not judged)`),
    ...(passed(outcome) ? [] : ["  last words:", ...logs.map((words) => `    ${words.slice(0, 300)}`)])
  ].join("\n")
}
