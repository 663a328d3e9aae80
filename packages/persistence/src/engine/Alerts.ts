/**
 * Alerts as a worker reads them: notes that it folds into alerts, and alerts that it sends (migrations/0014_alerts.sql). A claim is an
 * attempt that counts; while its lease runs nobody else sends the alert, and only this attempt's outcome is stored.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Alert, AlertCause, AlertKind } from "@posthorn/domain/Alerts"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { Bytes, Count, Counted, Id, Time } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"

const Found = Schema.Struct({ workspaceId: Id("workspace") })

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

export interface AlertOutcome {
  readonly state: "pending" | "sent" | "failed"
  readonly error: string | null
  /** Until the next attempt. */
  readonly waitMs: number
}

export class Alerts extends Context.Tag("@posthorn/persistence/engine/Alerts")<
  Alerts,
  {
    /** Workspaces with notes, by id, past this one. */
    readonly noted: (past: string, most: number) => Effect.Effect<ReadonlyArray<WorkspaceId>, SqlError>
    /** Returns how many notes were folded. */
    readonly fold: (workspaceId: WorkspaceId, most: number) => Effect.Effect<number, SqlError>
    /** Returns how many hours were closed. */
    readonly close: (most: number) => Effect.Effect<number, SqlError>
    /** Workspaces with alerts of this kind that are due, by id, among the next `most` that have any. */
    readonly waiting: (
      kind: AlertKind,
      past: string,
      most: number
    ) => Effect.Effect<ReadonlyArray<WorkspaceId>, SqlError>
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

const ids = Effect.map((found: ReadonlyArray<typeof Found.Type>) =>
  found.map(({ workspaceId }) => workspaceId)
)

export const layer: Layer.Layer<Alerts, never, SqlClient.SqlClient> = Layer.effect(
  Alerts,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    noted: (past, most) =>
      ids(rows(sql, Found)`select w as "workspaceId" from posthorn.noted_workspaces(${past}, ${most}) as w`),
    fold: (workspaceId, most) =>
      Effect.map(
        rows(sql, Counted)`select posthorn.fold_alerts(${workspaceId}, ${most}) as n`,
        ([row]) => row!.n
      ),
    close: (most) =>
      Effect.map(rows(sql, Counted)`select posthorn.close_alert_hours(${most}) as n`, ([row]) => row!.n),
    waiting: (kind, past, most) =>
      ids(
        rows(
          sql,
          Found
        )`select w as "workspaceId" from posthorn.alerting_workspaces(${kind}, ${past}, ${most}) as w`
      ),
    claim: (kind, workspaces, most, leaseSeconds) =>
      rows(sql, ClaimedAlert)`
        with next as materialized (
          select due.workspace_id, due.id from unnest(${workspaces as Array<string>}::text[]) as w(id)
          cross join lateral (
            select a.workspace_id, a.id from posthorn.alerts a
            where a.workspace_id = w.id and a.kind = ${kind} and a.state = 'pending' and a.due_at <= clock_timestamp()
            order by a.due_at limit 1 for update skip locked
          ) due limit ${most}
        ), claimed as (
          update posthorn.alerts a
          set attempts = a.attempts + 1, due_at = clock_timestamp() + ${leaseSeconds} * interval '1 second'
          from next where a.workspace_id = next.workspace_id and a.id = next.id returning a.*
        )
        select c.workspace_id as "workspaceId", c.id, c.kind, c.cause, c.recipient, c.endpoint_id as "endpointId",
          c.happened_at as "happenedAt", c.digest, c.attempts, w.slug, w.name, w.alerts, w.alert_secrets as "alertSecrets"
        from claimed c join posthorn.workspaces w on w.id = c.workspace_id order by c.workspace_id`,
    settle: ({ attempts, id, workspaceId }, { error, state, waitMs }) =>
      Effect.map(
        sql`update posthorn.alerts
          set state = ${state}, last_error = ${error}, sent_at = case ${state} when 'sent' then clock_timestamp() end,
            due_at = clock_timestamp() + ${waitMs} * interval '1 millisecond'
          where workspace_id = ${workspaceId} and id = ${id} and attempts = ${attempts} and state = 'pending' returning 1`,
        (found) => found.length > 0
      ),
    named: (workspaceId, endpointIds) =>
      rows(sql, Named)`select id, url, description from posthorn.endpoints
        where workspace_id = ${workspaceId} and id = any (${endpointIds as Array<string>}::text[])`
  }))
)
