/**
 * An endpoint's deliveries hour by hour. Source: spec §4.5.
 *
 * A delivery counts in the hour of its `createdAt`, under its present status, so the counts of an hour still move while
 * its deliveries are retried. Pending ones are not counted. Percentiles are over the last attempt of each.
 */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { Integer, IntegerOrNull, Timestamp } from "./Fields.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Clamped, IdParam, Slug, sent, withDefault } from "./Wire.ts"

const figures = {
  delivered: Integer("Deliveries created in this time that were answered 2xx.", 998),
  failed: Integer("Those that failed so far and will be tried again.", 1),
  failedPermanent: Integer("Those that will not be tried again: refused, or the URL was bad.", 1),
  deadLettered: Integer("Those that have spent their retries.", 0),
  p50Ms: IntegerOrNull("Half of their last attempts took at most so long; null when there was none.", 42),
  p95Ms: IntegerOrNull(
    "95 of 100 of their last attempts took at most so long; null when there was none.",
    310
  )
}

export const HourStats = Schema.Struct({
  hour: Timestamp.annotations({ description: "When the hour begins, in UTC." }),
  ...figures
}).annotations({ identifier: "HourStats" })

export const EndpointStats = Schema.Struct({
  hours: Schema.Array(HourStats).annotations({
    description: "One entry for each hour, oldest first; the last is the present, unfinished one."
  }),
  totals: Schema.Struct(figures).annotations({
    identifier: "StatsTotals",
    description: "The same over all the hours."
  })
}).annotations({ identifier: "EndpointStats", description: "An endpoint's deliveries hour by hour." })
export type EndpointStats = typeof EndpointStats.Type

const MAX_HOURS = 720
const DEFAULT_HOURS = 24

export const getEndpointStats = HttpApiEndpoint.get(
  "getEndpointStats",
  "/workspaces/:slug/webhooks/:endpointId/stats"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .setUrlParams(
    sent(
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
      guidance: "Use it to see since when and how much it fails or is slow."
    })
  )
