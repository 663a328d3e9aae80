/** A run's outcome for whoever reads it in a terminal. */
import type { Gap, Outcome } from "./Failover.ts"

const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

export const passed = ({ laws, lost, restarts }: Outcome): boolean =>
  lost === 0 && restarts === 0 && Object.values(laws).every(({ violations }) => violations.length === 0)

const gapLine = ({ back, deliveredAfter, gone, kind, published, publishedAfter }: Gap): string =>
  `  ${kind === "kill" ? "killed  " : "planned "} without a primary for ${inSeconds(back - gone)}, nothing acknowledged for ${inSeconds(published)}; after the promotion acknowledged in ${inSeconds(publishedAfter)}, delivered in ${inSeconds(deliveredAfter)}`

export const reportOf = (outcome: Outcome): string => {
  const { acknowledged, attempts, calmMs, gaps, laws, logs, lost, posts, repeated, restarts } = outcome
  const broken = Object.entries(laws).flatMap(([name, { violations }]) =>
    violations.slice(0, 5).map((violation) => `  ${name}: ${violation}`)
  )
  const judged = Object.values(laws).reduce((sum, { cases }) => sum + cases, 0)
  return [
    ...gaps.map(gapLine),
    `  ${acknowledged} events acknowledged, ${lost} lost`,
    `  ${attempts} attempts on record, ${posts} requests: ${repeated} repeated, under the same webhook-id`,
    `  ${restarts} restarts of serve and work; calm after ${inSeconds(calmMs)}`,
    `  ${Object.keys(laws).length} laws on ${judged} cases, ${broken.length === 0 ? "every one held" : "BROKEN:"}`,
    ...broken,
    ...(passed(outcome) ? [] : ["  last words:", ...logs.map((words) => `    ${words.slice(0, 300)}`)])
  ].join("\n")
}
