/** What was told by e-mail and Slack. Source: spec §3.6. */
import { byTime, emptyPage } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AlertsRepo } from "@posthorn/persistence/repositories/AlertsRepo"
import { Effect } from "effect"
import { type ListQuery, listPast } from "./Lists.ts"

export class Alerts extends Effect.Service<Alerts>()("@posthorn/capabilities/Alerts", {
  dependencies: [AlertsRepo.Default],
  effect: Effect.gen(function* () {
    const alerts = yield* AlertsRepo

    const list = Effect.fn("Alerts.list")(function* (query: ListQuery) {
      const { endpointIds, workspaceId } = yield* CurrentPrincipal
      // Whom the workspace tells is nothing of an endpoint.
      if (endpointIds !== null) return emptyPage
      return yield* listPast(byTime, query, (from, limit) => alerts.list(workspaceId, limit, from))
    })

    return { list } as const
  })
}) {}
