/** Observations as a worker passes them to `posthorn.record`, and a way to see that a connection waits for a lock. */
import * as SqlClient from "@effect/sql/SqlClient"
import { FAILURE_LIMIT } from "@posthorn/domain/DeliveryPolicy"
import { newId } from "@posthorn/domain/Ids"
import { sqlProblemOf } from "@posthorn/persistence/client/Statement"
import { type Observed, Records, recording } from "@posthorn/persistence/engine/Records"
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
const SERIALIZATION_FAILURE = "40001"

const CODES = { delivered: 200, failed: 500, failed_permanent: 404 } as const

export const observed = ({ id }: Workspace, about: About): Observed => {
  const { endpointId, deliveryId, status = "failed", ordinal = 1, generation = 0, exhausted = false } = about
  return {
    workspaceId: id,
    deliveryId,
    endpointId,
    generation,
    ordinal,
    attemptId: newId("attempt"),
    status,
    at: Date.now(),
    durationMs: 1,
    httpStatus: CODES[status],
    failureReason: status === "delivered" ? null : "http_status",
    failureDetail: null,
    signature: null,
    requestHeaders: null,
    responseBody: null,
    url: "https://example.com/",
    responseHeaders: null,
    rateLimited: false,
    waitMs: status === "failed" && !exhausted ? 3_600_000 : null,
    exhausted,
    disables: status === "delivered" ? null : { kind: "failures", count: FAILURE_LIMIT },
    policyVersion: "0"
  }
}

/** Like a worker: repeats a call that gave up waiting for a lock, or met a deadlock. */
export const record = (where: Workspace, ...about: ReadonlyArray<About>) => {
  const observations = about.map((one) => observed(where, one))
  return Effect.flatMap(Records, (records) => records.record(observations, "{}")).pipe(
    Effect.retry({
      times: 20,
      while: (error) => [LOCK_NOT_AVAILABLE, SERIALIZATION_FAILURE].includes(sqlProblemOf(error).code ?? "")
    })
  )
}

/** The same within the current transaction. */
export const recordHere = (where: Workspace, ...about: ReadonlyArray<About>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const { text, values } = recording(
      about.map((one) => observed(where, one)),
      "{}"
    )
    return sql.unsafe(text, values)
  })

/** Waits until this many connections of the database wait for a lock. */
export const waitingForLocks = (count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    within(
      10,
      sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      (rows) => rows.length >= count
    )
  )
