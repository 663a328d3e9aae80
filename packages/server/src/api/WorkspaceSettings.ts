/** What holds for all endpoints of a workspace that say nothing else. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { WorkspaceSettings } from "@posthorn/capabilities/WorkspaceSettings"
import { Effect, Layer } from "effect"

export const workspaceSettingsLive = HttpApiBuilder.group(Api, "workspaceSettings", (handlers) =>
  Effect.map(WorkspaceSettings, (settings) =>
    handlers
      .handle("getWorkspaceSettings", () => settings.get)
      .handle("updateWorkspaceSettings", ({ payload }) => settings.update(payload))
  )
).pipe(Layer.provide(WorkspaceSettings.Default))
