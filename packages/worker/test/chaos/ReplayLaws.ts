/**
 * Laws of replay jobs, whatever broke meanwhile. Source: spec §4.6, docs/adr/0017-replay-jobs.md.
 */
import type { Logged } from "./ChangeHistory.ts"
import { judgeEach, type NamedJudgement } from "./Judgement.ts"
import type { Job } from "./ReplayOrders.ts"
import { removedByRetention } from "./RetentionLaws.ts"

type Row = NonNullable<Logged["new"]>

/** A row of `posthorn.replays` at the end. */
export interface ReplayRow {
  readonly id: string
  readonly endpoint_id: string
  readonly state: "running" | "done" | "cancelled"
  readonly matched: number
  readonly replayed: number
  readonly failed: number
  /** Whether the endpoint is enabled. */
  readonly enabled: boolean
}

export const REPLAYS = `
  select r.id, r.endpoint_id, r.state, r.matched::integer, r.replayed::integer, r.failed::integer, e.enabled
  from posthorn.replays r join posthorn.endpoints e on e.workspace_id = r.workspace_id and e.id = r.endpoint_id`

export interface Replayed {
  readonly log: ReadonlyArray<Logged>
  readonly jobs: ReadonlyArray<Job>
  readonly rows: ReadonlyArray<ReplayRow>
}

const madeByJobs = (log: ReadonlyArray<Logged>) =>
  log.filter(({ kind, new: row }) => kind === "published" && row!.replay_id !== null)

const sourceOf = (row: Row) => (row.replayed_from ?? row.event_id) as string

const twice = (keys: ReadonlyArray<string>) => keys.filter((key, n) => keys.indexOf(key) < n)

/** Each source once for each job, and a missed event once in total. */
const eachSourceOnce = ({ log }: Replayed): NamedJudgement => {
  const made = madeByJobs(log).map(({ new: row }) => row!)
  const missed = made.filter(({ replayed_from: from }) => from === null)
  const replayed = twice(made.map((row) => `${sourceOf(row)} by ${row.replay_id}`))
  const madeUp = twice(missed.map((row) => `${row.event_id} for ${row.endpoint_id}`))
  return {
    of: "replays made by jobs",
    cases: made.length,
    violations: [
      ...replayed.map((one) => `${one} was replayed twice`),
      ...madeUp.map((one) => `${one} was made up for twice`)
    ]
  }
}

/** An order that was repeated until it was answered started one job. */
const oneJobForEachOrder = ({ jobs, log }: Replayed): NamedJudgement => {
  const answered = jobs.map(({ id }) => id)
  const started = log
    .filter(({ kind, old }) => kind === "replay" && old === null)
    .map(({ new: row }) => row!.id as string)
  return {
    of: "replay jobs",
    cases: jobs.length,
    violations: [
      ...started.filter((id) => !answered.includes(id)).map((id) => `${id} was started and not answered`),
      ...answered.filter((id) => !started.includes(id)).map((id) => `${id} was answered and not started`)
    ]
  }
}

/** Sources of this endpoint that retention removed: a later job does not find them. */
const goneFor = (log: ReadonlyArray<Logged>) => {
  const gone = new Map<string, number>()
  const count = (endpointId: string) => gone.set(endpointId, (gone.get(endpointId) ?? 0) + 1)
  for (const row of removedByRetention(log)) count(row.old!.endpoint_id as string)
  const made = new Set(
    madeByJobs(log).flatMap(({ new: row }) =>
      row!.replayed_from === null ? [`${row!.event_id} ${row!.endpoint_id}`] : []
    )
  )
  for (const { kind, old } of log)
    if (kind === "missed" && old !== null && !made.has(`${old.event_id} ${old.endpoint_id}`))
      count(old.endpoint_id as string)
  return gone
}

/** A job's counts agree with the database; it ends, unless its endpoint is disabled. */
const jobsEnd = ({ jobs, log, rows }: Replayed): NamedJudgement => {
  const replays = madeByJobs(log).map(({ new: row }) => row!)
  const made = replays.map(({ replay_id }) => replay_id)
  const cancelled = new Set(jobs.flatMap((job) => (job.cancelled ? [job.id] : [])))
  const gone = goneFor(log)
  const wrong = ({ enabled, endpoint_id, failed, id, matched, replayed, state }: ReplayRow) => {
    const counted = made.filter((one) => one === id).length
    // What another job makes up for meanwhile counts as replayed; what that gives up again is left to a later job.
    const others = replays.filter((row) => row.endpoint_id === endpoint_id && row.replay_id !== id).length
    if (replayed < counted || replayed > counted + others)
      return `${id} says that it replayed ${replayed}; there are ${counted}, and ${others} of other jobs`
    if (state === "running") return enabled && `${id} of ${endpoint_id} is still running`
    if (state === "cancelled") return !cancelled.has(id) && `${id} is cancelled, and nobody did that`
    if (replayed + failed !== matched) return `${id} is done with ${replayed} and ${failed} of ${matched}`
    const lost = (gone.get(endpoint_id) ?? 0) + others
    return (
      failed > lost &&
      `${id} of ${endpoint_id} found ${failed} sources gone, of which ${lost} were taken away`
    )
  }
  return judgeEach("replay jobs", rows, wrong)
}

/** Each replay has its audit event, from the same transaction. */
const replaysAreAudited = ({ log }: Replayed): NamedJudgement => {
  const audited = new Map<string, ReadonlyArray<string>>()
  for (const { kind, new: row, xid } of log)
    if (kind === "audit" && row!.action === "webhook.delivery_replayed")
      audited.set(row!.target_id as string, [...(audited.get(row!.target_id as string) ?? []), xid])
  return judgeEach("replays made by jobs", madeByJobs(log), ({ new: row, xid }) => {
    const told = audited.get(row!.id as string) ?? []
    return told.join() !== xid && `${row!.id} has ${told.length} audit events, not one of its own transaction`
  })
}

/** A cancelled job makes nothing more. */
const cancelledMeansOver = ({ jobs, log }: Replayed): NamedJudgement => {
  const ended = new Map<unknown, number>()
  for (const { commit, kind, new: row } of log)
    if (kind === "replay" && row?.state === "cancelled") ended.set(row.id, commit)
  const { violations } = judgeEach("", madeByJobs(log), ({ commit, new: row }) => {
    const { id, replay_id: job } = row!
    return commit > (ended.get(job) ?? commit) && `${id} was made by ${job} after that was cancelled`
  })
  return { of: "jobs cancelled", cases: jobs.filter(({ cancelled }) => cancelled).length, violations }
}

export const replayLaws = (replayed: Replayed): Readonly<Record<string, NamedJudgement>> => ({
  "R1 a job replays each source once": eachSourceOnce(replayed),
  "R2 one job for each order": oneJobForEachOrder(replayed),
  "R3 a job ends, and adds up": jobsEnd(replayed),
  "R4 each replay is in the audit log": replaysAreAudited(replayed),
  "R5 a cancelled job makes nothing more": cancelledMeansOver(replayed)
})
