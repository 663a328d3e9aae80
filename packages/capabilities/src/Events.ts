/** Publishing domain events. Source: spec §6, decision §7. */
import { InvalidRequest, invalid } from "@posthorn/domain/Errors"
import { isReserved } from "@posthorn/domain/EventType"
import type { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { EventsRepo } from "@posthorn/persistence/EventsRepo"
import { Effect } from "effect"

export interface NewEvent {
  readonly eventType: string
  readonly payload: JsonText
  readonly idempotencyKey?: string | undefined
}

const RESERVED = "The prefixes webhook., member. and api_token. are Posthorn's own"

export class Events extends Effect.Service<Events>()("@posthorn/capabilities/Events", {
  dependencies: [EventsRepo.Default],
  effect: Effect.gen(function* () {
    const events = yield* EventsRepo

    /** Store the event and queue a delivery for each enabled endpoint that wants it. Answered means durable. */
    const publish = Effect.fn("Events.publish")(function* (event: NewEvent) {
      const { traceId, workspaceSlug } = yield* CurrentPrincipal
      if (isReserved(event.eventType)) {
        return yield* invalid("/eventType", RESERVED)
      }
      const { idempotencyKey = null, ...rest } = event
      return yield* events.publish(workspaceSlug, { ...rest, idempotencyKey }, traceId)
    })

    /** Store all events, or none if one is refused. The answers come in the order of the events. */
    const publishAll = Effect.fn("Events.publishAll")(function* (batch: ReadonlyArray<NewEvent>) {
      const { traceId, workspaceSlug } = yield* CurrentPrincipal
      const issues = batch.flatMap(({ eventType }, index) =>
        isReserved(eventType) ? [{ path: `/events/${index}/eventType`, message: RESERVED }] : []
      )
      if (issues.length > 0) return yield* new InvalidRequest({ issues })
      const rows = batch.map(({ idempotencyKey = null, ...rest }) => ({ ...rest, idempotencyKey }))
      return { items: yield* events.publishAll(workspaceSlug, rows, traceId) }
    })

    return { publish, publishAll } as const
  })
}) {}
