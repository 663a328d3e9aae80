/** Explains a signature to the receiver of an endpoint's deliveries. Nothing is stored. Source: spec §4.6. */

import { invalid, WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { shapedBody } from "@posthorn/domain/RequestBody"
import { type RequestProfile, shapeOf } from "@posthorn/domain/RequestProfile"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import { EventsRepo } from "@posthorn/persistence/repositories/EventsRepo"
import { Clock, Effect, Either } from "effect"
import { UNREADABLE } from "./Endpoints.ts"
import { explainSignature, type Received } from "./SignatureVerdict.ts"

const ID = /^[\x21-\x7e]{1,64}$/

export class SignatureExplanations extends Effect.Service<SignatureExplanations>()(
  "@posthorn/capabilities/SignatureExplanations",
  {
    dependencies: [DeliveriesRepo.Default, EndpointsRepo.Default, EventsRepo.Default, SecretsRepo.Default],
    effect: Effect.gen(function* () {
      const box = yield* SecretBox
      const deliveries = yield* DeliveriesRepo
      const endpoints = yield* EndpointsRepo
      const events = yield* EventsRepo
      const secrets = yield* SecretsRepo
      // The explanations of all callers together get the turns of one request.
      const turns = yield* Effect.makeSemaphore(1)

      /** The body that was sent under this `webhook-id`, if it was sent to this endpoint. */
      const sentUnder = (endpointId: EndpointId, { headers }: Received, profile: RequestProfile) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const [, id = ""] =
            Object.entries(headers).find(([name]) => name.toLowerCase() === "webhook-id") ?? []
          const found = ID.test(id.trim()) ? yield* deliveries.find(principal, id.trim()) : undefined
          if (found === undefined || found.endpointId !== endpointId) return null
          const event = found.eventId === null ? undefined : yield* events.find(principal, found.eventId)
          return shapedBody(shapeOf(profile), {
            deliveryId: found.id,
            eventType: found.eventType,
            payload: found.payload!.text,
            createdAt: event?.createdAt ?? found.createdAt,
            slug: principal.workspaceSlug
          })
        })

      const explain = Effect.fn("SignatureExplanations.explain")(function* (
        endpointId: EndpointId,
        received: Received
      ) {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const sealed = yield* secrets.find(workspaceId, endpointId)
        const endpoint = yield* endpoints.find(principal, endpointId)
        if (sealed === undefined || endpoint === undefined) return yield* new WebhookEndpointNotFound()
        const profile = endpoint.request ?? {}
        const row = { workspaceId, endpointId }
        const known = {
          profile,
          secret: yield* Effect.mapError(box.open(row, sealed.secret), () => invalid("", UNREADABLE)),
          previous: sealed.previousSecret && Either.getOrNull(box.open(row, sealed.previousSecret)),
          previousExpiresAt: sealed.previousSecretExpiresAt,
          sent: yield* sentUnder(endpointId, received, profile),
          now: new Date(yield* Clock.currentTimeMillis)
        }
        return yield* turns.withPermits(1)(explainSignature(received, known))
      })

      return { explain } as const
    })
  }
) {}
