/** A run's result as text: what was done, each law with its cases, the verdict. */
import type { Fact } from "../simulation/Facts.ts"
import { endpointOf } from "../simulation/Visibility.ts"
import type { Verdict } from "./Chaos.ts"
import type { LawJudgement } from "./Judging.ts"
import type { Line } from "./MeterSums.ts"

const SHOWN = 5
const WIDTH = 300
const STORY = 60

export const held = ({ cases, least, violations }: LawJudgement): boolean =>
  violations.length === 0 && cases >= least

export const passed = ({ laws, meters }: Verdict): boolean =>
  Object.values(laws).every(held) && Object.values(meters).every(({ violations }) => violations.length === 0)

const line = (name: string, law: LawJudgement): string => {
  const verdict =
    law.violations.length > 0
      ? `BROKEN ${law.violations.length} times`
      : law.cases < law.least
        ? `too little to judge: at least ${law.least}`
        : "held"
  return `  ${name.padEnd(40)} ${String(law.cases).padStart(7)} ${law.of.padEnd(28)} ${verdict}`
}

const meterLine = (name: string, { counted, inGaps, least, onRecord, onlyKills, violations }: Line): string =>
  `  ${name.padEnd(40)} ${String(counted).padStart(7)} of ${String(onRecord).padEnd(7)} ${(onlyKills ? `${inGaps} between scrape and kill` : `at least ${least}`).padEnd(28)} ${violations.length === 0 ? "adds up" : "WRONG"}`

const seconds = (from: number, at: number) => `${((at - from) / 1_000).toFixed(3).padStart(9)} s`

const told = (fact: Fact): string => {
  if (fact.kind !== "recorded") return fact.kind
  const { httpStatus, ordinal, status } = fact.observed
  return `recorded attempt ${ordinal}: ${status} (${httpStatus ?? "no answer"}), streak ${fact.streak ?? "not counted"}`
}

/** Everything about a delivery, or the latest about an endpoint, in order. */
const storyOf = ({ judged }: Verdict, id: string): ReadonlyArray<string> => {
  const { answered, model, posts } = judged
  const start = model.facts[0]?.at ?? 0
  const isAbout = (deliveryId: string) =>
    deliveryId === id || endpointOf(judged, deliveryId).endpointId === id
  const name = (deliveryId: string) => (deliveryId === id ? "" : ` ${deliveryId.slice(-6)}`)
  const events = [
    ...model.facts.flatMap((fact) => {
      const about = fact.kind === "recorded" ? fact.observed : fact
      const isOurs = "deliveryId" in about ? isAbout(about.deliveryId) : about.endpointId === id
      return isOurs ? [{ at: fact.at, what: told(fact) }] : []
    }),
    ...posts.flatMap(({ at, deliveryId, request, worker }) =>
      isAbout(deliveryId) ? [{ at, what: `posted${name(deliveryId)} to ${request.url} by ${worker}` }] : []
    ),
    ...answered.flatMap(({ at, deliveryId, status }) =>
      isAbout(deliveryId) ? [{ at, what: `answered${name(deliveryId)} ${status ?? "nothing"}` }] : []
    )
  ]
  return events
    .toSorted((a, b) => a.at - b.at)
    .slice(-STORY)
    .map(({ at, what }) => `    ${seconds(start, at)}  ${what}`)
}

const breachesOf = (verdict: Verdict): ReadonlyArray<string> =>
  Object.entries(verdict.laws).flatMap(([name, { violations }]) =>
    violations.slice(0, SHOWN).flatMap((violation) => {
      const id = /wh[de]_[0-9a-f]+/.exec(violation)?.[0]
      return ["", `  ${name}: ${violation}`, ...(id === undefined ? [] : storyOf(verdict, id))]
    })
  )

export const reportOf = (verdict: Verdict): string => {
  const { calmMs, done, judged, laws, logs, meters, stalls } = verdict
  const faults = [...done].map(([kind, n]) => `${n} ${kind}`).join(", ")
  const good = passed(verdict)
  return [
    `  ${judged.model.deliveries.size} deliveries, ${judged.posts.length} posts; calm after ${(calmMs / 1_000).toFixed(1)} s`,
    `  faults and orders: ${faults}`,
    ...(stalls.count === 0
      ? []
      : [`  this machine stood still ${stalls.count} times, ${(stalls.ms / 1_000).toFixed(1)} s in all`]),
    "",
    ...Object.entries(laws).map(([name, law]) => line(name, law)),
    ...Object.entries(meters).map(([name, one]) => meterLine(name, one)),
    ...(good
      ? []
      : [
          ...breachesOf(verdict),
          "",
          "  last words:",
          ...logs.map((words) => `    ${words.slice(0, WIDTH)}`)
        ]),
    "",
    good ? "  every law held" : "  NOT CLEAN"
  ].join("\n")
}
