/** Publishing events, and reading them back. Payloads are stored and returned as the text that was sent. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { PublishEvent, PublishEvents } from "@posthorn/api-contract/Events"
import { strictRequest, withDefaults } from "@posthorn/api-contract/Shapes"
import { Events, type NewEvent } from "@posthorn/capabilities/Events"
import { invalid } from "@posthorn/domain/Errors"
import { Effect, Layer, PartitionedSemaphore } from "effect"
import { exactBody } from "./ExactBody.ts"
import { IdempotentExecution } from "./IdempotentExecution.ts"
import { respond } from "./Responses.ts"

/**
 * Batches at once, of all workspaces, which take turns. One of 200 events takes a processor of the database for 0.1 s; six at once,
 * which one workspace's connections allow, made another's single publish wait for 1.3 s.
 */
const BATCHES = 2

const eventBody = exactBody("publishEvent", strictRequest(PublishEvent))
const eventsBody = exactBody("publishEvents", PublishEvents)

/** The idempotency key of a publish: in the body, in the header, or the same in both. */
const oneKey = (member: string | undefined, header: string | undefined) =>
  member !== undefined && header !== undefined && member !== header
    ? Effect.fail(invalid("/idempotencyKey", "differs from the Idempotency-Key header: send one of them"))
    : Effect.succeed(member ?? header)

export const eventsLive = HttpApiBuilder.group(Api, "events", (handlers) =>
  Effect.gen(function* () {
    const events = yield* Events
    const { idempotent } = yield* IdempotentExecution
    const batches = yield* PartitionedSemaphore.make<string>({ permits: BATCHES })
    return handlers
      .handleRaw("publishEvent", ({ headers, request }) =>
        Effect.flatMap(eventBody(request), (event) =>
          Effect.flatMap(oneKey(event.idempotencyKey, headers["idempotency-key"]), (idempotencyKey) =>
            Effect.map(events.publish({ ...(event as NewEvent), idempotencyKey }), respond("publishEvent"))
          )
        )
      )
      .handleRaw("publishEvents", (request) =>
        Effect.flatMap(eventsBody(request.request), (payload) =>
          idempotent(
            "publishEvents",
            { ...request, payload },
            events.publishAll(payload.events as ReadonlyArray<NewEvent>)
          ).pipe(batches.withPermits(request.path.slug, 1))
        )
      )
      .handle("listEvents", ({ urlParams }) =>
        Effect.map(events.list(withDefaults(urlParams)), respond("listEvents"))
      )
      .handle("getEvent", ({ path }) => Effect.map(events.get(path.eventId), respond("getEvent")))
      .handle("listEventTypes", ({ urlParams }) => events.listTypes(withDefaults(urlParams)))
      .handle("purgeEvent", (request) =>
        idempotent("purgeEvent", request, events.purge(request.path.eventId))
      )
  })
).pipe(Layer.provide([Events.Default, IdempotentExecution.Default]))
