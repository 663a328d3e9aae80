/**
 * Records attempts, and marks dead-lettered deliveries.
 *
 * `record` takes all observations since the last call, in the order in which they finished, and stores them in one transaction.
 * Repeating it with the same observations changes nothing, so a call whose answer was lost is simply repeated. What is stored
 * and why: migrations/0003_record.sql. Source: spec §2.3, §3.1 and §3.4.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { AttemptId, DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import type { AttemptStatus, FailureReason } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { Prepared, plain, layer as prepared, quoted, statement } from "../client/Prepared.ts"
import { rows } from "../client/Rows.ts"

/** One attempt, judged. */
export interface Observed {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly generation: number
  readonly ordinal: number
  readonly attemptId: AttemptId
  readonly status: AttemptStatus
  /** When it began, in milliseconds since 1970; the signed timestamp is this in seconds. */
  readonly at: number
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  /** The value of `webhook-signature`; null if no request was made, or if the evidence is stored bare. */
  readonly signature: string | null
  readonly responseBody: string | null
  /** Where it was sent. */
  readonly url: string
  /** A JSON object; null if there are none. */
  readonly responseHeaders: string | null
  readonly retryAfterMs: number | null
  readonly exhausted: boolean
}

export interface Recorded {
  /** How many observations were the first of their ordinal; the others changed nothing. */
  readonly recorded: number
  readonly deadLettered: number
  /** Endpoints that this call disabled. */
  readonly disabled: ReadonlyArray<string>
  /**
   * Indexes of the observations that were not stored, because another one was first, or the delivery was already over. All
   * others are stored, by this call or by an earlier one whose answer was lost.
   */
  readonly tooLate: ReadonlyArray<number>
  /** The moment from which `retryAfterMs` counts, in microseconds since 1970. */
  readonly moment: number
}

/** How many dead letters were processed, and how many of their deliveries were marked. */
const DeadLettered = Schema.Struct({ looked: Count, marked: Count })
export type DeadLettered = typeof DeadLettered.Type

export class Records extends Context.Tag("@posthorn/persistence/engine/Records")<
  Records,
  {
    /** Each delivery at most once. `fixedHeaders` is a JSON object: the headers of every request besides its own four. */
    readonly record: (
      observed: ReadonlyArray<Observed>,
      fixedHeaders: string,
      failureLimit: number
    ) => Effect.Effect<Recorded, SqlError>
    /** Endpoints with locked rows for which `record` would have to wait. This query itself waits for nothing. */
    readonly held: (observed: ReadonlyArray<Observed>) => Effect.Effect<ReadonlySet<string>, SqlError>
    /** The dead-letter consumer: processes up to `batch` dead letters, and marks their deliveries terminal. */
    readonly deadLetter: (batch: number) => Effect.Effect<DeadLettered, SqlError>
  }
>() {}

/** The indexes of the observations, in the order in which rows are locked. */
const inOrder = (observed: ReadonlyArray<Observed>): ReadonlyArray<number> => {
  const ids = observed.map(({ deliveryId }) => deliveryId)
  return [...ids.keys()].sort((a, b) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : 0))
}

/** The list parameters of `posthorn.record`, by name, so that none can be passed for another. */
const LISTS: Readonly<Record<string, (observed: ReadonlyArray<Observed>) => string>> = {
  workspaces: (observed) => plain(observed, (one) => one.workspaceId),
  deliveries: (observed) => plain(observed, (one) => one.deliveryId),
  endpoints: (observed) => plain(observed, (one) => one.endpointId),
  generations: (observed) => plain(observed, (one) => one.generation),
  ordinals: (observed) => plain(observed, (one) => one.ordinal),
  attempt_ids: (observed) => plain(observed, (one) => one.attemptId),
  statuses: (observed) => plain(observed, (one) => one.status),
  began: (observed) => plain(observed, (one) => one.at),
  durations: (observed) => plain(observed, (one) => one.durationMs),
  http_statuses: (observed) => plain(observed, (one) => one.httpStatus),
  failure_reasons: (observed) => plain(observed, (one) => one.failureReason),
  // Base64 and commas need no escaping.
  signatures: (observed) => plain(observed, ({ signature }) => signature && `"${signature}"`),
  response_bodies: (observed) => quoted(observed, (one) => one.responseBody),
  retry_afters: (observed) => plain(observed, (one) => one.retryAfterMs),
  exhausteds: (observed) => plain(observed, (one) => one.exhausted),
  urls: (observed) => quoted(observed, (one) => one.url),
  response_headers: (observed) => quoted(observed, (one) => one.responseHeaders)
}

const PARAMETERS = [...Object.keys(LISTS), "arrivals", "fixed_headers", "failure_limit"]
const RECORD = statement(
  `posthorn.record(${PARAMETERS.map((name, n) => `${name} => $${n + 1}`).join(", ")})`,
  [
    ["recorded", Count],
    ["dead_lettered", Count],
    ["disabled", Schema.Array(Id("endpoint"))],
    ["too_late", Schema.Array(Count)],
    ["moment_micros", Count]
  ]
)
const HELD = statement("posthorn.held($1, $2, $3, $4)", [["held", Id("endpoint")]])

/** The call of `posthorn.record`, for callers with their own transaction. */
export const recording = (observed: ReadonlyArray<Observed>, fixedHeaders: string, failureLimit: number) => {
  const arrivals = inOrder(observed)
  const ordered = arrivals.map((n) => observed[n]!)
  const lists = Object.values(LISTS).map((list) => list(ordered))
  return { text: RECORD.text, values: [...lists, plain(arrivals, (n) => n), fixedHeaders, failureLimit] }
}

export const layer: Layer.Layer<Records, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* Prepared
    return {
      record: (observed, fixedHeaders, failureLimit) => {
        const { values } = recording(observed, fixedHeaders, failureLimit)
        return Effect.map(run(RECORD, values), ([row]) => {
          const [recorded, deadLettered, disabled, tooLate, moment] = row!
          return { recorded, deadLettered, disabled, tooLate, moment }
        })
      },
      held: (observed) =>
        Effect.map(
          run(HELD, [
            plain(observed, (one) => one.workspaceId),
            plain(observed, (one) => one.deliveryId),
            plain(observed, (one) => one.endpointId),
            plain(observed, (one) => one.status)
          ]),
          (found) => new Set(found.map(([endpointId]) => endpointId))
        ),
      deadLetter: (batch) =>
        Effect.map(
          rows(sql, DeadLettered)`select looked, marked from posthorn.dead_letter(${batch})`,
          ([row]) => row!
        )
    }
  })
).pipe(Layer.provide(prepared))
