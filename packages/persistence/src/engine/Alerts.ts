/**
 * Alerts as a worker reads them: notes that it folds into alerts, and alerts that it sends (migrations/0014_alerts.sql). A claim is an
 * attempt that counts; while its lease runs nobody else sends the alert, and only this attempt's outcome is stored.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Alert, AlertCause, AlertKind } from "@posthorn/domain/Alerts"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Array as Arr, Context, Effect, Layer, Schema } from "effect"
import { Bytes, Count, Counted, Id, Time } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"

const Found = Schema.Struct({ workspaceId: Id("workspace") })

const Waiting = Schema.Struct({ workspaceId: Id("workspace"), isDue: Schema.Boolean })
export type Waiting = typeof Waiting.Type

/** What happened in an hour and was not told at once. */
const Digest = Schema.Struct({
  times: Count,
  endpoints: Count,
  /** At most 10. */
  most: Schema.Array(Schema.Struct({ endpointId: Id("endpoint"), times: Count }))
})
export type Digest = typeof Digest.Type

const ClaimedAlert = Schema.Struct({
  workspaceId: Id("workspace"),
  id: Id("alert"),
  kind: AlertKind,
  cause: AlertCause,
  recipient: Schema.String,
  endpointId: Schema.NullOr(Id("endpoint")),
  happenedAt: Time,
  digest: Schema.NullOr(Digest),
  /** With this one. */
  attempts: Count,
  slug: Schema.String,
  name: Schema.String,
  /** As the workspace has them now. */
  alerts: Schema.Array(Alert),
  alertSecrets: Schema.NullOr(Bytes)
})
export type ClaimedAlert = typeof ClaimedAlert.Type

const Named = Schema.Struct({
  id: Id("endpoint"),
  url: Schema.String,
  description: Schema.NullOr(Schema.String)
})
export type NamedEndpoint = typeof Named.Type

const Work = Schema.Struct({ hasWork: Schema.Boolean })

const Settled = Schema.Struct({ settled: Schema.Boolean })

export interface AlertOutcome {
  readonly state: "pending" | "sent" | "failed"
  readonly error: string | null
  /** Until the next attempt. */
  readonly waitMs: number
}

export class Alerts extends Context.Tag("@posthorn/persistence/engine/Alerts")<
  Alerts,
  {
    /** Whether there is anything to fold, to close or to send: three index steps. */
    readonly hasWork: Effect.Effect<boolean, SqlError>
    /** Workspaces with notes, by id, past this one. */
    readonly noted: (past: string, most: number) => Effect.Effect<ReadonlyArray<WorkspaceId>, SqlError>
    /** Returns how many notes were folded. */
    readonly fold: (workspaceId: WorkspaceId, most: number) => Effect.Effect<number, SqlError>
    /** Returns how many hours were closed. */
    readonly close: (most: number) => Effect.Effect<number, SqlError>
    /** Workspaces with alerts that wait, by id, past this one, and whether one of this kind is due. */
    readonly waiting: (
      kind: AlertKind,
      past: string,
      most: number
    ) => Effect.Effect<ReadonlyArray<Waiting>, SqlError>
    /** The longest due alert of each of these workspaces, by id, at most so many. */
    readonly claim: (
      kind: AlertKind,
      workspaces: ReadonlyArray<WorkspaceId>,
      most: number,
      leaseSeconds: number
    ) => Effect.Effect<ReadonlyArray<ClaimedAlert>, SqlError>
    /** False when the attempt's lease ended, and another one was begun. */
    readonly settle: (alert: ClaimedAlert, outcome: AlertOutcome) => Effect.Effect<boolean, SqlError>
    readonly named: (
      workspaceId: WorkspaceId,
      endpointIds: ReadonlyArray<EndpointId>
    ) => Effect.Effect<ReadonlyArray<NamedEndpoint>, SqlError>
  }
>() {}

export const layer: Layer.Layer<Alerts, never, SqlClient.SqlClient> = Layer.effect(
  Alerts,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    hasWork: Effect.map(
      rows(sql, Work)`select posthorn.has_alert_work() as "hasWork"`,
      ([row]) => row!.hasWork
    ),
    noted: (past, most) =>
      Effect.map(
        rows(sql, Found)`select w as "workspaceId" from posthorn.noted_workspaces(${past}, ${most}) as w`,
        Arr.map(({ workspaceId }) => workspaceId)
      ),
    fold: (workspaceId, most) =>
      Effect.map(
        rows(sql, Counted)`select posthorn.fold_alerts(${workspaceId}, ${most}) as n`,
        ([row]) => row!.n
      ),
    close: (most) =>
      Effect.map(rows(sql, Counted)`select posthorn.close_alert_hours(${most}) as n`, ([row]) => row!.n),
    waiting: (kind, past, most) =>
      rows(sql, Waiting)`select workspace_id as "workspaceId", is_due as "isDue"
        from posthorn.alerting_workspaces(${kind}, ${past}, ${most})`,
    claim: (kind, workspaces, most, leaseSeconds) =>
      rows(sql, ClaimedAlert)`
        select workspace_id as "workspaceId", id, kind, cause, recipient, endpoint_id as "endpointId",
          happened_at as "happenedAt", digest, attempts, slug, name, alerts, alert_secrets as "alertSecrets"
        from posthorn.claim_alerts(${kind}, ${workspaces as Array<string>}::text[], ${most}, ${leaseSeconds} * interval '1 second')`,
    settle: ({ attempts, id, workspaceId }, { error, state, waitMs }) =>
      Effect.map(
        rows(
          sql,
          Settled
        )`select posthorn.settle_alert(${workspaceId}, ${id}, ${attempts}, ${state}, ${error},
          ${waitMs} * interval '1 millisecond') as settled`,
        ([row]) => row!.settled
      ),
    named: (workspaceId, endpointIds) =>
      rows(sql, Named)`select id, url, description from posthorn.endpoints
        where workspace_id = ${workspaceId} and id = any (${endpointIds as Array<string>}::text[])`
  }))
)
