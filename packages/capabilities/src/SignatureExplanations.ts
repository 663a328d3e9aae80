/** Explains a signature to the receiver of an endpoint's deliveries. Nothing is stored. Source: spec §4.6. */

import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { requestBody } from "@posthorn/domain/RequestBody"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { Clock, Effect } from "effect"
import { explainSignature, type Received } from "./SignatureVerdict.ts"

const ID = /^[\x21-\x7e]{1,64}$/

export class SignatureExplanations extends Effect.Service<SignatureExplanations>()(
  "@posthorn/capabilities/SignatureExplanations",
  {
    dependencies: [DeliveriesRepo.Default, SecretsRepo.Default],
    effect: Effect.gen(function* () {
      const box = yield* SecretBox
      const deliveries = yield* DeliveriesRepo
      const secrets = yield* SecretsRepo

      /** The body that was sent under this `webhook-id`, if it was sent to this endpoint. */
      const sentUnder = (workspaceId: WorkspaceId, endpointId: EndpointId, { headers }: Received) =>
        Effect.gen(function* () {
          const [, id = ""] =
            Object.entries(headers).find(([name]) => name.toLowerCase() === "webhook-id") ?? []
          const found = ID.test(id.trim()) ? yield* deliveries.find(workspaceId, id.trim()) : undefined
          return found === undefined || found.endpointId !== endpointId
            ? null
            : requestBody(found.id, found.eventType, found.payload!.text)
        })

      const explain = Effect.fn("SignatureExplanations.explain")(function* (
        endpointId: EndpointId,
        received: Received
      ) {
        const { workspaceId } = yield* CurrentPrincipal
        const sealed = yield* secrets.find(workspaceId, endpointId)
        if (sealed === undefined) return yield* new WebhookEndpointNotFound()
        const row = { workspaceId, endpointId }
        return explainSignature(received, {
          secret: box.open(row, sealed.secret),
          previous: sealed.previousSecret && box.open(row, sealed.previousSecret),
          previousExpiresAt: sealed.previousSecretExpiresAt,
          sent: yield* sentUnder(workspaceId, endpointId, received),
          now: new Date(yield* Clock.currentTimeMillis)
        })
      })

      return { explain } as const
    })
  }
) {}
