/**
 * Judges the rest of the product in a run: replay jobs, retention, the console and tokens, and the server's answers during
 * faults. At the end retention runs once more and keeps nothing, so it is judged last.
 */
import type { Post } from "../simulation/Facts.ts"
import type { Judged } from "../simulation/Judged.ts"
import type { Logged } from "./ChangeHistory.ts"
import type { Installation } from "./ChaosInstallation.ts"
import type { Faults } from "./Faults.ts"
import type { Judgement } from "./Judgement.ts"
import { type LawJudgement, readWrong } from "./Judging.ts"
import { REPLAYS, type ReplayRow, replayLaws } from "./ReplayLaws.ts"
import { NOT_WHOLE, retentionLaws } from "./RetentionLaws.ts"
import { retain } from "./RetentionRuns.ts"
import { sessionLaws } from "./SessionLaws.ts"

/** The number of deliveries, and of those that wait at enabled endpoints. */
const COUNTS = `
  select count(*)::integer as all, (count(*) filter (where exists (
    select from posthorn.queue q join posthorn.endpoints e on e.workspace_id = q.workspace_id and e.id = q.endpoint_id
    where q.workspace_id = d.workspace_id and q.delivery_id = d.id and e.enabled)))::integer as waiting
  from posthorn.deliveries d`

interface Counts {
  readonly all: number
  readonly waiting: number
  readonly [column: string]: number
}

const lastRetention = async ({ databaseUrl, query }: Installation): Promise<Judgement> => {
  const [before] = await query<Counts>(COUNTS)
  await retain(databaseUrl, 0)
  const [after] = await query<Counts>(COUNTS)
  const violations = [
    before!.waiting !== after!.waiting && `${before!.waiting} deliveries waited, and then ${after!.waiting}`,
    after!.all !== after!.waiting && `${after!.all - after!.waiting} that are old and ended were left`
  ]
  return { cases: before!.all - after!.all, violations: violations.filter((text) => text !== false) }
}

/**
 * The recorded time of an attempt is when it was sent by the database's clock, whatever the process's clock shows. (The laws
 * about the schedule and about signatures read these times as well.)
 */
const timesAreTheDatabases = ({ model, posts }: Judged, reach: (at: number) => number): Judgement => {
  const sent = new Map<string, Array<Post>>()
  for (const post of posts) sent.set(post.deliveryId, [...(sent.get(post.deliveryId) ?? []), post])
  let cases = 0
  const violations = model.facts.flatMap((fact) => {
    if (fact.kind !== "recorded") return []
    const { at, deliveryId, ordinal } = fact.observed
    const distance = (post: Post) => Math.abs(post.at - at)
    const [nearest] = (sent.get(deliveryId) ?? []).toSorted((a, b) => distance(a) - distance(b))
    if (nearest === undefined) return []
    cases += nearest.wrongClock === true ? 1 : 0
    const off = Math.round(distance(nearest))
    return off <= reach(nearest.at) + 1_000
      ? []
      : [`${deliveryId} attempt ${ordinal} was begun ${off} ms from when it was sent`]
  })
  return { cases, violations }
}

/** In a short run a law may have nothing to judge. */
const LONG_SECONDS = 60

export const judgeProduct = async (
  installation: Installation,
  { replays, retention, sessions }: Faults,
  judgedBefore: Judged,
  log: ReadonlyArray<Logged>,
  seconds: number
): Promise<Readonly<Record<string, LawJudgement>>> => {
  const { query } = installation
  const rows = await query<ReplayRow & { readonly [column: string]: unknown }>(REPLAYS)
  const [counts] = await query<Counts>(COUNTS)
  const notWhole = await readWrong(query, NOT_WHOLE)
  const last = await lastRetention(installation)
  const { away, unforeseen } = installation.troubles
  const laws = {
    // An unreachable database is a 503, and the call is repeated; any other 5xx is an unexpected failure.
    "I7 trouble is answered with 503": {
      of: "calls answered 5xx",
      cases: away() + unforeseen.length,
      violations: unforeseen
    },
    "I8 an attempt's time is the database's": {
      ...timesAreTheDatabases(judgedBefore, judgedBefore.reachMs),
      of: "attempts by a wrong clock"
    },
    ...replayLaws({ log, jobs: replays.jobs, rows }),
    ...retentionLaws({ log, runs: retention, deliveries: counts!.all, notWhole, last }),
    ...sessionLaws(sessions.all)
  }
  const least = seconds >= LONG_SECONDS ? 1 : 0
  return Object.fromEntries(Object.entries(laws).map(([name, law]) => [name, { ...law, least }]))
}
