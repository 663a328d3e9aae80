/** Who got an event, and why not, from what the publish left and what the endpoints are now. Source: spec §4.6. */
import { EventNotFound } from "@posthorn/domain/Errors"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import type { EndpointId, EventId } from "@posthorn/domain/Ids"
import { byEndpoint, cursorAt, pageOf } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { RoutingRepo } from "@posthorn/persistence/repositories/RoutingRepo"
import { Effect, Either } from "effect"
import { FilterJudge } from "./FilterJudge.ts"
import { type ListQuery, pagePast } from "./Lists.ts"
import { isHidden } from "./OwnEvents.ts"

interface RoutingQuery extends ListQuery {
  readonly endpointId?: EndpointId | undefined
}

export class Routing extends Effect.Service<Routing>()("@posthorn/capabilities/Routing", {
  dependencies: [FilterJudge.Default, RoutingRepo.Default],
  effect: Effect.gen(function* () {
    const judges = yield* FilterJudge
    const routing = yield* RoutingRepo

    /** Judges equal filters once. A page ends early once judging has taken too long. */
    const ofEvent = Effect.fn("Routing.ofEvent")(function* (eventId: EventId, query: RoutingQuery) {
      const principal = yield* CurrentPrincipal
      const event = yield* routing.findEvent(principal, eventId)
      if (event === undefined) return yield* new EventNotFound()
      const hidden = isHidden(event.eventType, principal.permissions)
      const { compiled } = yield* judges.begin
      const judgedBy = yield* Effect.cachedFunction((filter: string) =>
        Effect.map(
          compiled(Either.getOrThrow(parseFilter(filter))).judge([{ id: eventId, bytes: 0 }]),
          ([judged]) => judged
        )
      )
      return yield* pagePast(byEndpoint, query, (from) =>
        Effect.gen(function* () {
          const found = yield* routing.list(principal, eventId, query.endpointId, query.limit, from)
          const { items: rows, nextCursor } = pageOf(byEndpoint, found, query.limit)
          const items = []
          for (const { deliveryId, endpointId, filter, reason, wanting } of rows) {
            const decides = reason === null && filter !== null && !event.purged && !hidden
            const judged = decides ? yield* judgedBy(filter) : undefined
            if (decides && judged === undefined && items.length > 0)
              return { items, nextCursor: cursorAt(byEndpoint, { id: items.at(-1)!.endpointId }) }
            const matches = judged?.matches !== false
            items.push({
              endpointId,
              reason: reason ?? (matches ? wanting : ("filter" as const)),
              deliveryId,
              because: matches ? null : judged!.because
            })
          }
          return { items, nextCursor }
        })
      )
    })

    return { ofEvent } as const
  })
}) {}
