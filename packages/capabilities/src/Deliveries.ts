/** Reading a workspace's deliveries, and sending one again. Source: spec §2.2, §2.3, §3.1. */

import * as SqlClient from "@effect/sql/SqlClient"
import {
  EventPurged,
  WebhookDeliveryNotFound,
  WebhookDeliveryNotReplayable,
  WebhookEndpointDisabled,
  WebhookEndpointNotFound
} from "@posthorn/domain/Errors"
import type { DeliveryId, EndpointId } from "@posthorn/domain/Ids"
import { byOrdinal, byTime } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { type DeliveryStatus, EndedStatus, ReplayableStatus } from "@posthorn/domain/States"
import type { Times } from "@posthorn/persistence/client/Statement"
import { AttemptsRepo } from "@posthorn/persistence/repositories/AttemptsRepo"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import { EventsRepo } from "@posthorn/persistence/repositories/EventsRepo"
import { ReplaysRepo } from "@posthorn/persistence/repositories/ReplaysRepo"
import { withCheapSpan } from "@posthorn/telemetry/Tracing"
import { Effect } from "effect"
import { type ListQuery, listPast, pagePast } from "./Lists.ts"
import { shown, shownPage } from "./OwnEvents.ts"
import { transactional } from "./Transaction.ts"

interface DeliveryQuery extends ListQuery {
  readonly status?: DeliveryStatus | undefined
  readonly eventType?: string | undefined
  readonly recovered?: boolean | undefined
  readonly payload?: "include" | "omit" | undefined
}

interface WorkspaceDeliveryQuery extends DeliveryQuery, Times {
  readonly endpointId?: string | undefined
  readonly eventId?: string | undefined
}

/** Which deliveries may be sent again: those that failed may be replayed, and those that have ended may be resent. */
const ALLOWED: Readonly<Record<"replay" | "resend", ReadonlySet<DeliveryStatus>>> = {
  replay: new Set(ReplayableStatus.literals),
  resend: new Set(EndedStatus.literals)
}

export class Deliveries extends Effect.Service<Deliveries>()("@posthorn/capabilities/Deliveries", {
  dependencies: [
    AttemptsRepo.Default,
    DeliveriesRepo.Default,
    EndpointsRepo.Default,
    EventsRepo.Default,
    ReplaysRepo.Default
  ],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const attempts = yield* AttemptsRepo
    const deliveries = yield* DeliveriesRepo
    const endpoints = yield* EndpointsRepo
    const events = yield* EventsRepo
    const replays = yield* ReplaysRepo

    /** Deliveries of one endpoint, newest first. Only for an empty page is it checked whether the endpoint exists. */
    const listByEndpoint = (endpointId: EndpointId, query: DeliveryQuery) =>
      Effect.flatMap(CurrentPrincipal, (principal) => {
        const { eventType, status } = query
        const filter = { endpointId, status, eventType, omitPayload: query.payload === "omit" }
        const listing = pagePast(byTime, query, (from) =>
          deliveries.list(principal, filter, query.limit, from)
        ).pipe(Effect.flatMap(shownPage))
        return Effect.flatMap(listing, (page) =>
          page.items.length === 0
            ? Effect.flatMap(endpoints.find(principal, endpointId), (endpoint) =>
                endpoint === undefined ? Effect.fail(new WebhookEndpointNotFound()) : Effect.succeed(page)
              )
            : Effect.succeed(page)
        )
      }).pipe(withCheapSpan("Deliveries.listByEndpoint"))

    const list = (query: WorkspaceDeliveryQuery) =>
      Effect.flatMap(CurrentPrincipal, (principal) => {
        const { endpointId, eventId, eventType, recovered, since, status, until } = query
        const omitPayload = query.payload === "omit"
        const filter = { endpointId, eventId, eventType, recovered, since, status, until, omitPayload }
        return pagePast(byTime, query, (from) => deliveries.list(principal, filter, query.limit, from)).pipe(
          Effect.flatMap(shownPage)
        )
      }).pipe(withCheapSpan("Deliveries.list"))

    const get = (deliveryId: DeliveryId) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        Effect.filterOrFail(
          deliveries.find(principal, deliveryId),
          (found) => found !== undefined,
          () => new WebhookDeliveryNotFound()
        ).pipe(Effect.flatMap(shown))
      ).pipe(withCheapSpan("Deliveries.get"))

    const listAttempts = Effect.fn("Deliveries.listAttempts")(function* (
      deliveryId: DeliveryId,
      query: ListQuery
    ) {
      const principal = yield* CurrentPrincipal
      if (!(yield* deliveries.exists(principal, deliveryId))) return yield* new WebhookDeliveryNotFound()
      return yield* listPast(byOrdinal, query, (from, limit) =>
        attempts.list(principal, deliveryId, limit, from)
      )
    })

    /**
     * Sends a delivery again, as a new row due now; the source stays as it was. A disabled endpoint is refused before the
     * delivery's own state is checked.
     */
    const sendAgain = (how: "replay" | "resend", deliveryId: DeliveryId) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const source = yield* deliveries.find(principal, deliveryId)
        if (source === undefined) return yield* new WebhookDeliveryNotFound()
        const endpoint = yield* endpoints.lock(principal, source.endpointId)
        if (endpoint === undefined) return yield* new WebhookDeliveryNotFound()
        if (!endpoint.enabled) return yield* new WebhookEndpointDisabled({ endpointId: endpoint.id })
        if (!ALLOWED[how].has(source.status)) {
          return yield* new WebhookDeliveryNotReplayable({ deliveryId, deliveryStatus: source.status })
        }
        const id = yield* replays.sendAgain(principal.workspaceId, source, how, principal)
        // Read in the transaction that made it. If there is no id, the source was delivered, or its event purged, meanwhile.
        const copy = id === undefined ? undefined : yield* deliveries.find(principal, id)
        if (copy !== undefined) return yield* shown(copy)
        const event = source.eventId === null ? undefined : yield* events.find(principal, source.eventId)
        return yield* event === undefined || event.purgedAt === null
          ? new WebhookDeliveryNotReplayable({ deliveryId, deliveryStatus: "delivered" })
          : new EventPurged({ eventId: event.id })
      }).pipe(transactional(sql), Effect.withSpan("Deliveries.sendAgain"))

    return { get, list, listByEndpoint, listAttempts, sendAgain } as const
  })
}) {}
