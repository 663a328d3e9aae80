/** What was told by e-mail and Slack. Source: spec §3.6. */
import { byTime } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AlertsRepo } from "@posthorn/persistence/repositories/AlertsRepo"
import { Effect } from "effect"
import { type ListQuery, listPast } from "./Lists.ts"

export class Alerts extends Effect.Service<Alerts>()("@posthorn/capabilities/Alerts", {
  dependencies: [AlertsRepo.Default],
  effect: Effect.gen(function* () {
    const alerts = yield* AlertsRepo

    const list = Effect.fn("Alerts.list")(function* (query: ListQuery) {
      const principal = yield* CurrentPrincipal
      return yield* listPast(byTime, query, (from, limit) => alerts.list(principal, limit, from))
    })

    return { list } as const
  })
}) {}
