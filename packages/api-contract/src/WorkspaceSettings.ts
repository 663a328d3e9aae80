/** What holds for all endpoints of a workspace that say nothing else. Source: spec §4.3. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { ALERTS_MOST, Alert, SentAlert } from "@posthorn/domain/Alerts"
import { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { EmailNotConfigured } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { PolicyOrNull } from "./EndpointShapes.ts"
import { NullOr } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Slug, strictRequest } from "./Shapes.ts"

export const WorkspaceSettings = Schema.Struct({
  policy: NullOr(
    DeliveryPolicy,
    "The delivery policy of its endpoints; null when all of it is the default.",
    null
  ),
  alerts: Schema.Array(Alert).annotations({
    description: "Whom to tell what, by e-mail or Slack.",
    examples: [[]]
  })
}).annotations({
  identifier: "WorkspaceSettings",
  description: "What holds for all endpoints of the workspace that say nothing else."
})
export type WorkspaceSettings = typeof WorkspaceSettings.Type

const UpdateWorkspaceSettings = Schema.Struct({
  policy: Schema.optional(PolicyOrNull),
  alerts: Schema.optional(
    Schema.Array(SentAlert)
      .pipe(Schema.maxItems(ALERTS_MOST))
      .annotations({ description: "Whom to tell what, at most 10; replaced whole.", examples: [[]] })
  )
}).annotations({
  identifier: "UpdateWorkspaceSettings",
  examples: [{ policy: { retries: { kind: "patient" } } }]
})

const inWorkspace = Schema.Struct({ slug: Slug })

const getWorkspaceSettings = HttpApiEndpoint.get("getWorkspaceSettings", "/workspaces/:slug/settings")
  .setPath(inWorkspace)
  .addSuccess(WorkspaceSettings)
  .annotate(OpenApi.Summary, "Get the workspace's settings")
  .annotate(OpenApi.Description, "An endpoint's `effectivePolicy` shows what they come to there.")
  .annotateContext(
    operation({
      permission: "workspace:read",
      bucket: "rest_read",
      tool: "get_workspace_settings",
      toolset: "manage",
      guidance:
        "To learn what holds for one endpoint, call get_webhook_endpoint: its effectivePolicy has every member."
    })
  )

const updateWorkspaceSettings = HttpApiEndpoint.patch("updateWorkspaceSettings", "/workspaces/:slug/settings")
  .setPath(inWorkspace)
  .setPayload(strictRequest(UpdateWorkspaceSettings))
  .addSuccess(WorkspaceSettings)
  .addError(failure(EmailNotConfigured))
  .annotate(OpenApi.Summary, "Update the workspace's settings")
  .annotate(
    OpenApi.Description,
    "`policy` and `alerts` are replaced whole. A policy holds for attempts begun or recorded from now on; times that are set stay. A Slack alert's `url` is never shown: send back its `fingerprint`."
  )
  .annotateContext(
    operation({
      permission: "workspace:update",
      bucket: "rest_write",
      tool: "update_workspace_settings",
      toolset: "manage",
      guidance:
        "It concerns every endpoint without a policy of its own: for one, use update_webhook_endpoint.",
      destructive: true,
      idempotent: true
    })
  )

export class WorkspaceSettingsApi extends HttpApiGroup.make("workspaceSettings")
  .add(getWorkspaceSettings)
  .add(updateWorkspaceSettings)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Settings")
  .annotate(OpenApi.Description, "What holds for all endpoints of a workspace that say nothing else.") {}
