/** What holds for all endpoints of a workspace that say nothing else. Source: spec §4.3. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SentAlert } from "@posthorn/domain/Alerts"
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  type WorkspaceSettings as Shown,
  WorkspacesRepo
} from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { AlertSettings } from "./AlertSettings.ts"
import { changedFields, pick, type Sent } from "./Changes.ts"
import { transactional } from "./Transaction.ts"

interface SentSettings {
  readonly policy?: DeliveryPolicy | null | undefined
  readonly alerts?: ReadonlyArray<SentAlert> | undefined
}

export class WorkspaceSettings extends Effect.Service<WorkspaceSettings>()(
  "@posthorn/capabilities/WorkspaceSettings",
  {
    dependencies: [AlertSettings.Default, AuditEventsRepo.Default, WorkspacesRepo.Default],
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const alertSettings = yield* AlertSettings
      const audit = yield* AuditEventsRepo
      const workspaces = yield* WorkspacesRepo

      /** Whom the workspace tells is nothing of an endpoint: a caller that has only some of them sees none of it. */
      const get = CurrentPrincipal.pipe(
        Effect.flatMap(({ endpointIds, workspaceId }) =>
          Effect.map(workspaces.settings(workspaceId), (found) =>
            endpointIds === null ? found : { ...found, alerts: [] }
          )
        ),
        Effect.withSpan("WorkspaceSettings.get")
      )

      const update = (sent: SentSettings) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const { workspaceId } = principal
          const { alertSecrets, ...present } = yield* workspaces.settingsForUpdate(workspaceId)
          const next =
            sent.alerts === undefined
              ? { alertSecrets }
              : yield* alertSettings.next(workspaceId, alertSecrets, sent.alerts)
          const resolved: Sent<Shown> = {
            policy: sent.policy,
            ...("alerts" in next && { alerts: next.alerts })
          }
          const fields = changedFields(present, resolved)
          if (fields.length === 0) return present
          const settings: Shown = Object.assign({ ...present }, pick(resolved, fields))
          yield* workspaces.updateSettings(workspaceId, { ...settings, alertSecrets: next.alertSecrets })
          yield* audit.append(principal, "workspace.settings_updated", ["workspace", workspaceId], {
            fields,
            from: pick(present, fields),
            to: pick(resolved, fields)
          })
          return settings
        }).pipe(transactional(sql), Effect.withSpan("WorkspaceSettings.update"))

      return { get, update } as const
    })
  }
) {}
