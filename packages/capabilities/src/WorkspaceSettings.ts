/** What holds for all endpoints of a workspace that say nothing else. Source: spec §4.3. */
import * as SqlClient from "@effect/sql/SqlClient"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  type WorkspaceSettings as StoredSettings,
  WorkspacesRepo
} from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { changedFields, pick, type Sent } from "./Changes.ts"
import { transactional } from "./Transaction.ts"

export class WorkspaceSettings extends Effect.Service<WorkspaceSettings>()(
  "@posthorn/capabilities/WorkspaceSettings",
  {
    dependencies: [AuditEventsRepo.Default, WorkspacesRepo.Default],
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* AuditEventsRepo
      const workspaces = yield* WorkspacesRepo

      const get = CurrentPrincipal.pipe(
        Effect.flatMap(({ workspaceId }) => workspaces.settings(workspaceId)),
        Effect.withSpan("WorkspaceSettings.get")
      )

      const update = (sent: Sent<StoredSettings>) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const { workspaceId } = principal
          const present = yield* workspaces.settingsForUpdate(workspaceId)
          const fields = changedFields(present, sent)
          if (fields.length === 0) return present
          const next: StoredSettings = Object.assign({ ...present }, pick(sent, fields))
          yield* workspaces.updateSettings(workspaceId, next)
          yield* audit.append(principal, "workspace.settings_updated", ["workspace", workspaceId], {
            fields,
            from: pick(present, fields),
            to: pick(sent, fields)
          })
          return next
        }).pipe(transactional(sql), Effect.withSpan("WorkspaceSettings.update"))

      return { get, update } as const
    })
  }
) {}
