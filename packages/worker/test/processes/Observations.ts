/** Observations as a worker hands them to `posthorn.record`, and a way to see that a connection waits for a lock. */
import * as SqlClient from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { FAILURE_LIMIT } from "@posthorn/domain/Verdict"
import { type Observed, Records } from "@posthorn/persistence/Records"
import { problemOf } from "@posthorn/persistence/Statement"
import { Effect } from "effect"
import type { Workspace } from "../Setting.ts"
import { within } from "./Story.ts"

export interface About {
  readonly deliveryId: string
  readonly endpointId: string
  readonly status?: Observed["status"]
  readonly ordinal?: number
  readonly generation?: number
  readonly exhausted?: boolean
}

const LOCK_NOT_AVAILABLE = "55P03"

const CODES = { delivered: 200, failed: 500, failed_permanent: 404 } as const

export const observed = ({ id }: Workspace, about: About): Observed => {
  const { endpointId, deliveryId, status = "failed", ordinal = 1, generation = 0, exhausted = false } = about
  return {
    workspace_id: id,
    delivery_id: deliveryId,
    endpoint_id: endpointId,
    generation,
    ordinal,
    attempt_id: newId("attempt"),
    status,
    at: new Date().toISOString(),
    duration_ms: 1,
    http_status: CODES[status],
    failure_reason: status === "delivered" ? null : "http_status",
    request_headers: "{}",
    response_body: null,
    retry_after_ms: status === "failed" && !exhausted ? 3_600_000 : null,
    exhausted
  }
}

/** As a worker does: a call that gave up waiting for a lock is made again. */
export const record = (where: Workspace, ...about: ReadonlyArray<About>) => {
  const observations = about.map((one) => observed(where, one))
  return Effect.flatMap(Records, (records) => records.record(observations, FAILURE_LIMIT)).pipe(
    Effect.retry({ times: 20, while: (error) => problemOf(error).code === LOCK_NOT_AVAILABLE })
  )
}

/** Until so many connections of this database stand in line for a lock. */
export const waitingForLocks = (count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    within(
      10,
      sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      (rows) => rows.length >= count
    )
  )
