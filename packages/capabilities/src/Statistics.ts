/** The overview of a workspace, and an endpoint's hourly statistics. Source: spec §4.5. */

import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import {
  type HourRow,
  OVERVIEW_HOURS,
  StatisticsRepo
} from "@posthorn/persistence/repositories/StatisticsRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"

type Counts = Pick<HourRow, "pending" | "delivered" | "failed" | "failedPermanent" | "deadLettered">

/** The last 24 hours, as the whole clock hours and the part before the first of them. */
const added = (before: Counts, hours: Counts): Counts => ({
  pending: before.pending + hours.pending,
  delivered: before.delivered + hours.delivered,
  failed: before.failed + hours.failed,
  failedPermanent: before.failedPermanent + hours.failedPermanent,
  deadLettered: before.deadLettered + hours.deadLettered
})

/** The share of delivered among attempted deliveries, to four digits; null if there were none. */
const successRate = ({ deadLettered, delivered, failed, failedPermanent }: Counts) => {
  const tried = delivered + failed + failedPermanent + deadLettered
  return tried === 0 ? null : Math.round((delivered / tried) * 10_000) / 10_000
}

const figures = ({ hour: _, pending: __, ...row }: HourRow) => row

const byHour = (rows: ReadonlyArray<HourRow>) => ({
  hours: rows.slice(0, -1).map((row) => ({ hour: row.hour!, ...figures(row) })),
  totals: figures(rows[rows.length - 1]!)
})

export class Statistics extends Effect.Service<Statistics>()("@posthorn/capabilities/Statistics", {
  dependencies: [EndpointsRepo.Default, StatisticsRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const endpoints = yield* EndpointsRepo
    const statistics = yield* StatisticsRepo
    const workspaces = yield* WorkspacesRepo

    const overview = Effect.gen(function* () {
      const principal = yield* CurrentPrincipal
      const { workspaceId, workspaceSlug: slug } = principal
      const row = yield* statistics.overview(principal)
      const rows = yield* statistics.ofWorkspace(principal, row.at)
      const { hours, totals } = byHour(rows)
      const { name } = yield* workspaces.get(workspaceId)
      const counts = added(row, rows[rows.length - 1]!)
      return {
        workspace: { id: workspaceId, slug, name },
        endpoints: {
          total: row.endpoints,
          enabled: row.enabledEndpoints,
          disabled: row.endpoints - row.enabledEndpoints,
          filteredOut: row.filteredOut
        },
        deliveries: {
          windowHours: OVERVIEW_HOURS,
          ...counts,
          // Rows of two tables, read in one statement: a failure may be recovered before its hour is counted anew.
          givenUp: Math.max(0, counts.failedPermanent + counts.deadLettered - row.recovered),
          recovered: row.recovered,
          successRate: successRate(counts),
          p50Ms: totals.p50Ms,
          p95Ms: totals.p95Ms
        },
        hours,
        queue: {
          waiting: row.waiting,
          waitingAtDisabled: row.waitingAtDisabled,
          oldestWaitingSeconds: row.oldestWaitingSeconds
        },
        members: row.members,
        apiTokens: row.apiTokens,
        unreadNotifications: row.unreadNotifications
      }
    }).pipe(Effect.withSpan("Statistics.overview"))

    const ofEndpoint = Effect.fn("Statistics.ofEndpoint")(function* (endpointId: EndpointId, hours: number) {
      const principal = yield* CurrentPrincipal
      if ((yield* endpoints.find(principal, endpointId)) === undefined)
        return yield* new WebhookEndpointNotFound()
      const rows = yield* statistics.ofEndpoint(principal.workspaceId, endpointId, hours)
      return byHour(rows)
    })

    return { ofEndpoint, overview } as const
  })
}) {}
