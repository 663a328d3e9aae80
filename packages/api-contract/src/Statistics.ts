/**
 * Statistics: the overview of a workspace, and an endpoint's deliveries hour by hour. Source: spec §4 and §4.5.
 *
 * A delivery counts in the hour of its `createdAt` and under its present status, so an hour's counts change while its
 * deliveries are retried. Pending deliveries are not counted. Percentiles are over each delivery's last attempt.
 */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { EndpointId, Id, Integer, IntegerOrNull, NullOr, SlugOfWorkspace, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Clamped, IdParam, Slug, strictRequest, withDefault } from "./Shapes.ts"

const figures = {
  delivered: Integer("Deliveries created in this time that were answered 2xx.", 998),
  failed: Integer("Those that failed so far and will be tried again.", 1),
  failedPermanent: Integer("Those that will not be tried again: refused, or the URL was bad.", 1),
  deadLettered: Integer("Those that have spent their retries.", 0),
  p50Ms: IntegerOrNull("Half of their last attempts took at most this long; null if there was none.", 42),
  p95Ms: IntegerOrNull(
    "95 of 100 of their last attempts took at most so long; null when there was none.",
    310
  )
}

const HourStats = Schema.Struct({
  hour: Timestamp.annotations({ description: "When the hour begins, in UTC." }),
  ...figures
}).annotations({ identifier: "HourStats" })

const EndpointStats = Schema.Struct({
  hours: Schema.Array(HourStats).annotations({
    description: "One entry for each hour, oldest first; the last is the present, unfinished one."
  }),
  totals: Schema.Struct(figures).annotations({
    identifier: "StatsTotals",
    description: "The same over all the hours."
  })
}).annotations({ identifier: "EndpointStats", description: "An endpoint's deliveries hour by hour." })

const MAX_HOURS = 720
const DEFAULT_HOURS = 24

export const getEndpointStats = HttpApiEndpoint.get(
  "getEndpointStats",
  "/workspaces/:slug/webhooks/:endpointId/stats"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .setUrlParams(
    strictRequest(
      Schema.Struct({
        hours: withDefault(
          Clamped(`How many hours; out of range is clamped into 1 to ${MAX_HOURS}.`, {
            min: 1,
            max: MAX_HOURS,
            otherwise: DEFAULT_HOURS
          }),
          DEFAULT_HOURS
        )
      })
    )
  )
  .addSuccess(EndpointStats)
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "See an endpoint's deliveries hour by hour")
  .annotate(
    OpenApi.Description,
    "Counts deliveries by the hour they were created in and the status they have now, and how long their last attempts took."
  )
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_webhook_endpoint_stats",
      toolset: "manage",
      guidance: "Use it to see since when and how much it fails or is slow."
    })
  )

const WorkspaceOverviewDto = Schema.Struct({
  workspace: Schema.Struct({
    id: Id("workspace"),
    slug: SlugOfWorkspace,
    name: Text("For people.", "Acme Inc.")
  }).annotations({ description: "The workspace." }),
  endpoints: Schema.Struct({
    total: Integer("All endpoints.", 3),
    enabled: Integer("Those that receive.", 2),
    disabled: Integer("Those that do not.", 1),
    filteredOut: Schema.Array(EndpointId).annotations({
      description:
        "Up to 20 enabled ones whose filter let nothing through in 24 hours, of at least 50 events that they want by type.",
      examples: [[]]
    })
  }).annotations({ description: "Webhook endpoints." }),
  deliveries: Schema.Struct({
    windowHours: Integer("How many hours back `createdAt` may lie.", 24),
    pending: Integer("Not tried yet.", 2),
    delivered: Integer("Answered 2xx.", 998),
    failed: Integer("Failed so far; will be tried again.", 1),
    failedPermanent: Integer("Refused by the receiver, or the URL was bad.", 1),
    deadLettered: Integer("Retries spent.", 0),
    givenUp: Integer("`failedPermanent` and `deadLettered`, without those that were recovered.", 1),
    recovered: Integer("Given up, and delivered by a later replay or resend.", 0),
    successRate: NullOr(
      Schema.Number,
      "`delivered` divided by all that were tried; null when none was.",
      0.998
    ),
    p50Ms: IntegerOrNull("Half of their last attempts took at most this long; null if there was none.", 42),
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
    waitingAtDisabled: Integer("Those of them whose endpoint is disabled: they wait until it is enabled.", 0),
    oldestWaitingSeconds: IntegerOrNull("How long the oldest of them has waited; null if none waits.", 12)
  }).annotations({ description: "What waits to be sent." }),
  members: Integer("Members of the workspace.", 4),
  apiTokens: Integer("Tokens that are neither revoked nor expired.", 2),
  unreadNotifications: Integer("Notifications nobody has marked as read.", 1)
}).annotations({ identifier: "WorkspaceOverviewDto", description: "A workspace at a glance." })

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
      toolset: "core",
      guidance:
        "Call it first. If deliveries fail, list_workspace_webhook_deliveries with a status shows which; list_notifications says what was given up."
    })
  )

/** The group `overview`. `getEndpointStats` belongs to the group `endpoints`. */
export class OverviewApi extends HttpApiGroup.make("overview")
  .add(getOverview)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Overview")
  .annotate(OpenApi.Description, "A workspace at a glance.") {}
