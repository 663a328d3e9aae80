/**
 * Diagnosing an endpoint: gathers what is recorded and lets the rules of the domain judge it.
 *
 * Reads only; sends nothing to the receiver. Whether the URL would be accepted is judged by the rule that dispatch uses.
 * Source: decision §4.
 */
import { diagnose } from "@posthorn/domain/Diagnosis"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { EvidenceRepo } from "@posthorn/persistence/EvidenceRepo"
import { Effect, Either } from "effect"
import { DeliveryTargets } from "./DeliveryTargets.ts"

export class Diagnoses extends Effect.Service<Diagnoses>()("@posthorn/capabilities/Diagnoses", {
  dependencies: [EvidenceRepo.Default],
  effect: Effect.gen(function* () {
    const evidence = yield* EvidenceRepo
    const targets = yield* DeliveryTargets

    const ofEndpoint = Effect.fn("Diagnoses.ofEndpoint")(function* (endpointId: string) {
      const { workspaceId } = yield* CurrentPrincipal
      const gathered = yield* evidence.gather(workspaceId, endpointId)
      if (gathered === undefined) return yield* new WebhookEndpointNotFound()
      const { url, ...endpoint } = gathered.endpoint
      const urlRefusal = Either.match(validateWebhookUrl(url, targets), {
        onLeft: describeReason,
        onRight: () => null
      })
      const { findings, health } = diagnose({ ...gathered, endpoint: { ...endpoint, urlRefusal } })
      const { attempts } = gathered
      return {
        endpointId,
        health,
        diagnosedAt: gathered.now,
        examined: { attempts: attempts.length, since: attempts[attempts.length - 1]?.at ?? null },
        findings
      }
    })

    return { ofEndpoint } as const
  })
}) {}
