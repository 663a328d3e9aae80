/**
 * Writing down what came of attempts, and marking spent deliveries.
 *
 * `record` takes everything that finished since the last call, in the order it finished, and writes it in one
 * transaction. Calling it again with the same observations changes nothing, so a call whose answer was lost is simply
 * repeated. What is written and why: migrations/0003_record.sql. Source: spec §2.3, §3.1 and §3.4.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { AttemptId, DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { DisabledReason } from "@posthorn/domain/States"
import type { AttemptStatus, Disables, FailureReason } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { Prepared, plain, layer as prepared, quoted, statement } from "../client/Prepared.ts"
import { rows } from "../client/Rows.ts"
import type { LaneRef } from "./internal/DueRows.ts"
import { policyOf, type VersionedPolicy } from "./internal/Policies.ts"

export type { VersionedPolicy } from "./internal/Policies.ts"

/** One attempt, judged. */
export interface Observed {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly generation: number
  readonly ordinal: number
  readonly attemptId: AttemptId
  readonly status: AttemptStatus
  /** When it began, in milliseconds since 1970; its seconds are what was signed. */
  readonly at: number
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  /** The value of `webhook-signature`; null when no request was made, or when what was sent shall not be kept. */
  readonly signature: string | null
  readonly responseBody: string | null
  /** Where it was sent. */
  readonly url: string
  /** A JSON object; null for none. */
  readonly responseHeaders: string | null
  readonly retryAfterMs: number | null
  readonly exhausted: boolean
  /** Null when it was delivered. */
  readonly disables: Disables | null
  /** Of the policy by which it was judged. */
  readonly policyVersion: string
}

/** An endpoint that was disabled, and why. */
export interface Disabled {
  readonly endpointId: string
  readonly reason: DisabledReason
}

export interface Recorded {
  /** Observations that were the first of their ordinal; the others changed nothing. */
  readonly recorded: number
  readonly deadLettered: number
  /** Endpoints that this call disabled. */
  readonly disabled: ReadonlyArray<Disabled>
  /** Endpoints whose policy was changed since their failures were judged: nothing of theirs is stored, and all of it is to be judged again. */
  readonly changed: ReadonlySet<string>
  /**
   * Places of the observations that are not on record, because another one was first or nothing was waited for any more. The
   * others are, be it by this call or by an earlier one whose answer was lost.
   */
  readonly tooLate: ReadonlyArray<number>
  /** What `retryAfterMs` counts from, in microseconds since 1970. */
  readonly moment: number
}

const Policy = Schema.Struct({
  place: Count,
  policy: Schema.NullOr(Schema.String),
  workspacePolicy: Schema.NullOr(Schema.String),
  version: Schema.String
})

/** Dead letters that were processed, and those of them whose deliveries were still to be given up. */
const DeadLettered = Schema.Struct({ processed: Count, marked: Count })
export type DeadLettered = typeof DeadLettered.Type

export class Records extends Context.Tag("@posthorn/persistence/engine/Records")<
  Records,
  {
    /** Each delivery at most once. `fixedHeaders` is a JSON object: what every request carried besides the four headers of its own. */
    readonly record: (
      observed: ReadonlyArray<Observed>,
      fixedHeaders: string
    ) => Effect.Effect<Recorded, SqlError>
    /** The policies that hold for these endpoints now, in the order asked; null for what is gone. */
    readonly policies: (
      endpoints: ReadonlyArray<LaneRef>
    ) => Effect.Effect<ReadonlyArray<VersionedPolicy | null>, SqlError>
    /** Endpoints of which `record` would have to wait for a row that somebody holds. Waits for nothing itself. */
    readonly held: (observed: ReadonlyArray<Observed>) => Effect.Effect<ReadonlySet<string>, SqlError>
    /** The dead-letter consumer: looks at up to `batch` spent deliveries and marks them terminal. */
    readonly deadLetter: (batch: number) => Effect.Effect<DeadLettered, SqlError>
  }
>() {}

/** The places of the observations, in the order in which rows are locked. */
const inOrder = (observed: ReadonlyArray<Observed>): ReadonlyArray<number> => {
  const ids = observed.map(({ deliveryId }) => deliveryId)
  return [...ids.keys()].sort((a, b) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : 0))
}

/** The parameters of `posthorn.record` that are lists, by their names: none can take another's place. */
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
  // Base64 and its commas: nothing to escape.
  signatures: (observed) => plain(observed, ({ signature }) => signature && `"${signature}"`),
  response_bodies: (observed) => quoted(observed, (one) => one.responseBody),
  retry_afters: (observed) => plain(observed, (one) => one.retryAfterMs),
  exhausteds: (observed) => plain(observed, (one) => one.exhausted),
  urls: (observed) => quoted(observed, (one) => one.url),
  response_headers: (observed) => quoted(observed, (one) => one.responseHeaders),
  policies: (observed) => plain(observed, (one) => one.policyVersion),
  failure_limits: (observed) =>
    plain(observed, ({ disables }) => (disables?.kind === "failures" ? disables.count : null)),
  failing_fors: (observed) =>
    plain(observed, ({ disables }) => (disables?.kind === "failing_for" ? disables.seconds : null)),
  gones: (observed) => plain(observed, ({ disables }) => disables?.kind === "gone")
}

const PARAMETERS = [...Object.keys(LISTS), "arrivals", "fixed_headers"]
const RECORD = statement(
  `posthorn.record(${PARAMETERS.map((name, n) => `${name} => $${n + 1}`).join(", ")})`,
  [
    ["recorded", Count],
    ["dead_lettered", Count],
    ["disabled", Schema.Array(Id("endpoint"))],
    ["disabled_reasons", Schema.Array(DisabledReason)],
    ["changed", Schema.Array(Id("endpoint"))],
    ["too_late", Schema.Array(Count)],
    ["moment_micros", Count]
  ]
)
const HELD = statement("posthorn.held($1, $2, $3, $4)", [["held", Id("endpoint")]])

/** The call of `posthorn.record`, for whoever makes it in a transaction of their own. */
export const recording = (observed: ReadonlyArray<Observed>, fixedHeaders: string) => {
  const arrivals = inOrder(observed)
  const ordered = arrivals.map((n) => observed[n]!)
  const lists = Object.values(LISTS).map((list) => list(ordered))
  return { text: RECORD.text, values: [...lists, plain(arrivals, (n) => n), fixedHeaders] }
}

export const layer: Layer.Layer<Records, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* Prepared
    return {
      record: (observed, fixedHeaders) => {
        const { values } = recording(observed, fixedHeaders)
        return Effect.map(run(RECORD, values), ([row]): Recorded => {
          const [recorded, deadLettered, disabled, reasons, changed, tooLate, moment] = row!
          return {
            recorded,
            deadLettered,
            disabled: disabled.map((endpointId, n) => ({ endpointId, reason: reasons[n]! })),
            changed: new Set(changed),
            tooLate,
            moment
          }
        })
      },
      policies: (endpoints) =>
        Effect.map(
          rows(
            sql,
            Policy
          )`select asked.place::integer - 1 as place, e.policy::text as policy, w.policy::text as "workspacePolicy",
              posthorn.policy_version(e.policy, w.policy)::text as version
            from unnest(${endpoints.map((one) => one.workspaceId)}::text[], ${endpoints.map((one) => one.endpointId)}::text[])
              with ordinality as asked(workspace_id, endpoint_id, place)
            join posthorn.endpoints e on e.workspace_id = asked.workspace_id and e.id = asked.endpoint_id
            join posthorn.workspaces w on w.id = e.workspace_id`,
          (found) => {
            const policies: Array<VersionedPolicy | null> = new Array(endpoints.length).fill(null)
            for (const { place, policy, version, workspacePolicy } of found)
              policies[place] = policyOf(policy, workspacePolicy, version)
            return policies
          }
        ),
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
          rows(sql, DeadLettered)`select processed, marked from posthorn.dead_letter(${batch})`,
          ([row]) => row!
        )
    }
  })
).pipe(Layer.provide(prepared))
