/**
 * Test sends: a synthetic event for one endpoint, whatever it subscribes to, and waiting for its outcome.
 * Source: spec §3.1 and §4.3.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Forbidden, invalid, WebhookEndpointDisabled, WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { isReserved, TEST_EVENT } from "@posthorn/domain/EventType"
import type { EndpointId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { shapeOf } from "@posthorn/domain/RequestProfile"
import { DeliveriesRepo, type DeliveryRow } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import { EventTypesRepo } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Duration, Effect, Schedule } from "effect"
import { transactional } from "./Transaction.ts"

export interface TestSend {
  readonly eventType?: string | undefined
  readonly payload?: JsonText | undefined
}

export type Sent = DeliveryRow

const MESSAGE = new JsonText(
  JSON.stringify({ message: "This is a test event from Posthorn. If you can read it, the endpoint works." })
)

/** Polls after 50 ms, then at growing intervals of at most half a second. It holds no connection in between. */
const looks = Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("500 millis")))

export class TestSends extends Effect.Service<TestSends>()("@posthorn/capabilities/TestSends", {
  dependencies: [DeliveriesRepo.Default, EndpointsRepo.Default, EventTypesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const deliveries = yield* DeliveriesRepo
    const endpoints = yield* EndpointsRepo
    const types = yield* EventTypesRepo

    /** The first example of the catalogue, or a message. */
    const exampleOf = (eventType: string) =>
      eventType === TEST_EVENT
        ? Effect.succeed(MESSAGE)
        : Effect.map(types.exampleOf(eventType), (text) => (text === null ? MESSAGE : new JsonText(text)))

    const send = (endpointId: EndpointId, { eventType = TEST_EVENT, payload: given }: TestSend) =>
      Effect.gen(function* () {
        const payload = given ?? (yield* exampleOf(eventType))
        const principal = yield* CurrentPrincipal
        const { actor, permissions, traceId, workspaceId } = principal
        // It is signed like a real event, so a caller who may not publish a type may not test-send it either.
        if (eventType !== TEST_EVENT && !permissions.has("event:publish")) {
          return yield* new Forbidden({ permission: "event:publish" })
        }
        if (eventType !== TEST_EVENT && isReserved(eventType)) {
          return yield* invalid("/eventType", `Posthorn's own types cannot be sent, but for ${TEST_EVENT}`)
        }
        const endpoint = yield* endpoints.lock(principal, endpointId)
        if (endpoint === undefined) return yield* new WebhookEndpointNotFound()
        // Nothing in such a body tells that it is a test.
        if (
          given !== undefined &&
          shapeOf(endpoint.request ?? {}) === "payload" &&
          !permissions.has("event:publish")
        )
          return yield* new Forbidden({ permission: "event:publish" })
        if (!endpoint.enabled) return yield* new WebhookEndpointDisabled({ endpointId })
        return yield* deliveries.insertTestSend(workspaceId, {
          endpointId,
          eventType,
          payload,
          actor,
          traceId
        })
      }).pipe(transactional(sql), Effect.withSpan("TestSends.send"))

    /** The delivery once its first attempt is recorded, or its state when the time is over. */
    const outcome = (sent: DeliveryRow, seconds: number) =>
      Effect.gen(function* () {
        if (seconds === 0) return sent
        const principal = yield* CurrentPrincipal
        let latest = sent
        const look = Effect.map(deliveries.find(principal, sent.id), (found) => {
          latest = found ?? latest
          return found === undefined || found.attempts > 0
        })
        yield* Effect.repeat(look, { schedule: looks, until: (isOver) => isOver }).pipe(
          Effect.timeoutOption(Duration.seconds(seconds))
        )
        return latest
      }).pipe(Effect.withSpan("TestSends.outcome"))

    return { outcome, send } as const
  })
}) {}
