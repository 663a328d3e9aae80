/** Who got an event, and why not, from what the publish left and what the endpoints are now. Source: spec §4.6. */
import { EventNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, EventId } from "@posthorn/domain/Ids"
import { byEndpoint, pageOf } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { RoutingRepo } from "@posthorn/persistence/repositories/RoutingRepo"
import { Effect } from "effect"
import { type ListQuery, pagePast } from "./Lists.ts"

interface RoutingQuery extends ListQuery {
  readonly endpointId?: EndpointId | undefined
}

export class Routing extends Effect.Service<Routing>()("@posthorn/capabilities/Routing", {
  dependencies: [RoutingRepo.Default],
  effect: Effect.gen(function* () {
    const routing = yield* RoutingRepo

    const ofEvent = Effect.fn("Routing.ofEvent")(function* (eventId: EventId, query: RoutingQuery) {
      const { workspaceId } = yield* CurrentPrincipal
      if (!(yield* routing.hasEvent(workspaceId, eventId))) return yield* new EventNotFound()
      return yield* pagePast(byEndpoint, query, (from) =>
        Effect.map(routing.list(workspaceId, eventId, query.endpointId, query.limit, from), (routes) =>
          pageOf(
            byEndpoint,
            routes.map((route) => ({ ...route, because: null })),
            query.limit
          )
        )
      )
    })

    return { ofEvent } as const
  })
}) {}
