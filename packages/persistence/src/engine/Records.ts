/**
 * Stores the outcomes of attempts, and marks deliveries that were given up. `record` writes all that has finished in one
 * transaction; repeating it changes nothing (migrations/0003_record.sql). Source: spec §2.3, §3.1 and §3.4.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { AttemptId, DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { DisabledReason } from "@posthorn/domain/States"
import type { AttemptStatus, Disables, FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import {
  PreparedStatements,
  plain,
  layer as prepared,
  quoted,
  type RowOf,
  statement
} from "../client/PreparedStatements.ts"
import { rows } from "../client/Rows.ts"
import type { LaneRef } from "./internal/DueRows.ts"
import { policyOf, type VersionedPolicy } from "./internal/Policies.ts"

export type { VersionedPolicy } from "./internal/Policies.ts"

export interface Observed {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly generation: number
  readonly ordinal: number
  readonly attemptId: AttemptId
  readonly status: AttemptStatus
  /** Milliseconds since 1970; the signed timestamp has its whole seconds. */
  readonly at: number
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  readonly failureDetail: FailureDetail | null
  /** `webhook-signature` of a request without a profile; else null. */
  readonly signature: string | null
  /** Of a request with a profile, as a JSON object without secrets; else null. */
  readonly requestHeaders: string | null
  readonly responseBody: string | null
  readonly url: string
  /** A JSON object, or null. */
  readonly responseHeaders: string | null
  readonly rateLimited: boolean
  readonly waitMs: number | null
  readonly exhausted: boolean
  /** Null when the attempt was delivered. */
  readonly disables: Disables | null
  readonly policyVersion: string
}

export interface Disabled {
  readonly endpointId: string
  readonly reason: DisabledReason
}

export interface Recorded {
  /** Observations that were the first of their ordinal; others changed nothing. */
  readonly recorded: number
  readonly deadLettered: number
  readonly disabled: ReadonlyArray<Disabled>
  /** Endpoints whose policy was changed since their attempts were judged: nothing of theirs is stored. */
  readonly changed: ReadonlySet<string>
  /** Observations that are not on record: another one was first, or the delivery was not pending. */
  readonly tooLate: ReadonlyArray<number>
  /** The moment from which `waitMs` counts, in microseconds since 1970. */
  readonly moment: number
}

export interface RecordedEach extends Recorded {
  readonly refused: ReadonlyMap<number, string>
}

const Policy = Schema.Struct({
  index: Count,
  policy: Schema.NullOr(Schema.String),
  workspacePolicy: Schema.NullOr(Schema.String),
  version: Schema.String
})

const DeadLettered = Schema.Struct({ processed: Count, marked: Count })
export type DeadLettered = typeof DeadLettered.Type

export class Records extends Context.Tag("@posthorn/persistence/engine/Records")<
  Records,
  {
    /** Each delivery at most once. `fixedHeaders`: a JSON object of the headers that all requests share. */
    readonly record: (
      observed: ReadonlyArray<Observed>,
      fixedHeaders: string
    ) => Effect.Effect<Recorded, SqlError>
    /** After the database has refused a row: records all others. */
    readonly recordEach: (
      observed: ReadonlyArray<Observed>,
      fixedHeaders: string
    ) => Effect.Effect<RecordedEach, SqlError>
    /** In the order of the input; null for an endpoint that is gone. */
    readonly policies: (
      endpoints: ReadonlyArray<LaneRef>
    ) => Effect.Effect<ReadonlyArray<VersionedPolicy | null>, SqlError>
    /** Endpoints with a locked row. Waits for nothing. */
    readonly blocked: (observed: ReadonlyArray<Observed>) => Effect.Effect<ReadonlySet<string>, SqlError>
    readonly deadLetter: (batch: number) => Effect.Effect<DeadLettered, SqlError>
  }
>() {}

const inOrder = (observed: ReadonlyArray<Observed>): ReadonlyArray<number> => {
  const ids = observed.map(({ deliveryId }) => deliveryId)
  return [...ids.keys()].sort((a, b) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : 0))
}

/** By name, so that none can be swapped. */
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
  failure_details: (observed) => plain(observed, (one) => one.failureDetail),
  // Base64 and commas need no escaping.
  signatures: (observed) => plain(observed, ({ signature }) => signature && `"${signature}"`),
  request_headers: (observed) => quoted(observed, (one) => one.requestHeaders),
  response_bodies: (observed) => quoted(observed, (one) => one.responseBody),
  waits: (observed) => plain(observed, (one) => one.waitMs),
  exhausteds: (observed) => plain(observed, (one) => one.exhausted),
  urls: (observed) => quoted(observed, (one) => one.url),
  response_headers: (observed) => quoted(observed, (one) => one.responseHeaders),
  rate_limiteds: (observed) => plain(observed, (one) => one.rateLimited),
  policies: (observed) => plain(observed, (one) => one.policyVersion),
  failure_limits: (observed) =>
    plain(observed, ({ disables }) => (disables?.kind === "failures" ? disables.count : null)),
  failing_fors: (observed) =>
    plain(observed, ({ disables }) => (disables?.kind === "failing_for" ? disables.seconds : null)),
  gones: (observed) => plain(observed, ({ disables }) => disables?.kind === "gone")
}

const PARAMETERS = [...Object.keys(LISTS), "arrivals", "fixed_headers"]
  .map((name, n) => `${name} => $${n + 1}`)
  .join(", ")
const COLUMNS = [
  ["recorded", Count],
  ["dead_lettered", Count],
  ["disabled", Schema.Array(Id("endpoint"))],
  ["disabled_reasons", Schema.Array(DisabledReason)],
  ["changed", Schema.Array(Id("endpoint"))],
  ["too_late", Schema.Array(Count)],
  ["moment_micros", Count]
] as const
const RECORD = statement(`posthorn.record(${PARAMETERS})`, COLUMNS)
export const RECORD_EACH = statement(`posthorn.record_each(${PARAMETERS})`, [
  ...COLUMNS,
  ["refused", Schema.Array(Count)],
  ["refusals", Schema.Array(Schema.String)]
])
const BLOCKED = statement("posthorn.blocked_endpoints($1, $2, $3, $4)", [
  ["blocked_endpoints", Id("endpoint")]
])

export const recording = (observed: ReadonlyArray<Observed>, fixedHeaders: string, by = RECORD.text) => {
  const arrivals = inOrder(observed)
  const ordered = arrivals.map((n) => observed[n]!)
  const lists = Object.values(LISTS).map((list) => list(ordered))
  return { text: by, values: [...lists, plain(arrivals, (n) => n), fixedHeaders] }
}

type Row = RowOf<typeof COLUMNS>

const recordedOf = (row: readonly [...Row, ...ReadonlyArray<unknown>]): Recorded => {
  const [recorded, deadLettered, disabled, reasons, changed, tooLate, moment] = row
  return {
    recorded,
    deadLettered,
    disabled: disabled.map((endpointId, n) => ({ endpointId, reason: reasons[n]! })),
    changed: new Set(changed),
    tooLate,
    moment
  }
}

export const layer: Layer.Layer<Records, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* PreparedStatements
    return {
      record: (observed, fixedHeaders) =>
        Effect.map(run(RECORD, recording(observed, fixedHeaders).values), ([row]) => recordedOf(row!)),
      recordEach: (observed, fixedHeaders) =>
        Effect.map(run(RECORD_EACH, recording(observed, fixedHeaders).values), ([row]) => {
          const [, , , , , , , refused, refusals] = row!
          return { ...recordedOf(row!), refused: new Map(refused.map((index, n) => [index, refusals[n]!])) }
        }),
      policies: (endpoints) =>
        Effect.map(
          rows(
            sql,
            Policy
          )`select asked.index::integer - 1 as index, e.policy::text as policy, w.policy::text as "workspacePolicy",
              posthorn.policy_version(e.policy, w.policy)::text as version
            from unnest(${endpoints.map((one) => one.workspaceId)}::text[], ${endpoints.map((one) => one.endpointId)}::text[])
              with ordinality as asked(workspace_id, endpoint_id, index)
            join posthorn.endpoints e on e.workspace_id = asked.workspace_id and e.id = asked.endpoint_id
            join posthorn.workspaces w on w.id = e.workspace_id`,
          (found) => {
            const policies: Array<VersionedPolicy | null> = new Array(endpoints.length).fill(null)
            for (const { index, policy, version, workspacePolicy } of found)
              policies[index] = policyOf(policy, workspacePolicy, version)
            return policies
          }
        ),
      blocked: (observed) =>
        Effect.map(
          run(BLOCKED, [
            plain(observed, (one) => one.workspaceId),
            plain(observed, (one) => one.deliveryId),
            plain(observed, (one) => one.endpointId),
            plain(observed, (one) => one.status)
          ]),
          (found) => new Set(found.map(([endpointId]) => endpointId))
        ),
      deadLetter: (batch) =>
        Effect.map(
          rows(sql, DeadLettered)`select processed, marked from posthorn.dead_letter(${batch})`,
          ([row]) => row!
        )
    }
  })
).pipe(Layer.provide(prepared))
