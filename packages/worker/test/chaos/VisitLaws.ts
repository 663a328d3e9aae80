/** What must hold of sessions and tokens, whatever broke while they were used. Source: decision §3 and §9. */
import type { Judgement } from "./InstallationLaws.ts"
import type { Read, Visit } from "./Visits.ts"

/** What a token opens is remembered for so long: within a second its revocation is effective everywhere. */
const REVOKED_MS = 1_000

const told = (what: string, visit: Visit, { began, by, status }: Read) =>
  `a ${by} that ended by ${visit.ends} was answered ${status} ${what} (${Math.round(began - visit.over)} ms after its end)`

/** The server away, or no answer at all, is no refusal. */
const isNoAnswer = ({ status }: Read) => status === null || status === 503

const over = (visits: ReadonlyArray<Visit>, by: Read["by"]): Judgement => {
  const late = visits.flatMap((visit) => {
    const graceMs = by === "token" && visit.ends === "revocation" ? REVOKED_MS : 0
    return visit.reads
      .filter((read) => read.by === by && read.began > visit.over + graceMs && !isNoAnswer(read))
      .map((read) => ({ visit, read }))
  })
  return {
    cases: late.length,
    violations: late
      .filter(({ read }) => read.status !== 401)
      .map(({ read, visit }) => told("when it was over", visit, read))
  }
}

const alive = (visits: ReadonlyArray<Visit>): Judgement => {
  const living = visits.flatMap((visit) =>
    visit.reads
      .filter((read) => read.ended < visit.until && !isNoAnswer(read))
      .map((read) => ({ visit, read }))
  )
  return {
    cases: living.length,
    violations: living
      .filter(({ read }) => read.status !== 200)
      .map(({ read, visit }) => told("while it lived", visit, read))
  }
}

const codesOpenOnce = (visits: ReadonlyArray<Visit>): Judgement => {
  const again = visits.flatMap(({ codesUsedAgain }) => codesUsedAgain)
  return {
    cases: again.length,
    violations: again.flatMap((status) =>
      status === null || status === 401 || status === 503
        ? []
        : [`a code that was used was answered ${status}`]
    )
  }
}

export const visitLaws = (
  visits: ReadonlyArray<Visit>
): Readonly<Record<string, Judgement & { readonly of: string }>> => ({
  "S1 a session that is over opens nothing": { ...over(visits, "cookie"), of: "calls with a dead session" },
  "S2 what lives is not refused": { ...alive(visits), of: "calls while it lived" },
  "S3 a token that is over opens nothing": { ...over(visits, "token"), of: "calls with a dead token" },
  "S4 a code opens once": { ...codesOpenOnce(visits), of: "codes used again" }
})
