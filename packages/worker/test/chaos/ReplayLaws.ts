/**
 * What must hold of replay jobs, whatever broke while they were made. Source: decision §4 and §10 (Replay jobs),
 * docs/adr/0017-replay-jobs.md.
 */
import type { Logged } from "./History.ts"
import type { Judgement } from "./InstallationLaws.ts"
import type { Job } from "./Replaying.ts"
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
  /** Whether the endpoint takes deliveries. */
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

const twice = (keys: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return keys.filter((key) => {
    if (seen.has(key)) return true
    seen.add(key)
    return false
  })
}

/** A source once for each job; and an event that was missed once in all. */
const eachSourceOnce = ({ log }: Replayed): Judgement => {
  const made = madeByJobs(log).map(({ new: row }) => row!)
  const missed = made.filter(({ replayed_from: from }) => from === null)
  return {
    cases: made.length,
    violations: [
      ...twice(made.map((row) => `${sourceOf(row)} by ${row.replay_id}`)).map(
        (one) => `${one} was replayed twice`
      ),
      ...twice(missed.map((row) => `${row.event_id} for ${row.endpoint_id}`)).map(
        (one) => `${one} was made up for twice`
      )
    ]
  }
}

/** An order that was repeated until it was answered started one job. */
const oneJobForEachOrder = ({ jobs, log }: Replayed): Judgement => {
  const answered = new Set(jobs.map(({ id }) => id))
  const started = log
    .filter(({ kind, old }) => kind === "replay" && old === null)
    .map(({ new: row }) => row!.id as string)
  return {
    cases: jobs.length,
    violations: [
      ...started.filter((id) => !answered.has(id)).map((id) => `${id} was started and not answered`),
      ...[...answered].filter((id) => !started.includes(id)).map((id) => `${id} was answered and not started`)
    ]
  }
}

/** Sources of this endpoint that retention took away: a job that comes later finds nothing of them. */
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

/** What the job says of itself is what the database made; it ends, unless its endpoint is off. */
const jobsEnd = ({ jobs, log, rows }: Replayed): Judgement => {
  const made = new Map<string, number>()
  for (const { new: row } of madeByJobs(log)) {
    const id = row!.replay_id as string
    made.set(id, (made.get(id) ?? 0) + 1)
  }
  const cancelled = new Set(jobs.flatMap((job) => (job.cancelled ? [job.id] : [])))
  const gone = goneFor(log)
  const problemsOf = ({ enabled, endpoint_id, failed, id, matched, replayed, state }: ReplayRow) => {
    const counted = made.get(id) ?? 0
    return [
      ...(replayed === counted ? [] : [`${id} says that it replayed ${replayed}; there are ${counted}`]),
      ...(state === "running" && enabled ? [`${id} of ${endpoint_id} is still running`] : []),
      ...(state === "cancelled" && !cancelled.has(id) ? [`${id} is cancelled, and nobody did that`] : []),
      ...(state === "done" && replayed + failed !== matched
        ? [`${id} is done with ${replayed} and ${failed} of ${matched}`]
        : []),
      ...(state === "done" && failed > (gone.get(endpoint_id) ?? 0)
        ? [
            `${id} of ${endpoint_id} found ${failed} sources gone, of which ${gone.get(endpoint_id) ?? 0} were taken away`
          ]
        : [])
    ]
  }
  return { cases: rows.length, violations: rows.flatMap(problemsOf) }
}

/** Each replay has its audit event, and that is of the same transaction. */
const replaysAreAudited = ({ log }: Replayed): Judgement => {
  const audited = new Map<string, ReadonlyArray<string>>()
  for (const { kind, new: row, xid } of log)
    if (kind === "audit" && row!.action === "webhook.delivery_replayed")
      audited.set(row!.target_id as string, [...(audited.get(row!.target_id as string) ?? []), xid])
  const made = madeByJobs(log)
  return {
    cases: made.length,
    violations: made.flatMap(({ new: row, xid }) => {
      const id = row!.id as string
      const told = audited.get(id) ?? []
      return told.length === 1 && told[0] === xid
        ? []
        : [`${id} has ${told.length} audit events, not one of its own transaction`]
    })
  }
}

/** Once a job is cancelled, it makes nothing more. */
const cancelledMeansOver = ({ jobs, log }: Replayed): Judgement => {
  const ended = new Map<string, number>()
  for (const { commit, kind, new: row } of log)
    if (kind === "replay" && row?.state === "cancelled") ended.set(row.id as string, commit)
  const late = madeByJobs(log).filter(
    ({ commit, new: row }) => commit > (ended.get(row!.replay_id as string) ?? commit)
  )
  return {
    cases: jobs.filter(({ cancelled }) => cancelled).length,
    violations: late.map(
      ({ new: row }) => `${row!.id} was made by ${row!.replay_id} after that was cancelled`
    )
  }
}

export const replayLaws = (
  replayed: Replayed
): Readonly<Record<string, Judgement & { readonly of: string }>> => ({
  "R1 a job replays each source once": { ...eachSourceOnce(replayed), of: "replays made by jobs" },
  "R2 one job for each order": { ...oneJobForEachOrder(replayed), of: "replay jobs" },
  "R3 a job ends, and adds up": { ...jobsEnd(replayed), of: "replay jobs" },
  "R4 each replay is in the audit log": { ...replaysAreAudited(replayed), of: "replays made by jobs" },
  "R5 a cancelled job makes nothing more": { ...cancelledMeansOver(replayed), of: "jobs cancelled" }
})
