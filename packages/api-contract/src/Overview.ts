/** A workspace at a glance. Source: spec §4 and §4.5. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { HourStats } from "./EndpointStats.ts"
import { Id, Integer, IntegerOrNull, NullOr, SlugOfWorkspace, Text } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { Slug } from "./Wire.ts"

export const WorkspaceOverviewDto = Schema.Struct({
  workspace: Schema.Struct({
    id: Id("workspace"),
    slug: SlugOfWorkspace,
    name: Text("For people.", "Acme Inc.")
  }).annotations({ description: "The workspace." }),
  endpoints: Schema.Struct({
    total: Integer("All endpoints.", 3),
    enabled: Integer("Those that receive.", 2),
    disabled: Integer("Those that do not.", 1)
  }).annotations({ description: "Webhook endpoints." }),
  deliveries: Schema.Struct({
    windowHours: Integer("How many hours back `createdAt` may lie.", 24),
    pending: Integer("Not tried yet.", 2),
    delivered: Integer("Answered 2xx.", 998),
    failed: Integer("Failed so far; will be tried again.", 1),
    failedPermanent: Integer("Refused by the receiver, or the URL was bad.", 1),
    deadLettered: Integer("Retries spent.", 0),
    successRate: NullOr(
      Schema.Number,
      "`delivered` divided by all that were tried; null when none was.",
      0.998
    ),
    p50Ms: IntegerOrNull("Half of their last attempts took at most so long; null when there was none.", 42),
    p95Ms: IntegerOrNull(
      "95 of 100 of their last attempts took at most so long; null when there was none.",
      310
    )
  }).annotations({ description: "Deliveries created in the last 24 hours, by their present status." }),
  hours: Schema.Array(HourStats).annotations({
    description: "The last 24 hours of the clock, oldest first; the last is the present, unfinished one."
  }),
  queue: Schema.Struct({
    waiting: Integer(
      "Deliveries that still have an attempt to come, those of disabled endpoints included. Above 50,000 it may be some seconds old.",
      3
    ),
    oldestWaitingSeconds: IntegerOrNull("Age of the oldest of them; null when nothing waits.", 12)
  }).annotations({ description: "What waits to be sent." }),
  members: Integer("Members of the workspace.", 4),
  apiTokens: Integer("Tokens that are neither revoked nor expired.", 2),
  unreadNotifications: Integer("Notifications nobody has marked as read.", 1)
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
