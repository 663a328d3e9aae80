/** Helpers for the scenarios of replays: failed deliveries, jobs, and their steps. */
import assert from "node:assert/strict"
import { newId } from "@posthorn/domain/Ids"
import type { Delivery, Session, Stage } from "./Stage.ts"

export interface Job {
  readonly workspace: string
  readonly endpoint: string
  readonly id?: string
  readonly statuses?: ReadonlyArray<string>
  readonly since?: string
  readonly until?: string | null
  readonly missed?: boolean
  readonly unsent?: boolean
  readonly matched?: number
  readonly recovered?: boolean
  readonly tests?: boolean
}

/** An endpoint with deliveries that failed for good, one day apart from 1 January 2026 on. */
export const failing = async (stage: Stage, count: number, type = "a") => {
  const acme = await stage.workspace()
  const endpoint = await stage.endpoint(acme, { types: [type] })
  const deliveries = await stage.deliveries(acme, "acme", count, type)
  await refuse(stage, deliveries)
  await stage.rows("delete from posthorn.queue")
  return { acme, endpoint, deliveries }
}

export const refuse = async (stage: Stage, deliveries: ReadonlyArray<Delivery>) => {
  for (const [n, { id }] of deliveries.entries())
    await stage.rows(
      `update posthorn.deliveries set status = 'failed_permanent', created_at = timestamptz '2026-01-01' + $2 * interval '1 day'
       where id = $1`,
      id,
      n
    )
}

/** An endpoint that missed a number of events and was enabled afterwards. */
export const missing = async (stage: Stage, workspace: string, count: number) => {
  const endpoint = await stage.endpoint(workspace, { types: ["m"], enabled: false })
  const events: Array<string> = []
  for (let n = 0; n < count; n++) events.push((await stage.publish("acme", "m")).id as string)
  await stage.rows(
    "update posthorn.missed_events m set created_at = timestamptz '2026-01-01' + (array_position($1::text[], event_id::text) - 1) * interval '1 day'",
    events
  )
  await stage.rows(
    "update posthorn.endpoints set enabled = true, disabled_reason = null where id = $1",
    endpoint
  )
  return { endpoint, events }
}

export const start = async (
  stage: Stage,
  {
    endpoint,
    id = newId("replay"),
    missed = false,
    recovered = false,
    tests = false,
    unsent = false,
    matched = 100,
    since = "2026-01-01",
    statuses = ["failed_permanent"],
    until = null,
    workspace
  }: Job
) => {
  await stage.rows(
    `insert into posthorn.replays (workspace_id, id, endpoint_id, shard, statuses, since, until, include_missed,
       include_recovered, include_tests, matched, missed, recovered, under_way, tests, actor_type, actor_id, via, trace_id,
       include_unsent, unsent_since, event_types, filter_path, filter_program)
     select $1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $11, 0, 0, 0, 0, 'operator', 'operator', 'rest', 'trace',
       $10, $5, event_types, filter_path, filter_program
     from posthorn.endpoints where workspace_id = $1 and id = $3`,
    workspace,
    id,
    endpoint,
    statuses,
    since,
    until,
    missed,
    recovered,
    tests,
    unsent,
    matched
  )
  return id
}

/** The outcome of a step, and the number of replays that it made. */
export const step = async (
  stage: Stage,
  workspace: string,
  job: string,
  { batch = 100, by = stage as Session, room = 100 } = {}
) => {
  const { made, outcome } = await by.row(
    "select outcome, made from posthorn.replay_step($1, $2, $3, $4)",
    workspace,
    job,
    batch,
    room
  )
  return [outcome, made] as const
}

/** The total until the job has ended; a job that never ends is an error. */
export const whole = async (stage: Stage, workspace: string, job: string, batch = 100) => {
  for (let total = 0, n = 0; n < 20; n++) {
    const [outcome, made] = await step(stage, workspace, job, { batch })
    total += Number(made)
    if (outcome === "finished") return total
  }
  return assert.fail("the job does not end")
}

/** The sources of replays: a delivery's id, or the id of a missed event. */
export const replayed = async (stage: Stage, workspace: string) =>
  (
    await stage.rows(
      `select coalesce(replayed_from, event_id) as source from posthorn.deliveries
       where workspace_id = $1 and trace_id = 'trace' order by id`,
      workspace
    )
  ).map(({ source }) => source)

export const ids = (deliveries: ReadonlyArray<Delivery>) => deliveries.map(({ id }) => id)
