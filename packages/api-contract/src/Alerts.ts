/** What was told by e-mail and Slack, and what came of it. Source: spec §3.6 and §4. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { AlertCause, AlertKind, AlertState } from "@posthorn/domain/Alerts"
import { Schema } from "effect"
import { TIME } from "./Examples.ts"
import { Id, Integer, NullOr, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { PageOf, pageQuery, Slug, strictRequest } from "./Shapes.ts"

export const ToldAlert = Schema.Struct({
  id: Id("alert"),
  kind: AlertKind.annotations({ description: "How it is sent." }),
  on: AlertCause.annotations({ description: "What happened." }),
  to: Text("The address, or the fingerprint of the Slack URL.", "oncall@example.com"),
  state: AlertState.annotations({
    description: "`failed`: refused for good, tried as often as a delivery, or no longer wanted."
  }),
  attempts: Integer("How often it was tried.", 1),
  lastError: NullOr(Schema.String, "Why the latest attempt failed.", null),
  createdAt: Timestamp,
  sentAt: NullOr(Timestamp, "Null until it is sent.", TIME)
}).annotations({ identifier: "ToldAlert", description: "One message of an alert." })
export type ToldAlert = typeof ToldAlert.Type

const listAlerts = HttpApiEndpoint.get("listAlerts", "/workspaces/:slug/alerts")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(PageOf("ToldAlert", ToldAlert))
  .annotate(OpenApi.Summary, "List what was told by e-mail and Slack")
  .annotate(OpenApi.Description, "Newest first. What is told to whom is set in the workspace's settings.")
  .annotateContext(
    operation({
      permission: "workspace:read",
      bucket: "rest_read",
      tool: "list_alerts",
      toolset: "manage",
      guidance: "To see whether somebody was told; update_workspace_settings says whom to tell."
    })
  )

export class AlertsApi extends HttpApiGroup.make("alerts")
  .add(listAlerts)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Alerts")
  .annotate(OpenApi.Description, "E-mail and Slack for endpoints that fail.") {}
