/**
 * Writing down what came of attempts, and marking spent deliveries.
 *
 * `record` takes everything that finished since the last call, in the order it finished, and writes it in one
 * transaction. Calling it again with the same observations changes nothing, so a call whose answer was lost is simply
 * repeated. What is written and why: migrations/0003_record.sql. Source: spec §2.3 and §3.1, decision §7.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { AttemptStatus, FailureReason } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer } from "effect"

/** One attempt, judged. Named as the composite type in the database is, which takes it as JSON. */
export interface Observed {
  readonly workspace_id: string
  readonly delivery_id: string
  readonly endpoint_id: string
  readonly generation: number
  readonly ordinal: number
  readonly attempt_id: string
  readonly status: AttemptStatus
  /** When it began. */
  readonly at: string
  readonly duration_ms: number
  readonly http_status: number | null
  readonly failure_reason: FailureReason | null
  /** A JSON object, names in lower case. */
  readonly request_headers: string
  readonly response_body: string | null
  readonly retry_after_ms: number | null
  readonly exhausted: boolean
}

export interface Recorded {
  /** Observations that were the first of their ordinal; the others changed nothing. */
  readonly recorded: number
  readonly deadLettered: number
  /** Endpoints that this call disabled. */
  readonly disabled: ReadonlyArray<string>
  /** What `retry_after_ms` counts from, in microseconds since 1970. */
  readonly moment: number
}

export class Records extends Context.Tag("@posthorn/persistence/Records")<
  Records,
  {
    readonly record: (
      observed: ReadonlyArray<Observed>,
      failureLimit: number
    ) => Effect.Effect<Recorded, SqlError>
    /** The dead-letter consumer: marks up to `batch` spent deliveries terminal; gives how many. */
    readonly bury: (batch: number) => Effect.Effect<number, SqlError>
  }
>() {}

export const layer: Layer.Layer<Records, never, SqlClient.SqlClient> = Layer.effect(
  Records,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    record: (observed, failureLimit) =>
      Effect.map(
        sql<Recorded>`select recorded, dead_lettered as "deadLettered", disabled, moment_micros as moment
          from posthorn.record(array(
            select o from json_populate_recordset(null::posthorn.observation, ${JSON.stringify(observed)}::json) as o
          ), ${failureLimit})`,
        ([row]) => row!
      ),
    bury: (batch) =>
      Effect.map(sql<{ buried: number }>`select posthorn.bury(${batch}) as buried`, ([row]) => row!.buried)
  }))
)
