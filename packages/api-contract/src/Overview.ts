/** A workspace at a glance. Source: spec §4, decision §4. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { HourStats } from "./EndpointStats.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { Integer, Slug } from "./Wire.ts"

export const WorkspaceOverviewDto = Schema.Struct({
  workspace: Schema.Struct({ id: Schema.String, slug: Schema.String, name: Schema.String }),
  endpoints: Schema.Struct({
    total: Integer("All endpoints."),
    enabled: Integer("Those that receive."),
    disabled: Integer("Those that do not.")
  }),
  deliveries: Schema.Struct({
    windowHours: Integer("How many hours back `createdAt` may lie."),
    pending: Integer("Not tried yet."),
    delivered: Integer("Answered 2xx."),
    failed: Integer("Failed so far; will be tried again."),
    failedPermanent: Integer("Refused by the receiver, or the URL was bad."),
    deadLettered: Integer("Retries spent."),
    successRate: Schema.NullOr(Schema.Number).annotations({
      description: "`delivered` divided by all that were tried; null when none was."
    }),
    p50Ms: Schema.NullOr(
      Integer("Half of their last attempts took at most so long; null when there was none.")
    ),
    p95Ms: Schema.NullOr(
      Integer("95 of 100 of their last attempts took at most so long; null when there was none.")
    )
  }).annotations({ description: "Deliveries created in the last 24 hours, by their present status." }),
  hours: Schema.Array(HourStats).annotations({
    description: "The last 24 hours of the clock, oldest first; the last is the present, unfinished one."
  }),
  queue: Schema.Struct({
    waiting: Integer(
      "Deliveries that still have an attempt to come, those of disabled endpoints included. Above 50,000 it may be some seconds old."
    ),
    oldestWaitingSeconds: Schema.NullOr(Integer("Age of the oldest of them; null when nothing waits."))
  }),
  members: Integer("Members of the workspace."),
  apiTokens: Integer("Tokens that are neither revoked nor expired."),
  unreadNotifications: Integer("Notifications nobody has marked as read.")
}).annotations({ identifier: "WorkspaceOverviewDto", description: "A workspace at a glance." })
export type WorkspaceOverviewDto = typeof WorkspaceOverviewDto.Type

const getOverview = HttpApiEndpoint.get("getOverview", "/workspaces/:slug/overview")
  .setPath(Schema.Struct({ slug: Slug }))
  .addSuccess(WorkspaceOverviewDto)
  .annotate(OpenApi.Summary, "See a workspace at a glance")
  .annotate(OpenApi.Description, "Endpoints, the last 24 hours of deliveries, the queue, and what is unread.")
  .annotateContext(
    operation({
      permission: "workspace:read",
      bucket: "rest_read",
      tool: "get_workspace_overview",
      guidance:
        "Call it first to learn where things stand. If deliveries fail, list_workspace_webhook_deliveries with a status shows which; list_notifications says what was given up."
    })
  )

export class OverviewApi extends HttpApiGroup.make("overview")
  .add(getOverview)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Overview")
  .annotate(OpenApi.Description, "A workspace at a glance.") {}
