/** Sealed signing secrets, for one endpoint and for re-encryption; and the sealed Slack URLs of alerts. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Effect, Schema } from "effect"
import { Bytes, Id, Time } from "../client/internal/Columns.ts"
import { all, first, hasRow } from "../client/Query.ts"

const Secrets = Schema.Struct({ secret: Bytes, previousSecret: Schema.NullOr(Bytes) })

export const Sealed = Schema.Struct({ ...Secrets.fields, requestSecrets: Schema.NullOr(Bytes) })
export type Sealed = typeof Sealed.Type

export const SealedRow = Schema.Struct({
  workspaceId: Id("workspace"),
  endpointId: Id("endpoint"),
  ...Sealed.fields
})
export type SealedRow = typeof SealedRow.Type

const SealedAlerts = Schema.Struct({ workspaceId: Id("workspace"), alertSecrets: Bytes })
export type SealedAlerts = typeof SealedAlerts.Type

const Present = Schema.Struct({ ...Secrets.fields, previousSecretExpiresAt: Schema.NullOr(Time) })

export class SecretsRepo extends Effect.Service<SecretsRepo>()(
  "@posthorn/persistence/operations/SecretsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** The previous one even after its grace window. */
      const find = (workspaceId: WorkspaceId, endpointId: EndpointId) =>
        first(sql, Present)`
        select secret, previous_secret as "previousSecret", previous_secret_expires_at as "previousSecretExpiresAt"
        from posthorn.endpoints where workspace_id = ${workspaceId} and id = ${endpointId}`

      const after = (past: Pick<SealedRow, "workspaceId" | "endpointId">, most: number) =>
        all(sql, SealedRow)`
        select workspace_id as "workspaceId", id as "endpointId", secret, previous_secret as "previousSecret",
          request_secrets as "requestSecrets"
        from posthorn.endpoints where (workspace_id, id) > (${past.workspaceId}, ${past.endpointId})
        order by workspace_id, id limit ${most}`

      /** False when the row has changed since it was read: whoever changed it has sealed with their own key. */
      const replace = (old: SealedRow, { previousSecret, requestSecrets, secret }: Sealed) =>
        hasRow(sql)`update posthorn.endpoints
        set secret = ${secret}, previous_secret = ${previousSecret}, request_secrets = ${requestSecrets}
        where workspace_id = ${old.workspaceId} and id = ${old.endpointId} and secret = ${old.secret}
          and previous_secret is not distinct from ${old.previousSecret}
          and request_secrets is not distinct from ${old.requestSecrets}
        returning 1`

      const alertsAfter = (past: string, most: number) =>
        all(sql, SealedAlerts)`
        select id as "workspaceId", alert_secrets as "alertSecrets" from posthorn.workspaces
        where id > ${past} and alert_secrets is not null order by id limit ${most}`

      const replaceAlerts = ({ alertSecrets, workspaceId }: SealedAlerts, sealed: Buffer) =>
        hasRow(sql)`update posthorn.workspaces set alert_secrets = ${sealed}
        where id = ${workspaceId} and alert_secrets = ${alertSecrets} returning 1`

      return { after, alertsAfter, find, replace, replaceAlerts } as const
    })
  }
) {}
