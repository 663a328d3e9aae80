/** Laws of retention while everything else goes on. Source: spec §8 and §3.4 (Retention). */
import type { Logged } from "./ChangeHistory.ts"
import { type Judgement, judgeEach, type NamedJudgement } from "./Judgement.ts"
import type { RetentionRun } from "./RetentionRuns.ts"

const TERMINAL = new Set(["delivered", "failed_permanent", "dead_lettered"])

/**
 * Deliveries that were removed without their endpoint. Deleting an endpoint removes its history step by step, each in a
 * transaction of its own.
 */
export const removedByRetention = (log: ReadonlyArray<Logged>): ReadonlyArray<Logged> => {
  const deleted = new Set(
    log.flatMap(({ kind, new: now, old }) => (kind === "endpoint" && now === null ? [old!.id as string] : []))
  )
  return log.filter(({ kind, old }) => kind === "removed" && !deleted.has(old!.endpoint_id as string))
}

/** Whether the endpoint was disabled then. */
const wasDisabled = (log: ReadonlyArray<Logged>, endpointId: unknown, moment: number) =>
  log.findLast(({ at, kind, new: now }) => kind === "endpoint" && at <= moment && now?.id === endpointId)?.new
    ?.enabled === false

/** Removes nothing younger than the cut-off, nothing that waits at an enabled endpoint, and no dead letter that was not announced. */
const onlyTheOldAndEnded = (log: ReadonlyArray<Logged>, runs: ReadonlyArray<RetentionRun>): NamedJudgement =>
  judgeEach("deliveries removed", removedByRetention(log), ({ at, old }) => {
    const running = runs.filter(({ from, to }) => from <= at && at <= to)
    const kept = Math.min(...running.map(({ keptMs }) => keptMs))
    const age = at - Date.parse(old!.created_at as string)
    if (!TERMINAL.has(old!.status as string) && !wasDisabled(log, old!.endpoint_id, at))
      return `${old!.id} was removed while it was ${old!.status}`
    // Kept for whole seconds.
    const tooYoung = age < Math.floor(kept / 1_000) * 1_000
    return (
      tooYoung && `${old!.id} was removed at the age of ${Math.round(age)} ms; kept are ${Math.round(kept)}`
    )
  })

/** Inconsistencies in what remains, each with the statement that finds it. */
export const NOT_WHOLE = {
  "its event is gone, and the payload with it": `
    select d.id from posthorn.deliveries d where d.event_id is not null and not exists (
      select from posthorn.events e where e.workspace_id = d.workspace_id and e.id = d.event_id)`,
  "a missed event is gone": `
    select m.event_id as id from posthorn.missed_events m where not exists (
      select from posthorn.events e where e.workspace_id = m.workspace_id and e.id = m.event_id)`,
  "an attempt without its delivery": `
    select a.id from posthorn.attempts a where not exists (
      select from posthorn.deliveries d where d.workspace_id = a.workspace_id and d.id = a.delivery_id)`,
  "not among the failures, or among them as something else": `
    select coalesce(d.id, f.delivery_id) as id
    from (select * from posthorn.deliveries where status in ('failed', 'failed_permanent', 'dead_lettered')) d
    full join posthorn.failed_deliveries f on f.workspace_id = d.workspace_id and f.endpoint_id = d.endpoint_id
      and f.created_at = d.created_at and f.delivery_id = d.id
    where d.status is distinct from f.status`
}

interface Remaining {
  readonly log: ReadonlyArray<Logged>
  readonly runs: ReadonlyArray<RetentionRun>
  readonly deliveries: number
  readonly notWhole: ReadonlyArray<string>
  /** After a last run that keeps nothing: the number of removed deliveries, and those that were wrongly kept or removed. */
  readonly last: Judgement
}

export const retentionLaws = ({ deliveries, last, log, notWhole, runs }: Remaining) => ({
  "T1 only the old and ended is removed": onlyTheOldAndEnded(log, runs),
  "T2 what remains is whole": { cases: deliveries, violations: notWhole, of: "deliveries that remain" },
  "T3 what is old and ended goes": { ...last, of: "deliveries removed in the end" }
})
